//! What may be done on the dashboard: `POST /__drover__/reload` and `POST /__drover__/restart/PID`.
//!
//! Only with the token, in `Authorization`, which no page of another site can send, and only for programs and for the
//! page itself. Without a token (`admin_token`) they are off. They are carried out by the owner of the processes.

use crate::edge::auth::read_text;
use crate::edge::csrf::Csrf;
use crate::respond::text;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::StatusCode;
use httpd::{Head, Response};
use identity::Named;
use std::path::Path;
use std::sync::OnceLock;

/// Something that is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// the app is loaded anew
    Reload,
    /// the worker that is this process is replaced by a fresh one
    Restart(i32),
}

impl Action {
    /// The one of this path below that of the dashboard.
    pub(super) fn read(path: &str) -> Option<Action> {
        match path.strip_prefix("restart/") {
            Some(pid) => pid.parse().ok().filter(|pid| *pid > 0).map(Action::Restart),
            None => (path == "reload").then_some(Action::Reload),
        }
    }
}

/// See the module.
pub struct Actions {
    token: Option<Named>,
    guard: Csrf,
    act: OnceLock<Box<dyn Fn(Action) + Send + Sync>>,
}

impl Actions {
    /// With the token in this file: its first line, or `sha256:` and the hash of it.
    ///
    /// # Errors
    /// A text that names the file and what is wrong with it.
    pub fn new(file: Option<&Path>) -> Result<Self, String> {
        let token = |file: &Path| {
            let text = read_text(file)?;
            let line = text.lines().next().unwrap_or_default().trim();
            Named::new([("admin", line)]).map_err(|e| format!("{}: {e}", file.display()))
        };
        let token = file.map(token).transpose()?;
        Ok(Actions { token, guard: Csrf::default(), act: OnceLock::new() })
    }

    /// Whether there is a token.
    pub fn are_on(&self) -> bool {
        self.token.is_some()
    }

    /// They are carried out so.
    pub fn are_done_by(&self, act: Box<dyn Fn(Action) + Send + Sync>) {
        let _ = self.act.set(act);
    }

    /// Somebody wants it done.
    pub fn ask(&self, action: Action, head: &Head) -> Response {
        let Some(token) = &self.token else {
            return text(StatusCode::FORBIDDEN, "actions are off: `admin_token` names a file with a token for them\n");
        };
        if let Err(failure) = self.guard.judge(head) {
            return text(failure.status, format!("{}\n", failure.detail));
        }
        let sent = head.fields.get(&AUTHORIZATION).and_then(bearer);
        if sent.and_then(|sent| token.find(sent)).is_none() {
            let mut response = text(StatusCode::UNAUTHORIZED, "the token is missing or wrong\n");
            response.fields.set(&WWW_AUTHENTICATE, "Bearer");
            return response;
        }
        let Some(act) = self.act.get() else {
            let why = "the session is the only worker: dr_reload() there loads the app anew\n";
            return text(StatusCode::CONFLICT, why);
        };
        act(action);
        text(StatusCode::ACCEPTED, "asked for: the log tells what comes of it\n")
    }
}

/// The token of `Authorization: Bearer`.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_actions() {
        assert_eq!(Action::read("reload"), Some(Action::Reload));
        assert_eq!(Action::read("restart/4711"), Some(Action::Restart(4711)));
        for none in ["", "reload/", "restart/", "restart/-1", "restart/0", "restart/x", "restart/99999999999", "events"]
        {
            assert_eq!(Action::read(none), None, "{none}");
        }
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "short\n").unwrap();
        let error = Actions::new(Some(file.path())).err().unwrap();
        assert!(error.contains("at least 16 bytes"), "{error}");
        std::fs::write(file.path(), "0123456789abcdef\n").unwrap();
        assert!(Actions::new(Some(file.path())).unwrap().are_on());
        assert!(Actions::new(Some(Path::new("/nonexistent"))).is_err());
        assert!(!Actions::new(None).unwrap().are_on());
    }
}

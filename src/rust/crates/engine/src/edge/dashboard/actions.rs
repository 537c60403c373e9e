//! What may be done on the dashboard: `POST /__drover__/reload`, `restart/PID`, `jobs/retry/ID` and `jobs/cancel/ID`.
//!
//! Only with the token, in `Authorization`, which no page of another site can send, and only for programs and for the
//! page itself. Without a token (`admin_token`) they are off. What is about processes is carried out by their owner.

use crate::edge::auth::read_text;
use crate::edge::csrf::Csrf;
use crate::jobs::{JobAct, JobsOperator};
use crate::respond::text;
use ::jobs::JobId;
use exchange::pipe;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::StatusCode;
use httpd::{Body, Head, Response};
use identity::Named;
use std::future::Future;
use std::path::Path;
use std::sync::OnceLock;

/// Something that is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// the app is loaded anew
    Reload,
    /// the worker that is this process is replaced by a fresh one
    Restart(i32),
    /// this is done to that job
    Job(JobAct, JobId),
}

impl Action {
    /// The one of this path below that of the dashboard.
    pub(super) fn read(path: &str) -> Option<Action> {
        let Some((kind, of)) = path.split_once('/') else { return (path == "reload").then_some(Action::Reload) };
        match kind {
            "restart" => of.parse().ok().filter(|pid| *pid > 0).map(Action::Restart),
            "jobs" => of.split_once('/').and_then(|(act, id)| Some(Action::Job(JobAct::of(act)?, JobId::parse(id)?))),
            _ => None,
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

    /// Somebody wants it done: by the owner of the processes, or by this one of the jobs.
    pub fn ask(&self, action: Action, head: &Head, jobs: Option<JobsOperator>) -> Response {
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
        if let Action::Job(act, id) = action {
            return done(jobs.map(|jobs| jobs.act(act, id)));
        }
        let Some(act) = self.act.get() else {
            let why = "the session is the only worker: dr_reload() there loads the app anew\n";
            return text(StatusCode::CONFLICT, why);
        };
        act(action);
        text(StatusCode::ACCEPTED, "asked for: the log tells what comes of it\n")
    }
}

/// What becomes of an act on a job, once that is known.
fn done(act: Option<impl Future<Output = Result<(), String>> + Send + 'static>) -> Response {
    let Some(act) = act else { return text(StatusCode::SERVICE_UNAVAILABLE, "the server is starting\n") };
    let (writer, reader) = pipe(None);
    tokio::spawn(async move {
        let said = act.await.map_or_else(|why| format!("{why}\n"), |()| "done\n".to_owned());
        writer.write(said.into(), false);
        writer.end(true);
    });
    let mut response = text(StatusCode::ACCEPTED, "");
    response.body = Body::pipe(reader);
    response
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
        let id = "0123456789abcdef0123456789abcdef";
        let of_job = |act| JobId::parse(id).map(|id| Action::Job(act, id));
        assert_eq!(Action::read(&format!("jobs/retry/{id}")), of_job(JobAct::Retry));
        assert_eq!(Action::read(&format!("jobs/cancel/{id}")), of_job(JobAct::Cancel));
        for none in ["jobs/", "jobs/retry", "jobs/retry/", "jobs/retry/0123", &format!("jobs/other/{id}")] {
            assert_eq!(Action::read(none), None, "{none}");
        }
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

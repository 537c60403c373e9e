//! A cookie by which the requests of a browser go to the worker that had its first: for apps that keep what they know
//! of a visitor in R. It names a process of this generation of the app, and is sealed: no client can name another's.
//! Once that process has gone, any other has the request, and the cookie names that one.
//!
//! Neighbours: `pipeline/run`, which asks for the worker, and `pipeline/response`, which sets the cookie;
//! `websockets/homes`, for sessions that have names of their own.

use super::cookie::sent;
use httpd::Head;
use identity::Sealer;
use serde::{Deserialize, Serialize};

/// Whether there is such a cookie.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum AffinityWanted {
    /// for apps whose WebSockets belong to the worker that takes them
    #[default]
    Auto,
    /// for none
    None,
    /// for any app
    Cookie,
}

const NAME: &str = "drover-worker";

/// For one generation of an app.
#[derive(Debug)]
pub struct Affinity(Sealer);

impl Affinity {
    /// With a key of its own: no process outlives its generation for long.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn new() -> Result<Self, String> {
        Sealer::with_new_key(NAME).map(Affinity)
    }

    /// The process that a client names.
    pub fn named(&self, head: &Head) -> Option<i32> {
        let text = self.0.open(sent(head, NAME)?, 0)?;
        Some(i32::from_le_bytes(text.try_into().ok()?))
    }

    /// The field that has it name this process, until it is closed.
    pub fn cookie(&self, pid: i32, https: bool, base_path: &str) -> Option<String> {
        let value = self.0.seal(&pid.to_le_bytes(), u64::MAX)?;
        let path = if base_path.is_empty() { "/" } else { base_path };
        let secure = if https { "; Secure" } else { "" };
        Some(format!("{NAME}={value}; Path={path}{secure}; HttpOnly; SameSite=Lax"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::COOKIE;

    fn head(cookie: &str) -> Head {
        let request = http::Request::get("/").header(COOKIE, cookie);
        Head::from_http2(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_client_names_the_process_that_it_was_given_and_no_other() {
        let affinity = Affinity::new().unwrap();
        let field = affinity.cookie(4711, true, "/app").unwrap();
        let (pair, attributes) = field.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/app; Secure; HttpOnly; SameSite=Lax");
        assert_eq!(affinity.named(&head(pair)), Some(4711));
        assert!(affinity.cookie(1, false, "").unwrap().ends_with("; Path=/; HttpOnly; SameSite=Lax"));
        let changed = format!("{}A", &pair[..pair.len() - 1]);
        for wrong in [&*changed, "drover-worker=", "drover-worker=4711", "a=b"] {
            assert!(wrong == pair || affinity.named(&head(wrong)).is_none(), "{wrong}");
        }
        assert_eq!(Affinity::new().unwrap().named(&head(pair)), None, "another generation");
    }
}

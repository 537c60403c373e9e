//! Sessions: what an app keeps with its clients, in a cookie that only the server can read and make. It is opened when
//! a request is handed to a handler, and sealed when a response leaves: the keys are the server's, and no process that
//! runs handlers has them. What is sealed is told in `identity`.
//!
//! A cookie that was not sealed here, or whose time is over, is none.

use super::auth::read_keys;
use super::limits::cookie;
use http::header::SET_COOKIE;
use httpd::{Head, ResponseFields};
use identity::{Sealer, LONGEST_COOKIE};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A session, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SessionConfig {
    /// of the cookie
    pub name: String,
    /// how long one lasts, in seconds
    pub max_age: f64,
    /// whether requests that other sites cause carry it
    pub same_site: SameSite,
    /// whether it is sent over TLS only
    pub secure: bool,
    /// the newest first
    #[serde(default)]
    pub keys: Vec<String>,
    /// a file with a key in each line
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// Which requests of other sites' pages carry a cookie.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
pub enum SameSite {
    /// none
    Strict,
    /// those that open a page
    Lax,
    /// all
    None,
}

/// See the module.
#[derive(Debug)]
pub struct Session {
    sealer: Sealer,
    name: String,
    max_age: u64,
    /// what follows `Max-Age`
    attributes: String,
}

impl Session {
    /// The session of this configuration.
    ///
    /// # Errors
    /// A text that says what is wrong with it, or with its keys.
    pub fn new(config: &SessionConfig) -> Result<Self, String> {
        let keys = read_keys(&config.keys, config.file.as_deref())?;
        let sealer = Sealer::new(&config.name, &keys)?;
        let secure = if config.secure { "; Secure" } else { "" };
        let attributes = format!("; Path=/{secure}; HttpOnly; SameSite={:?}", config.same_site);
        Ok(Session { sealer, name: config.name.clone(), max_age: config.max_age as u64, attributes })
    }

    /// What a client has sent back, if it is right and not over. `now` is in seconds since 1970.
    pub fn open(&self, head: &Head, now: u64) -> Option<Vec<u8>> {
        self.sealer.open(cookie(head, &self.name)?, now)
    }

    /// Has a client keep a text; an empty one takes its cookie away.
    ///
    /// # Errors
    /// A text for the log, when it is too long.
    pub fn keep(&self, text: &[u8], now: u64, fields: &mut ResponseFields) -> Result<(), String> {
        let Session { sealer, name, max_age, attributes } = self;
        let cookie = if text.is_empty() {
            format!("{name}=; Max-Age=0{attributes}")
        } else {
            let sealed = sealer.seal(text, now.saturating_add(*max_age));
            let sealed = sealed.ok_or("dr_session_set(): the system has no random bytes to give")?;
            format!("{name}={sealed}; Max-Age={max_age}{attributes}")
        };
        if cookie.len() > LONGEST_COOKIE {
            let (len, given) = (cookie.len(), text.len());
            return Err(format!(
                "dr_session_set(): the session has {given} bytes as JSON and would be a cookie of {len}, of which \
                 browsers take {LONGEST_COOKIE}: keep less in it, such as a key to what is stored elsewhere"
            ));
        }
        fields.add(&SET_COOKIE, cookie);
        Ok(())
    }
}

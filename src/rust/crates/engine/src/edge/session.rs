//! Sessions: what an app keeps with its clients, in a cookie that only the server can read and make. It is opened when
//! a request is handed to a handler, and sealed when a response leaves: the keys are the server's, and no process that
//! runs handlers has them. What is sealed is told in `identity`.
//!
//! A cookie that was not sealed here, or whose time is over, is none. Where sessions end that are not used, a cookie is
//! renewed with the response of a handler, until the session's own end.

use super::auth::read_keys;
use super::cookie::{Cookie, SameSite};
use http::header::SET_COOKIE;
use httpd::{Head, ResponseFields};
use identity::{Sealer, LONGEST_COOKIE};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A session, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SessionConfig {
    /// of the cookie
    pub name: String,
    /// how long one lasts, in seconds
    pub max_age: f64,
    /// how long it lasts without a request; `None` for as long as it lasts
    #[serde(default)]
    pub idle: Option<f64>,
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

/// See the module.
#[derive(Debug)]
pub struct Session {
    sealer: Sealer,
    cookie: Cookie,
    max_age: u64,
    idle: Option<u64>,
}

/// What a client has sent back.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened {
    /// the session
    pub text: Vec<u8>,
    /// its end, if its cookie is to be renewed: seconds since 1970
    pub renewed_until: Option<u64>,
}

/// Of the time that a session lasts without a request, the part after which its cookie is renewed: not with each.
const PART: u64 = 10;

impl Session {
    /// The session of this configuration.
    ///
    /// # Errors
    /// A text that says what is wrong with it, or with its keys.
    pub fn new(config: &SessionConfig) -> Result<Self, String> {
        let keys = read_keys(&config.keys, config.file.as_deref())?;
        // one without its times is none with them
        let sealed_as = if config.idle.is_some() { format!("idle:{}", config.name) } else { config.name.clone() };
        let sealer = Sealer::new(&sealed_as, &keys)?;
        let cookie = Cookie::new(config.name.clone(), config.secure, config.same_site);
        Ok(Session { sealer, cookie, max_age: config.max_age as u64, idle: config.idle.map(|idle| idle as u64) })
    }

    /// What a client has sent back, if it is right and not over. `now` is in seconds since 1970.
    pub fn open(&self, head: &Head, now: u64) -> Option<Opened> {
        self.open_cookie(self.cookie.sent(head)?, now)
    }

    fn open_cookie(&self, cookie: &[u8], now: u64) -> Option<Opened> {
        let text = self.sealer.open(cookie, now)?;
        let Some(idle) = self.idle else { return Some(Opened { text, renewed_until: None }) };
        let (end, rest) = text.split_first_chunk()?;
        let (sealed, text) = rest.split_first_chunk()?;
        let is_due = now.saturating_sub(u64::from_be_bytes(*sealed)) >= idle.div_ceil(PART);
        Some(Opened { text: text.to_vec(), renewed_until: is_due.then(|| u64::from_be_bytes(*end)) })
    }

    /// Has a client keep a text, for what is below a base path; an empty one takes its cookie away.
    ///
    /// # Errors
    /// A text for the log, when it is no object, or too long.
    pub fn keep(&self, text: &[u8], now: u64, base_path: &str, fields: &mut ResponseFields) -> Result<(), String> {
        if !text.is_empty() && sonic_rs::from_slice::<BTreeMap<String, IgnoredAny>>(text).is_err() {
            return Err("the session that is set is not an object of JSON".to_owned());
        }
        let cookie = if text.is_empty() {
            self.cookie.ended(base_path)
        } else {
            let sealed = self.seal(text, now.saturating_add(self.max_age), now, base_path);
            sealed.ok_or("a session is set, and the system has no random bytes to give")?
        };
        if cookie.len() > LONGEST_COOKIE {
            let (len, given) = (cookie.len(), text.len());
            return Err(format!(
                "the session that is set has {given} bytes as JSON and would be a cookie of {len}, of which \
                 browsers take {LONGEST_COOKIE}: keep less in it, such as a key to what is stored elsewhere"
            ));
        }
        fields.add(&SET_COOKIE, cookie);
        Ok(())
    }

    /// Has the client go on keeping what it has, until then.
    pub fn renew(&self, text: &[u8], until: u64, now: u64, base_path: &str, fields: &mut ResponseFields) {
        // without random bytes, it has the one from before
        if let Some(cookie) = self.seal(text, until, now, base_path) {
            fields.add(&SET_COOKIE, cookie);
        }
    }

    /// The field of a session that ends then.
    fn seal(&self, text: &[u8], end: u64, now: u64, base_path: &str) -> Option<String> {
        let sealed = match self.idle {
            None => self.sealer.seal(text, end)?,
            Some(idle) => {
                let times = [end.to_be_bytes(), now.to_be_bytes()].concat();
                self.sealer.seal(&[&times, text].concat(), end.min(now.saturating_add(idle)))?
            }
        };
        Some(self.cookie.kept(&sealed, end.saturating_sub(now), base_path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(idle: Option<f64>) -> Session {
        let config = SessionConfig {
            name: "s".into(),
            max_age: 1000.0,
            idle,
            same_site: SameSite::Lax,
            secure: false,
            keys: vec!["k".repeat(32)],
            file: None,
        };
        Session::new(&config).unwrap()
    }

    /// The value of the cookie that a response sets, and the seconds that it may be kept.
    fn set(fields: &ResponseFields) -> (Vec<u8>, u64) {
        let field = String::from_utf8(fields.get(&SET_COOKIE).unwrap().to_vec()).unwrap();
        let (value, rest) = field.strip_prefix("s=").unwrap().split_once("; Max-Age=").unwrap();
        (value.as_bytes().to_vec(), rest.split(';').next().unwrap().parse().unwrap())
    }

    fn kept(session: &Session, now: u64) -> (Vec<u8>, u64) {
        let mut fields = ResponseFields::default();
        session.keep(b"{}", now, "", &mut fields).unwrap();
        set(&fields)
    }

    fn opened(renewed_until: Option<u64>) -> Option<Opened> {
        Some(Opened { text: b"{}".to_vec(), renewed_until })
    }

    #[test]
    fn one_that_is_not_used_ends_and_one_that_is_lasts_until_its_end() {
        let session = session(Some(100.0));
        let (mut cookie, lasts) = kept(&session, 5000);
        assert_eq!(lasts, 1000);
        assert_eq!(session.open_cookie(&cookie, 5009), opened(None), "it is renewed each time");
        assert_eq!(session.open_cookie(&cookie, 5099), opened(Some(6000)));
        assert_eq!(session.open_cookie(&cookie, 5100), None, "it was not used");
        for now in (5050..6000).step_by(50) {
            assert_eq!(session.open_cookie(&cookie, now), opened(Some(6000)));
            let mut fields = ResponseFields::default();
            session.renew(b"{}", 6000, now, "", &mut fields);
            let (renewed, lasts) = set(&fields);
            assert_eq!(lasts, 6000 - now);
            cookie = renewed;
        }
        assert!(session.open_cookie(&cookie, 5999).is_some());
        assert_eq!(session.open_cookie(&cookie, 6000), None, "it lasts for ever");
    }

    #[test]
    fn without_such_a_time_it_lasts_as_long_as_it_is_told() {
        let (session, with) = (session(None), session(Some(100.0)));
        let (cookie, _) = kept(&session, 5000);
        assert_eq!(session.open_cookie(&cookie, 5999), opened(None));
        assert_eq!(session.open_cookie(&cookie, 6000), None);
        // after the app has been changed, its clients begin anew
        assert_eq!(with.open_cookie(&cookie, 5000), None);
        assert_eq!(session.open_cookie(&kept(&with, 5000).0, 5000), None);
    }
}

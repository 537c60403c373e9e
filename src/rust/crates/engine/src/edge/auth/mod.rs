//! Authentication: the policies that let in only clients that say and prove their identity. `config` is what an app has
//! registered; `basic`, `tokens` and `jwt` are the ways to authenticate, `hashing` the threads for slow checks,
//! `challenge` the response to refused clients, `files` the source of secrets, and `jwks` sets of keys at an address,
//! which `edge/fetch.rs` fetches. The crate `identity` decides which credentials are right.
//!
//! Policies that cover the same paths are alternatives: a request has to satisfy one of them.

mod basic;
mod challenge;
pub mod config;
mod files;
mod hashing;
mod jwks;
mod jwt;
mod tokens;

pub(super) use files::read_text;
pub use hashing::Question;

use basic::Basic;
use challenge::Challenge;
use config::{AuthConfig, SchemeConfig};
use http::header::{AUTHORIZATION, VARY};
use http::StatusCode;
use httpd::{Failure, Head, ResponseFields};
use identity::Who;
pub use jwks::KeySets;
use jwt::Jwt;
pub use jwt::Sets;
use std::sync::Arc;
use tokens::Tokens;

/// See the module.
#[derive(Debug)]
pub struct Auth {
    ways: Vec<Way>,
    /// whether requests without credentials pass
    optional: bool,
    challenge: Challenge,
}

#[derive(Debug)]
enum Way {
    Basic(Basic),
    Tokens(Tokens),
    Jwt(Box<Jwt>),
}

/// What one way says of a request.
enum Said {
    /// it has no credentials of this kind
    Nothing,
    /// it is this one
    Is(Arc<Who>),
    /// that takes long to find out
    Ask(Question),
    /// its credentials are wrong; the first is for the client, if it is of a kind that may hear why
    Wrong(&'static str),
    /// it is refused for another reason
    Refused(Failure),
}

/// Whether a request may pass.
pub enum Verdict {
    /// it may; `None` is a client without credentials, where that is allowed
    Passes(Option<Arc<Who>>),
    /// that takes long to find out
    Ask(Question),
}

/// What a request sends, of which there may be one each.
struct Sent<'h> {
    head: &'h Head,
    /// `Authorization`: its scheme, and what follows
    authorization: Option<(&'h [u8], &'h [u8])>,
}

impl<'h> Sent<'h> {
    fn of(head: &'h Head) -> Result<Self, Failure> {
        let mut all = head.fields.all(&AUTHORIZATION);
        let authorization = all.next().map(|value| {
            let end = value.iter().position(|&b| b == b' ').unwrap_or(value.len());
            (&value[..end], value[end..].trim_ascii())
        });
        match all.next() {
            Some(_) => Err(Failure::new(StatusCode::BAD_REQUEST, "repeated Authorization")),
            None => Ok(Sent { head, authorization }),
        }
    }

    /// What `Authorization` has of this scheme, which is one in any case.
    fn with(&self, scheme: &str) -> Option<&'h [u8]> {
        let (name, rest) = self.authorization?;
        name.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
    }
}

impl Auth {
    /// Of these, which cover the same paths.
    ///
    /// # Errors
    /// A text that says which is wrong, and why: also when a file cannot be read.
    pub fn new(configs: &[&AuthConfig], sets: &mut Sets<'_>) -> Result<Self, String> {
        let mut way = |config: &&AuthConfig| {
            let named = |e: String| format!("{}: {e}", config.by.function());
            match &config.by {
                SchemeConfig::Basic(basic) => Basic::new(basic).map(Way::Basic).map_err(named),
                SchemeConfig::Bearer(tokens) => Tokens::of_bearers(tokens).map(Way::Tokens).map_err(named),
                SchemeConfig::Key(keys) => Tokens::of_keys(keys).map(Way::Tokens).map_err(named),
                SchemeConfig::Jwt(jwt) => Jwt::new(jwt, config, sets).map(|jwt| Way::Jwt(Box::new(jwt))).map_err(named),
            }
        };
        Ok(Auth {
            ways: configs.iter().map(&mut way).collect::<Result<_, _>>()?,
            optional: configs.iter().any(|config| config.optional),
            challenge: Challenge::new(configs)?,
        })
    }

    /// Whether a request may pass. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// When it may not.
    pub fn judge(&self, head: &Head, now: u64) -> Result<Verdict, Failure> {
        let sent = Sent::of(head)?;
        let mut wrong = None;
        for way in &self.ways {
            let said = match way {
                Way::Basic(basic) => basic.judge(&sent),
                Way::Tokens(tokens) => tokens.judge(&sent),
                Way::Jwt(jwt) => jwt.judge(&sent, now),
            };
            match said {
                Said::Nothing => {}
                Said::Is(who) => return Ok(Verdict::Passes(Some(who))),
                Said::Ask(question) => return Ok(Verdict::Ask(question)),
                Said::Wrong(why) => wrong = Some(why),
                Said::Refused(failure) => return Err(failure),
            }
        }
        match wrong {
            // also where requests without any pass: a client that shows some means it
            Some(why) => Err(self.challenge.wrong(why)),
            None if self.optional => Ok(Verdict::Passes(None)),
            None => Err(self.challenge.missing()),
        }
    }

    /// What a question has come to.
    ///
    /// # Errors
    /// When the request may not pass.
    pub fn decide(&self, answer: Option<Arc<Who>>) -> Result<Arc<Who>, Failure> {
        answer.ok_or_else(|| self.challenge.wrong("wrong name or password"))
    }

    /// Caches keep what one client may see from others. For `Authorization` they know that (RFC 9111 section 3.5).
    pub fn dress(&self, fields: &mut ResponseFields) {
        for way in &self.ways {
            if let Way::Tokens(tokens) = way {
                if let Some(field) = tokens.field() {
                    fields.set_in_list(&VARY, field);
                }
            }
        }
    }
}

//! Authentication: the policies that let in only clients that say and prove their identity. `config` is what an app has
//! registered; `basic`, `tokens`, `jwt` and `oidc` are the ways to authenticate, `question` what takes long to find
//! out, `guesses` the bound on wrong passwords, `scopes` what those that are known may do, `challenge` the response to
//! refused clients, `files` the source of secrets, `jwks` sets of keys at an address, which `edge/fetch.rs` fetches,
//! and `fetched` all that was. The crate `identity` decides which credentials are right.
//!
//! Policies that cover the same paths are alternatives: a request has to satisfy one of them.

mod basic;
mod challenge;
pub mod config;
mod fetched;
mod files;
mod guesses;
mod jwks;
mod jwt;
mod oidc;
mod question;
mod scopes;
mod tokens;

pub use fetched::{Fetched, Fetching};
pub(super) use files::{read_keys, read_text};
pub use oidc::{Oidc, Place};
pub use question::{Heard, Question};

use crate::edge::counts::Table;
use crate::edge::navigation::is_navigation;
use basic::Basic;
use challenge::Challenge;
use config::{AuthConfig, SchemeConfig};
use http::header::{AUTHORIZATION, COOKIE, VARY};
use http::StatusCode;
use httpd::{Client, Failure, Head, Response, ResponseFields};
use identity::Who;
use jwt::Jwt;
use scopes::Needs;
use std::sync::Arc;
use tokens::Tokens;

/// See the module.
#[derive(Debug)]
pub struct Auth {
    ways: Vec<(Way, Needs)>,
    /// whether requests without credentials pass
    optional: bool,
    challenge: Challenge,
}

#[derive(Debug)]
enum Way {
    Basic(Basic),
    Tokens(Tokens),
    Jwt(Box<Jwt>),
    Oidc(Arc<Oidc>),
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
    /// not yet: this is to be answered
    Answer(Response),
}

/// What a request sends, of which there may be one each, and whom it is from.
struct Sent<'h> {
    head: &'h Head,
    client: &'h Client,
    /// `Authorization`: its scheme, and what follows
    authorization: Option<(&'h [u8], &'h [u8])>,
}

impl<'h> Sent<'h> {
    fn of(head: &'h Head, client: &'h Client) -> Result<Self, Failure> {
        let mut all = head.fields.all(&AUTHORIZATION);
        let authorization = all.next().map(|value| {
            let end = value.iter().position(|&b| b == b' ').unwrap_or(value.len());
            (&value[..end], value[end..].trim_ascii())
        });
        match all.next() {
            Some(_) => Err(Failure::new(StatusCode::BAD_REQUEST, "repeated Authorization")),
            None => Ok(Sent { head, client, authorization }),
        }
    }

    /// What `Authorization` has of this scheme, which is one in any case.
    fn with(&self, scheme: &str) -> Option<&'h [u8]> {
        let (name, rest) = self.authorization?;
        name.eq_ignore_ascii_case(scheme.as_bytes()).then_some(rest)
    }
}

impl Auth {
    /// Of these, which cover the same paths. `table` has the place where one of them counts.
    ///
    /// # Errors
    /// A text that says which is wrong, and why: also when a file cannot be read.
    pub fn new(
        configs: &[&AuthConfig],
        fetching: &mut Fetching<'_>,
        mut table: impl FnMut(&AuthConfig) -> Arc<Table>,
    ) -> Result<Self, String> {
        let mut way = |config: &&AuthConfig| {
            let named = |e: String| format!("{}: {e}", config.by.function());
            match &config.by {
                SchemeConfig::Basic(basic) => Basic::new(basic, || table(config)).map(Way::Basic).map_err(named),
                SchemeConfig::Bearer(tokens) => Tokens::of_bearers(tokens).map(Way::Tokens).map_err(named),
                SchemeConfig::Key(keys) => Tokens::of_keys(keys).map(Way::Tokens).map_err(named),
                SchemeConfig::Jwt(jwt) => Jwt::new(jwt, fetching).map(|jwt| Way::Jwt(Box::new(jwt))).map_err(named),
                SchemeConfig::Oidc(oidc) => {
                    Oidc::new(oidc, fetching).map(|oidc| Way::Oidc(Arc::new(oidc))).map_err(named)
                }
            }
        };
        Ok(Auth {
            ways: configs
                .iter()
                .map(|config| Ok((way(config)?, Needs::new(config)?)))
                .collect::<Result<_, String>>()?,
            optional: configs.iter().any(|config| config.optional),
            challenge: Challenge::new(configs)?,
        })
    }

    /// The logins among the ways.
    pub fn logins(&self) -> impl Iterator<Item = &Arc<Oidc>> {
        self.ways.iter().filter_map(|(way, _)| match way {
            Way::Oidc(oidc) => Some(oidc),
            _ => None,
        })
    }

    /// Whether a request of this client may pass, which came over TLS if it is `https`. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// When it may not.
    pub fn judge(&self, head: &Head, client: &Client, https: bool, now: u64) -> Result<Verdict, Failure> {
        let sent = Sent::of(head, client)?;
        let mut wrong = None;
        for (way, needs) in &self.ways {
            let said = match way {
                Way::Basic(basic) => basic.judge(&sent),
                Way::Tokens(tokens) => tokens.judge(&sent),
                Way::Jwt(jwt) => jwt.judge(&sent, now),
                Way::Oidc(oidc) => oidc.judge(&sent, now),
            };
            match said {
                Said::Nothing => {}
                Said::Is(who) => return needs.judge(who).map(|who| Verdict::Passes(Some(who))),
                Said::Ask(question) => return Ok(Verdict::Ask(question)),
                Said::Wrong(why) => wrong = Some(why),
                Said::Refused(failure) => return Err(failure),
            }
        }
        match wrong {
            // also where requests without any pass: a client that shows some means it
            Some(why) => Err(self.challenge.wrong(why)),
            None if self.optional => Ok(Verdict::Passes(None)),
            None => match self.logins().next().filter(|_| is_navigation(head)) {
                Some(login) => login.begin(head, https, head.target(), now).map(Verdict::Answer),
                None => Err(self.challenge.missing()),
            },
        }
    }

    /// What a question has come to.
    ///
    /// # Errors
    /// When the request may not pass.
    pub fn decide(&self, heard: &Heard) -> Result<Arc<Who>, Failure> {
        match heard {
            // the first of names and passwords has asked
            Heard::Is(who) => match self.ways.iter().find(|(way, _)| matches!(way, Way::Basic(_))) {
                Some((_, needs)) => needs.judge(who.clone()),
                None => Ok(who.clone()),
            },
            _ => Err(self.challenge.wrong("wrong name or password")),
        }
    }

    /// Caches keep what one client may see from others. For `Authorization` they know that (RFC 9111 section 3.5).
    pub fn dress(&self, fields: &mut ResponseFields) {
        for (way, _) in &self.ways {
            match way {
                Way::Tokens(tokens) => {
                    if let Some(field) = tokens.field() {
                        fields.set_in_list(&VARY, field);
                    }
                }
                Way::Oidc(_) => fields.set_in_list(&VARY, COOKIE.as_str()),
                Way::Basic(_) | Way::Jwt(_) => {}
            }
        }
    }
}

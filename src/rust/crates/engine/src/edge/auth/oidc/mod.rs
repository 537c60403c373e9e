//! Logins of people with browsers, at a provider of OpenID Connect. Who has logged in is known by a sealed cookie,
//! which is all that remains of a login. `client` talks to the provider, in threads of its own; which answers are
//! right, `identity::oidc` says.
//!
//! Three paths are its own: one begins a login, one is where the provider sends the browser back to, one logs out. They
//! are answered before authentication, and limits hold for them as for others.

mod client;

use super::config::OidcConfig;
use super::fetched::Fetching;
use super::files::read_keys;
use super::question::{Heard, Question, LOGINS};
use super::{Said, Sent, Verdict};
use crate::edge::cookie::{Cookie, SameSite};
use crate::edge::csrf::SITE;
use client::Client;
use http::header::{ALLOW, CACHE_CONTROL, HOST, LOCATION, SET_COOKIE};
use http::StatusCode;
use httpd::{ascii, Body, Failure, Head, Response, ResponseFields};
use identity::oidc::{Attempt, Attempts};
use identity::{Sealer, Who, LONGEST_COOKIE};
use std::sync::Arc;

pub use client::Providers;

/// See the module.
#[derive(Debug)]
pub struct Oidc {
    client: Client,
    paths: Paths,
    after_logout: String,
    origin: Option<String>,
    logins: Sealer,
    attempts: Attempts,
    cookie: Cookie,
    /// that of a login that has begun
    begun: Cookie,
    /// in seconds
    max_age: u64,
}

#[derive(Debug)]
struct Paths {
    login: String,
    callback: String,
    logout: String,
}

/// What one of its own paths is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// a login begins
    Login,
    /// the provider sends the browser back
    Callback,
    /// a logout
    Logout,
}

/// Parameters that are read; a provider sends a few.
const MOST_PARAMS: usize = 32;

/// Longest path and query that a login leads back to: it travels in the address of the provider.
const LONGEST_TARGET: usize = 1024;

impl Oidc {
    /// Of this configuration.
    ///
    /// # Errors
    /// A text that says what is wrong with it, or why its provider cannot be used.
    pub fn new(config: &OidcConfig, fetching: &mut Fetching<'_>) -> Result<Self, String> {
        let secrets = read_keys(&config.secrets, config.file.as_deref())?;
        let of_secret = |e: String| format!("{e}: cookies are sealed with keys that are derived from the secret");
        let logins = Sealer::new(&format!("login:{}", config.name), &secrets).map_err(of_secret)?;
        let begun = format!("{}-begun", config.name);
        // Strict: the browser would come back from the provider without it
        let cookie = |name: &str| Cookie::new(name.to_owned(), config.secure, SameSite::Lax);
        Ok(Oidc {
            client: Client::new(config, &secrets[0], fetching)?,
            paths: Paths {
                login: config.path.clone(),
                callback: format!("{}/callback", config.path),
                logout: format!("{}/logout", config.path),
            },
            after_logout: config.after_logout.clone(),
            origin: config.origin.clone(),
            attempts: Attempts::new(&begun, &secrets)?,
            logins,
            cookie: cookie(&config.name),
            begun: cookie(&begun),
            max_age: config.max_age as u64,
        })
    }

    /// What a path of its own is for.
    pub fn place(&self, path: &str) -> Option<Place> {
        let Paths { login, callback, logout } = &self.paths;
        let places = [(login, Place::Login), (callback, Place::Callback), (logout, Place::Logout)];
        places.into_iter().find(|(own, _)| *own == path).map(|(_, place)| place)
    }

    /// The path that its own paths are below.
    pub fn path(&self) -> &str {
        &self.paths.login
    }

    pub(super) fn judge(&self, sent: &Sent<'_>, now: u64) -> Said {
        let opened = self.cookie.sent(sent.head).and_then(|cookie| self.logins.open(cookie, now));
        opened.and_then(|claims| Who::of_login(&claims)).map_or(Said::Nothing, |who| Said::Is(Arc::new(who)))
    }

    /// Sends the browser to the provider; `target` is where the login leads.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn begin(&self, head: &Head, https: bool, target: &str, now: u64) -> Result<Response, Failure> {
        let callback = self.address(head, https, &self.paths.callback)?;
        let attempt = self.attempts.begin(self.begun.sent(head), local(target), now);
        let (attempt, cookie, lasts) = attempt.ok_or_else(no_random)?;
        Ok(redirect(&self.client.login_url(&callback, &attempt), &[self.begun.kept(&cookie, lasts, head.base_path())]))
    }

    /// Answers a request for one of its own paths; `heard` is what a question about it has come to.
    ///
    /// # Errors
    /// When the login fails.
    pub fn answer(
        self: &Arc<Self>,
        place: Place,
        head: &Head,
        https: bool,
        heard: Option<&Heard>,
        now: u64,
    ) -> Result<Verdict, Failure> {
        let methods = if place == Place::Logout { "GET, HEAD, POST" } else { "GET, HEAD" };
        if !methods.split(", ").any(|method| head.method == *method) {
            return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "").with(&ALLOW, methods));
        }
        let query = head.target().split_once('?').map_or("", |(_, query)| query);
        let params = fields::query::parse(query.as_bytes(), MOST_PARAMS)
            .map_err(|e| Failure::new(StatusCode::BAD_REQUEST, e.message()))?;
        let param = |name: &str| params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref());
        match place {
            Place::Login => self.begin(head, https, param("to").unwrap_or("/"), now).map(Verdict::Answer),
            Place::Logout => self.log_out(head, https).map(Verdict::Answer),
            Place::Callback => match heard {
                None => self.come_back(head, https, param, now).map(Verdict::Ask),
                Some(Heard::LoggedIn { target, cookie }) => {
                    let target = format!("{}{target}", head.base_path());
                    Ok(Verdict::Answer(redirect(&target, std::slice::from_ref(cookie))))
                }
                Some(Heard::Failed(failure)) => Err(failure.clone()),
                Some(Heard::Nothing | Heard::Is(_)) => Err(unconfirmed()),
            },
        }
    }

    /// The provider has sent the browser back: what is to be asked of the provider.
    fn come_back<'p>(
        self: &Arc<Self>,
        head: &Head,
        https: bool,
        param: impl Fn(&str) -> Option<&'p str>,
        now: u64,
    ) -> Result<Question, Failure> {
        let attempt = param("state").and_then(|state| self.attempts.resume(self.begun.sent(head), state, now));
        let attempt = attempt.ok_or_else(|| {
            Failure::new(StatusCode::BAD_REQUEST, "this login has expired, or was begun elsewhere: open the page again")
                .because("dr_auth_oidc()")
        })?;
        if !self.client.is_answer_of(param("iss")) {
            let why = format!("dr_auth_oidc(): the answer is of {:?}", for_log(param("iss").unwrap_or_default()));
            return Err(unconfirmed().because(why));
        }
        if let Some(error) = param("error") {
            return Err(refused(error));
        }
        let Some(code) = param("code") else {
            return Err(Failure::new(StatusCode::BAD_REQUEST, "there is no code of the identity provider"));
        };
        let callback = self.address(head, https, &self.paths.callback)?;
        let (this, code, base_path) = (self.clone(), code.to_owned(), head.base_path().to_owned());
        Question::ask(&LOGINS, move || this.log_in(&code, &callback, attempt, &base_path, now)).ok_or_else(|| {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many logins wait for the identity provider")
                .because("dr_auth_oidc()")
        })
    }

    /// Asks the provider who has logged in, and seals what it says.
    fn log_in(&self, code: &str, callback: &str, attempt: Attempt, base_path: &str, now: u64) -> Heard {
        let claims = match self.client.find_user(code, callback, &attempt, now) {
            Ok(claims) => claims,
            Err(why) => return Heard::Failed(unconfirmed().because(format_args!("dr_auth_oidc(): {}", for_log(&why)))),
        };
        let Some(sealed) = self.logins.seal(claims.as_bytes(), now.saturating_add(self.max_age)) else {
            return Heard::Failed(no_random());
        };
        let cookie = self.cookie.kept(&sealed, self.max_age, base_path);
        if cookie.len() > LONGEST_COOKIE {
            return Heard::Failed(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "").because(format_args!(
                "dr_auth_oidc(): the claims of a user have {} bytes and would be a cookie of {}, of which browsers \
                     take {LONGEST_COOKIE}: name those that are needed in `claims`",
                claims.len(),
                cookie.len()
            )));
        }
        Heard::LoggedIn { target: attempt.target, cookie }
    }

    /// Takes the cookie away, and sends the browser to where it logs out at the provider.
    fn log_out(&self, head: &Head, https: bool) -> Result<Response, Failure> {
        // a page of another site cannot do this to a user with an image or a link
        if head.fields.get(&SITE) == Some(b"cross-site") {
            return Err(Failure::new(StatusCode::FORBIDDEN, "pages of other sites may not log users out")
                .because("dr_auth_oidc()"));
        }
        let back = self.address(head, https, &self.after_logout)?;
        let target = self.client.logout_url(&back).unwrap_or(back);
        // in this order: of two that are taken away, curl keeps the first in its file
        Ok(redirect(&target, &[&self.begun, &self.cookie].map(|cookie| cookie.ended(head.base_path()))))
    }

    /// One of this server's paths, as the browser finds it.
    fn address(&self, head: &Head, https: bool, path: &str) -> Result<String, Failure> {
        let base_path = head.base_path();
        if let Some(origin) = &self.origin {
            return Ok(format!("{origin}{base_path}{path}"));
        }
        let host = head.fields.get(&HOST).and_then(ascii).filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| Failure::new(StatusCode::BAD_REQUEST, "a login needs the field Host"))?;
        Ok(format!("{}://{host}{base_path}{path}", if https { "https" } else { "http" }))
    }
}

/// Where a login may lead: a path of this server, and not an address that begins like one.
fn local(target: &str) -> &str {
    let is_path = target.starts_with('/') && !target[1..].starts_with(['/', '\\']);
    let is_plain = target.bytes().all(|b| matches!(b, b'!'..=b'~')) && target.len() <= LONGEST_TARGET;
    if is_path && is_plain {
        target
    } else {
        "/"
    }
}

/// To an address, with these cookies. Nobody keeps it for others.
fn redirect(to: &str, cookies: &[String]) -> Response {
    let mut fields = ResponseFields::of_server(None);
    fields.add(&LOCATION, to);
    fields.add(&CACHE_CONTROL, "no-store");
    for cookie in cookies {
        fields.add(&SET_COOKIE, cookie);
    }
    Response::new(StatusCode::SEE_OTHER, fields, Body::empty())
}

/// The provider has not let the user in (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6).
fn refused(error: &str) -> Failure {
    let because = format!("dr_auth_oidc(): the identity provider says {:?}", for_log(error));
    let is_up_to_user = error == "access_denied" || error.ends_with("_required");
    let failure = match is_up_to_user {
        true => Failure::new(StatusCode::FORBIDDEN, "the login was refused or cancelled"),
        false => Failure::new(StatusCode::BAD_GATEWAY, "the identity provider could not log you in"),
    };
    failure.because(because)
}

fn unconfirmed() -> Failure {
    Failure::new(StatusCode::BAD_GATEWAY, "the identity provider did not confirm the login").because("dr_auth_oidc()")
}

fn no_random() -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "")
        .because("dr_auth_oidc(): the system has no random bytes to give")
}

/// As much of what others send as a line of the log has room for.
fn for_log(text: &str) -> String {
    text.chars().take(300).map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_lead_to_paths_of_this_server_only() {
        for right in ["/", "/a", "/a?b=c&d=//e", "/a//b", "/%2F/evil.example"] {
            assert_eq!(local(right), right);
        }
        for wrong in
            ["", "//evil.example", "/\\evil.example", "https://evil.example", "a", "/a b", "/ü", "/a\r\nb", "\\\\evil"]
        {
            assert_eq!(local(wrong), "/", "{wrong:?}");
        }
        let (longest, longer) = (format!("/{}", "a".repeat(1023)), format!("/{}", "a".repeat(1024)));
        assert_eq!((local(&longest), local(&longer)), (&*longest, "/"));
    }

    #[test]
    fn what_providers_say_stays_one_line() {
        assert_eq!(for_log("a\r\nb\u{202e}c d"), "a??b?c d");
        assert_eq!(for_log(&"x".repeat(1000)).len(), 300);
    }
}

//! The server as the client of an identity provider: what it fetches there, and how it finds out who has logged in. In
//! threads that may wait.

use super::super::config::{JwksConfig, OidcConfig};
use super::super::fetched::Fetching;
use super::super::jwks::{is_public, KeySet};
use crate::edge::fetch::{is_trusted, Plain, Source};
use identity::jwt::{algorithm, Algorithm, Refused};
use identity::oidc::{self, discovery_url, Attempt, IdTokens, Provider, Tokens, User};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The providers of an app.
#[derive(Debug, Default)]
pub struct Providers(Vec<Known>);

/// A provider, by its name and the authorities that it is trusted by.
type Known = (String, Option<PathBuf>, Arc<Provider>);

impl Providers {
    /// The provider of this name: that of this app, or of the one before, or else it is asked what it is.
    ///
    /// # Errors
    /// A text that says why it is none.
    pub fn get(&mut self, issuer: &str, ca: Option<&Path>, before: Option<&Self>) -> Result<Arc<Provider>, String> {
        let mut known = before.into_iter().flat_map(|before| &before.0).chain(&self.0);
        let same = known.find(|(name, by, _)| name == issuer && by.as_deref() == ca).map(|(.., same)| same.clone());
        let provider = same.map_or_else(|| discover(issuer, ca).map(Arc::new), Ok)?;
        self.0.push((issuer.to_owned(), ca.map(Path::to_owned), provider.clone()));
        Ok(provider)
    }
}

fn discover(issuer: &str, ca: Option<&Path>) -> Result<Provider, String> {
    let url = discovery_url(issuer);
    let document = Source::new(&url, ca, Plain::ThisMachine)?.fetch()?;
    let named = |e: String| format!("{url}: {e}");
    let provider = Provider::of_document(&document, issuer).map_err(named)?;
    // those that the server asks itself are looked at when they are
    let shown = [Some(&provider.authorization_endpoint), provider.end_session_endpoint.as_ref()];
    if let Some(wrong) = shown.into_iter().flatten().find(|url| !is_trusted(url)) {
        return Err(named(format!("{wrong} must begin with https://, or be of this machine")));
    }
    Ok(provider)
}

/// See the module.
pub struct Client {
    provider: Arc<Provider>,
    keys: Arc<KeySet>,
    tokens: Source,
    userinfo: Option<Source>,
    id_tokens: IdTokens,
    id: String,
    secret: String,
    /// with spaces
    scope: String,
    claims: Option<Vec<String>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("provider", &self.provider.issuer).finish_non_exhaustive()
    }
}

impl Client {
    /// Of this configuration, with this secret.
    ///
    /// # Errors
    /// A text that says what is wrong with it, or why its provider cannot be used.
    pub fn new(config: &OidcConfig, secret: &[u8], fetching: &mut Fetching<'_>) -> Result<Self, String> {
        let algorithms = config.algorithms.iter().map(|name| algorithm(name)).collect::<Result<Vec<Algorithm>, _>>()?;
        if !algorithms.iter().all(|one| is_public(*one)) {
            return Err("tokens must be signed with a key of the provider's own: no algorithm of HS".to_owned());
        }
        let secret = std::str::from_utf8(secret).map_err(|_| "the secret is no UTF-8 text".to_owned())?;
        let ca = config.ca.as_deref();
        let provider = fetching.provider(&config.issuer, ca)?;
        let jwks = JwksConfig { url: provider.jwks_uri.clone(), ca: config.ca.clone(), refresh: config.refresh };
        let userinfo = match (&provider.userinfo_endpoint, config.userinfo) {
            (_, false) => None,
            (Some(url), true) => Some(Source::new(url, ca, Plain::ThisMachine)?),
            (None, true) => return Err(format!("{}: it has no userinfo_endpoint", config.issuer)),
        };
        let mut scopes = vec!["openid"];
        scopes.extend(config.scopes.iter().map(String::as_str).filter(|scope| *scope != "openid"));
        Ok(Client {
            keys: fetching.keys(&jwks, &algorithms)?,
            tokens: Source::new(&provider.token_endpoint, ca, Plain::ThisMachine)?,
            userinfo,
            id_tokens: IdTokens::new(&config.issuer, &config.client_id, algorithms, config.leeway as u64),
            id: config.client_id.clone(),
            secret: secret.to_owned(),
            scope: scopes.join(" "),
            claims: config.claims.clone(),
            provider,
        })
    }

    /// Where the browser logs in.
    pub fn login_url(&self, redirect_uri: &str, attempt: &Attempt) -> String {
        self.provider.login_url(self.known_as(redirect_uri), &self.scope, attempt)
    }

    /// Where it logs out, and comes back from to this address; `None` if the provider has no such place.
    pub fn logout_url(&self, back: &str) -> Option<String> {
        self.provider.logout_url(&self.id, back)
    }

    /// Whether an answer that says to be of this issuer may be the provider's.
    pub fn is_answer_of(&self, iss: Option<&str>) -> bool {
        self.provider.is_named(iss)
    }

    /// The claims that are kept of the user whose browser has brought this code, as JSON. `now` is in seconds since
    /// 1970.
    ///
    /// # Errors
    /// A text for the log.
    pub fn find_user(&self, code: &str, redirect_uri: &str, attempt: &Attempt, now: u64) -> Result<String, String> {
        let (form, authorization) = self.provider.exchange(self.known_as(redirect_uri), code, attempt);
        let (status, body) = self.tokens.send_form(&form, authorization.as_deref())?;
        let failed = |why: &dyn fmt::Display| format!("{}: {why}", self.provider.token_endpoint);
        let tokens = Tokens::of_answer(status, &body).map_err(|why| failed(&why))?;
        let mut user = self.user_of(&tokens.id_token, attempt, now).map_err(|why| failed(&why))?;
        if let Some(userinfo) = &self.userinfo {
            let body = userinfo.fetch_by(Some(&format!("Bearer {}", tokens.access_token)))?;
            user.add(&body).map_err(|why| format!("{}: {why}", self.provider.issuer))?;
        }
        Ok(user.kept(self.claims.as_deref()))
    }

    /// Of a token; a key that is not known may be new.
    fn user_of(&self, token: &str, attempt: &Attempt, now: u64) -> Result<User, String> {
        let mut user = self.id_tokens.user(token, &self.keys.keys().keys, attempt, now);
        if user == Err(Refused::UnknownKey) {
            user = self.id_tokens.user(token, &self.keys.renew()?.keys, attempt, now);
        }
        user.map_err(|refused| match refused {
            Refused::Invalid(why) => why.to_owned(),
            Refused::UnknownKey => "no key is known that the token could be signed with".to_owned(),
        })
    }

    fn known_as<'a>(&'a self, redirect_uri: &'a str) -> oidc::Client<'a> {
        oidc::Client { id: &self.id, secret: &self.secret, redirect_uri }
    }
}

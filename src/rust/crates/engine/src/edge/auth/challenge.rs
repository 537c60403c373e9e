//! The response to a client that may not pass: 401 with `WWW-Authenticate` (RFC 9110 section 11.6.1), one challenge for
//! each way to authenticate.

use super::config::{AuthConfig, SchemeConfig};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use httpd::Failure;

/// See the module. Values of the field are made once, but for reasons.
#[derive(Debug)]
pub struct Challenge {
    /// of each way but tokens in `Authorization`
    others: Vec<String>,
    /// of these
    bearer: Option<String>,
    missing: HeaderValue,
}

impl Challenge {
    /// For these ways.
    ///
    /// # Errors
    /// When a realm cannot be in a header field.
    pub fn new(configs: &[&AuthConfig]) -> Result<Self, String> {
        let (mut others, mut bearer) = (Vec::new(), None);
        for config in configs {
            let realm = quoted(&config.realm)?;
            match &config.by {
                // RFC 7617, section 2.1: names and passwords are UTF-8
                SchemeConfig::Basic(_) => others.push(format!("Basic realm={realm}, charset=\"UTF-8\"")),
                SchemeConfig::Key(key) => others.push(format!("ApiKey realm={realm}, header=\"{}\"", key.header)),
                // no scheme of HTTP's: browsers that open a page are sent there, and scripts read where
                SchemeConfig::Oidc(oidc) => others.push(format!("OpenID realm={realm}, login={}", quoted(&oidc.path)?)),
                // RFC 6750, section 3
                SchemeConfig::Bearer(_) | SchemeConfig::Jwt(_) => {
                    bearer = bearer.or(Some(format!("Bearer realm={realm}")))
                }
            }
        }
        let all: Vec<&str> = others.iter().chain(&bearer).map(String::as_str).collect();
        let missing = HeaderValue::from_str(&all.join(", ")).map_err(|_| "the realm cannot be sent".to_owned())?;
        Ok(Challenge { others, bearer, missing })
    }

    /// There are no credentials.
    pub fn missing(&self) -> Failure {
        Failure::new(StatusCode::UNAUTHORIZED, "").with(&WWW_AUTHENTICATE, &self.missing)
    }

    /// They are wrong: why.
    pub fn wrong(&self, why: &str) -> Failure {
        self.failure(StatusCode::UNAUTHORIZED, why, &format!("error=\"invalid_token\", error_description=\"{why}\""))
    }

    fn failure(&self, status: StatusCode, why: &str, error: &str) -> Failure {
        let bearer = self.bearer.as_ref().map(|bearer| format!("{bearer}, {error}"));
        let all: Vec<&str> = self.others.iter().chain(&bearer).map(String::as_str).collect();
        let value = HeaderValue::from_str(&all.join(", ")).unwrap_or_else(|_| self.missing.clone());
        Failure::new(status, why).with(&WWW_AUTHENTICATE, value)
    }
}

/// For a client that is known, and has not all scopes that this asks for (RFC 6750 section 3.1).
///
/// # Errors
/// When the realm or a scope cannot be in a header field.
pub fn lacks_scope(AuthConfig { realm, scope, by, .. }: &AuthConfig) -> Result<Failure, String> {
    let (what, is_bearer) = match by {
        SchemeConfig::Bearer(_) | SchemeConfig::Jwt(_) => ("the token has not the scope that is needed", true),
        SchemeConfig::Key(_) => ("the key has not the scope that is needed", false),
        SchemeConfig::Basic(_) | SchemeConfig::Oidc(_) => ("the user has not the scope that is needed", false),
    };
    let (realm, scopes) = (quoted(realm)?, quoted(&scope.join(" "))?);
    let failure = Failure::new(StatusCode::FORBIDDEN, what);
    if !is_bearer {
        return Ok(failure);
    }
    let value = HeaderValue::from_str(&format!("Bearer realm={realm}, error=\"insufficient_scope\", scope={scopes}"));
    value.map(|value| failure.with(&WWW_AUTHENTICATE, value)).map_err(|_| "a scope cannot be sent".to_owned())
}

/// As a quoted string (RFC 9110 section 5.6.4).
fn quoted(text: &str) -> Result<String, String> {
    if !text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return Err(format!("{text:?} must be ASCII without control characters"));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

//! Authentication as an app has registered it. Secrets stand in it as hashes, or as the names of files, which the
//! server reads: what comes from R is what R knows.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which clients may pass.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AuthConfig {
    /// what is guarded, as clients are told
    pub realm: String,
    /// whether clients without credentials pass, too
    #[serde(default)]
    pub optional: bool,
    /// scopes that a client must have, all of them
    #[serde(default)]
    pub scope: Vec<String>,
    /// how they authenticate
    pub by: SchemeConfig,
}

/// How clients authenticate.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SchemeConfig {
    /// by name and password
    Basic(BasicConfig),
    /// by a token in `Authorization`
    Bearer(TokensConfig),
    /// by a key in a field of its own
    Key(KeyConfig),
    /// by a JSON Web Token in `Authorization`
    Jwt(JwtConfig),
    /// by a login at a provider, with a browser
    Oidc(Box<OidcConfig>),
}

impl SchemeConfig {
    /// What it was registered with.
    pub(super) fn function(&self) -> &'static str {
        match self {
            SchemeConfig::Basic(_) => "dr_auth_basic()",
            SchemeConfig::Bearer(_) => "dr_auth_bearer()",
            SchemeConfig::Key(_) => "dr_auth_key()",
            SchemeConfig::Jwt(_) => "dr_auth_jwt()",
            SchemeConfig::Oidc(_) => "dr_auth_oidc()",
        }
    }
}

/// What some may do, by their names.
pub type Scopes = BTreeMap<String, Vec<String>>;

/// Something that has a name.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct NamedConfig {
    /// whose it is
    pub name: String,
    /// a hash
    pub value: String,
}

/// Users and hashes of their passwords.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BasicConfig {
    /// here
    #[serde(default)]
    pub users: Vec<NamedConfig>,
    /// and in a file
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// scopes of users, by their names
    #[serde(default)]
    pub scopes: Scopes,
    /// wrong passwords that one address may send within a minute; `None` for any number
    #[serde(default)]
    pub max_failures: Option<f64>,
}

/// Tokens.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TokensConfig {
    /// or hashes of them
    #[serde(default)]
    pub tokens: Vec<NamedConfig>,
    /// in a file
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// scopes of those that have them, by their names
    #[serde(default)]
    pub scopes: Scopes,
}

/// Keys in a header field.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// in lower case
    pub header: String,
    /// the keys
    pub keys: TokensConfig,
}

/// A set of keys at an address.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct JwksConfig {
    /// over TLS, or of this machine
    pub url: String,
    /// the authorities that its server is trusted by; `None` for those of the system
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// seconds until it is fetched again
    pub refresh: f64,
}

/// JSON Web Tokens.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct JwtConfig {
    /// those that may be used
    pub algorithms: Vec<String>,
    /// files of keys
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// a shared secret
    #[serde(default)]
    pub secret: Option<String>,
    /// a set of keys at an address
    #[serde(default)]
    pub jwks: Option<JwksConfig>,
    /// accepted issuers of a token; if empty, any
    #[serde(default)]
    pub issuers: Vec<String>,
    /// accepted audiences; if empty, only tokens that name none
    #[serde(default)]
    pub audiences: Vec<String>,
    /// claims that it must have
    #[serde(default)]
    pub required: Vec<String>,
    /// seconds that clocks may differ by
    #[serde(default)]
    pub leeway: f64,
}

/// Logins at a provider of OpenID Connect.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// the provider's name, which is an address
    pub issuer: String,
    /// the server's name there
    pub client_id: String,
    /// its secret there, and before: the newest first
    #[serde(default)]
    pub secrets: Vec<String>,
    /// a file with one in each line
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// what is asked for besides who it is
    #[serde(default)]
    pub scopes: Vec<String>,
    /// those that tokens may be signed by
    pub algorithms: Vec<String>,
    /// below this path logins begin, come back, and end
    pub path: String,
    /// where browsers find this server; `None` for what their requests say
    #[serde(default)]
    pub origin: Option<String>,
    /// where a logout leads
    pub after_logout: String,
    /// of the cookie
    pub name: String,
    /// how long a login lasts, in seconds
    pub max_age: f64,
    /// whether the cookie is sent over TLS only
    pub secure: bool,
    /// the claims that are kept; `None` for all that are of use
    #[serde(default)]
    pub claims: Option<Vec<String>>,
    /// whether the provider is asked for more about users than tokens say
    #[serde(default)]
    pub userinfo: bool,
    /// seconds that clocks may differ by
    #[serde(default)]
    pub leeway: f64,
    /// seconds until the keys are fetched again
    pub refresh: f64,
    /// the authorities that the provider is trusted by; `None` for those of the system
    #[serde(default)]
    pub ca: Option<PathBuf>,
}

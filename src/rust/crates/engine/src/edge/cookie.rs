//! Cookies: what a client sends, and the fields that have it keep one that the server has sealed (`session`,
//! `auth/oidc`). What is sealed, and how, is told in `identity`.

use http::header::COOKIE;
use httpd::Head;
use serde::{Deserialize, Serialize};

/// The first cookie of a name.
pub fn sent<'h>(head: &'h Head, name: &str) -> Option<&'h [u8]> {
    head.fields
        .all(&COOKIE)
        .flat_map(|value| value.split(|&b| b == b';'))
        .find_map(|pair| pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"="))
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

/// A cookie that scripts of a page cannot read.
#[derive(Debug)]
pub struct Cookie {
    name: String,
    /// whether clients keep it for the whole host only
    is_of_host: bool,
    /// what follows `Path`
    attributes: String,
}

/// What names of cookies begin with that clients keep with `Path=/` only (RFC 6265bis section 4.1.3.2).
const OF_HOST: &[u8] = b"__Host-";

impl Cookie {
    /// Of this name; sent over TLS only if it is `secure`.
    pub fn new(name: String, secure: bool, same_site: SameSite) -> Self {
        let secure = if secure { "; Secure" } else { "" };
        let is_of_host = name.as_bytes().get(..OF_HOST.len()).is_some_and(|start| start.eq_ignore_ascii_case(OF_HOST));
        Cookie { name, is_of_host, attributes: format!("{secure}; HttpOnly; SameSite={same_site:?}") }
    }

    /// What a client has sent back.
    pub fn sent<'h>(&self, head: &'h Head) -> Option<&'h [u8]> {
        sent(head, &self.name)
    }

    /// The field that has a client keep this value for so many seconds, for what is below a base path.
    pub fn kept(&self, value: &str, lasts: u64, base_path: &str) -> String {
        let path = if base_path.is_empty() || self.is_of_host { "/" } else { base_path };
        format!("{}={value}; Max-Age={lasts}; Path={path}{}", self.name, self.attributes)
    }

    /// The field that takes it away.
    pub fn ended(&self, base_path: &str) -> String {
        self.kept("", 0, base_path)
    }
}

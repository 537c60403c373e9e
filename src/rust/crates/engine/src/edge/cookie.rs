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
    /// what follows `Max-Age`
    attributes: String,
}

impl Cookie {
    /// Of this name; sent over TLS only if it is `secure`.
    pub fn new(name: String, secure: bool, same_site: SameSite) -> Self {
        let secure = if secure { "; Secure" } else { "" };
        Cookie { name, attributes: format!("; Path=/{secure}; HttpOnly; SameSite={same_site:?}") }
    }

    /// What a client has sent back.
    pub fn sent<'h>(&self, head: &'h Head) -> Option<&'h [u8]> {
        sent(head, &self.name)
    }

    /// The field that has a client keep this value for so many seconds.
    pub fn kept(&self, value: &str, lasts: u64) -> String {
        format!("{}={value}; Max-Age={lasts}{}", self.name, self.attributes)
    }

    /// The field that takes it away.
    pub fn ended(&self) -> String {
        self.kept("", 0)
    }
}

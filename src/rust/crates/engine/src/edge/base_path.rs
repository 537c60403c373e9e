//! The path that the app is below: what stands before its own paths in addresses of clients. Part of it a proxy passes
//! on, which is taken off here (`base_path`); another part it may have taken off itself, and says so in a field
//! (`base_path_field`), which is read if the proxy is trusted.
//!
//! Everything behind this knows paths as the app has them, and asks the head for the base path where a path is for
//! clients: cookies, redirects, descriptions. Not for the admin address, which has nothing of the app. Neighbours:
//! `httpd::Head`, which keeps it, and `pipeline`, which asks here first.

use crate::respond::text;
use grammar::bytes::alphanumeric_or;
use http::header::LOCATION;
use http::{HeaderName, StatusCode};
use httpd::{Connection, Head, Response, Role};

/// Longest one, in bytes: it is in each cookie and redirect.
const LONGEST: usize = 255;

/// `unreserved` (RFC 3986 section 2.3). Nothing that is written in two ways, nor ends a cookie's attribute.
const PLAIN: [bool; 256] = alphanumeric_or(b"-._~");

/// See the module.
#[derive(Debug, Default)]
pub struct BasePath {
    /// what proxies leave in the path; empty when that is nothing
    kept: String,
    /// whether upper and lower case are told apart
    case_sensitive: bool,
    /// where proxies say what they have taken off
    field: Option<HeaderName>,
}

impl BasePath {
    /// The sound path that proxies leave, and the field in which they say what they have taken off.
    ///
    /// # Errors
    /// A text that says what would be right for the field.
    pub fn new(kept: &str, field: Option<&str>, case_sensitive: bool) -> Result<Self, String> {
        let wrong = |name| format!("must be the name of a field, such as X-Forwarded-Prefix, not '{name}'");
        let field = field.map(|name| HeaderName::try_from(name).map_err(|_| wrong(name))).transpose()?;
        Ok(BasePath { kept: kept.to_owned(), case_sensitive, field })
    }

    /// What of it is in the paths of requests.
    pub fn kept(&self) -> &str {
        &self.kept
    }

    /// Takes it off the path of a request. Whether the request is for something below it.
    pub fn take(&self, head: &mut Head, connection: &Connection) -> bool {
        if connection.role() != Role::App || (self.kept.is_empty() && self.field.is_none()) {
            return true;
        }
        let said = self.field.as_ref().filter(|_| connection.is_of_proxy()).and_then(|field| said(head, field));
        let base = format!("{}{}", said.unwrap_or_default(), self.kept);
        let Some(len) = self.len_in(head.path()) else { return false };
        head.set_base_path(&base, len);
        true
    }

    /// Whether the path of a request is below it.
    pub fn has(&self, head: &Head) -> bool {
        self.len_in(head.path()).is_some()
    }

    /// How many bytes of a path, as it was sent, it is; `None` when the path is not below it.
    fn len_in(&self, path: &str) -> Option<usize> {
        let path = path.as_bytes();
        let mut at = 0;
        for &wanted in self.kept.as_bytes() {
            let (byte, len) = match path.get(at..)? {
                // a slash that is escaped is no slash to the router either
                [b'%', high, low, ..] if wanted != b'/' => {
                    let digits = [*high, *low];
                    (u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?, 3)
                }
                [byte, ..] => (*byte, 1),
                [] => return None,
            };
            if byte != wanted && (self.case_sensitive || !byte.eq_ignore_ascii_case(&wanted)) {
                return None;
            }
            at += len;
        }
        matches!(path.get(at), None | Some(b'/')).then_some(at)
    }

    /// Where a request for the base path itself, without a slash at its end, has to go: links of a page would be off by
    /// one segment. The way there is relative: right wherever a proxy has put the server.
    pub fn redirect(&self, head: &Head) -> Option<Response> {
        if self.kept.is_empty() || !head.path().is_empty() {
            return None;
        }
        let last = self.kept.rsplit('/').next()?;
        let mut response = text(StatusCode::TEMPORARY_REDIRECT, "");
        response.fields.set(&LOCATION, format!("./{last}/{}", head.target().trim_start_matches('/')));
        Some(response)
    }
}

/// What a trusted proxy has taken off; `None` when it says nothing, or what cannot be, or when it is said twice: one of
/// the two may be a client's.
fn said<'h>(head: &'h Head, field: &HeaderName) -> Option<&'h str> {
    let mut all = head.fields.all(field);
    let value = all.next().filter(|_| all.next().is_none())?;
    let value = std::str::from_utf8(value).ok()?;
    let after_scheme = ["https://", "http://"].iter().find_map(|scheme| value.strip_prefix(scheme));
    read(match after_scheme {
        // some proxies say all of the address
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => value,
    })
}

/// A base path without a slash at its end; `None` for what is none. Empty for one that is a slash, or nothing.
pub fn read(text: &str) -> Option<&str> {
    let path = text.strip_suffix('/').unwrap_or(text);
    if path.is_empty() {
        return Some(path);
    }
    let is_plain =
        |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(|byte| PLAIN[byte as usize]);
    let is_sound = path.len() <= LONGEST && path.strip_prefix('/')?.split('/').all(is_plain);
    is_sound.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_is_plain() {
        for (text, path) in [("/app", "/app"), ("/app/", "/app"), ("/a/b-c.d_e~f", "/a/b-c.d_e~f"), ("/", ""), ("", "")]
        {
            assert_eq!(read(text), Some(path), "{text}");
        }
        let long = format!("/{}", "a".repeat(LONGEST));
        for wrong in [
            "app",
            "//",
            "//evil",
            "/a//b",
            "/a/../b",
            "/..",
            "/./",
            "/a%2fb",
            "/a b",
            "/a;b",
            "/a\r\nb",
            "/ä",
            "/a,/b",
            "/a?b",
            "/a#b",
            "/a\\b",
            &long,
            "https://evil",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert!(read(&long[..LONGEST]).is_some());
    }

    #[test]
    fn it_is_found_as_the_router_would_find_it() {
        let base = |case_sensitive| BasePath { kept: "/app/v1".to_owned(), case_sensitive, field: None };
        for (path, len) in [
            ("/app/v1", Some(7)),
            ("/app/v1/", Some(7)),
            ("/app/v1//x", Some(7)),
            ("/%61pp/v%31/x", Some(11)),
            ("/app/v10", None),
            ("/app", None),
            ("/", None),
            ("", None),
            ("*", None),
            ("//app/v1", None),
            ("/app%2fv1/x", None),
            ("/app/v1%2fx", None),
            ("/x/../app/v1", None),
            ("/app/v%3", None),
            ("/app/v%zz", None),
            ("/app/v%+1", None),
        ] {
            assert_eq!(base(true).len_in(path), len, "{path}");
        }
        assert_eq!((base(false).len_in("/APP/v1/x"), base(true).len_in("/APP/v1/x")), (Some(7), None));
    }
}

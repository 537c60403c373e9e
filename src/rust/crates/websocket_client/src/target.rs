//! What R asks for: where to connect to, and how.

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::path::PathBuf;
use std::time::Duration;

/// Header fields that are not for the app to set.
const OWN: [&str; 9] = [
    "host",
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "content-length",
    "transfer-encoding",
];

/// A server, and what is asked for there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// whether it is reached over TLS
    pub is_secure: bool,
    /// a name, or an address without brackets
    pub host: String,
    /// its port
    pub port: u16,
    /// as in the field Host
    pub authority: String,
    /// path and query
    pub path: String,
}

impl Target {
    /// Of a URL such as `wss://host:port/path?query`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(url: &str) -> Result<Target, String> {
        let (address, fragment) = url.split_once('#').map_or((url, None), |(url, rest)| (url, Some(rest)));
        if fragment.is_some() {
            return Err("a URL without a fragment (`#...`), which no server is ever sent".to_owned());
        }
        let uri: Uri = address.parse().map_err(|_| wanted())?;
        let is_secure = match uri.scheme_str().map(str::to_ascii_lowercase).as_deref() {
            Some("ws") => false,
            Some("wss") => true,
            _ => return Err(wanted()),
        };
        let authority = uri.authority().ok_or_else(wanted)?;
        if authority.as_str().contains('@') {
            return Err("a URL without a password: give that in `headers`, as `Authorization`".to_owned());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(wanted());
        }
        let port = match (authority.port(), authority.as_str().strip_suffix(authority.host())) {
            (Some(port), _) => port.as_u16(),
            (None, Some(_)) => {
                if is_secure {
                    443
                } else {
                    80
                }
            }
            // something that is no port
            (None, None) => return Err(wanted()),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Target { is_secure, host, port, authority: authority.as_str().to_owned(), path })
    }
}

fn wanted() -> String {
    "a URL such as \"ws://127.0.0.1:8080/chat\" or \"wss://example.com/feed\"".to_owned()
}

/// How to connect, and what may come.
#[derive(Debug, Clone)]
pub struct Options {
    /// where to
    pub target: Target,
    /// further header fields
    pub headers: HeaderMap,
    /// sub-protocols, the preferred one first
    pub protocols: Vec<String>,
    /// whether messages are compressed, if the server can
    pub deflate: bool,
    /// for the connection and its handshake
    pub timeout: Duration,
    /// longest message in bytes, also when it is unpacked
    pub max_message: usize,
    /// a server that has said nothing for so long is asked whether it is there, and given up after as long again
    pub ping_interval: Option<Duration>,
    /// how long to wait before it is tried again, at first and at most
    pub reconnect: Option<[Duration; 2]>,
    /// certificates of authorities to trust, instead of the system's
    pub ca: Option<PathBuf>,
}

/// Header fields of names and values.
///
/// # Errors
/// What is wrong with one.
pub fn headers<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        let field = HeaderName::try_from(name).map_err(|_| format!("names of header fields, not \"{name}\""))?;
        if OWN.contains(&field.as_str()) {
            return Err(format!("fields other than `{name}`, which is set by dr_ws_connect() itself"));
        }
        let value =
            HeaderValue::try_from(value).map_err(|_| format!("text without control characters, in `{name}`"))?;
        map.append(field, value);
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_where_to() {
        let read = |url| {
            let Target { is_secure, host, port, authority, path } = Target::read(url).unwrap();
            (is_secure, host, port, authority, path)
        };
        let all = |s: bool, h: &str, p, a: &str, path: &str| (s, h.to_owned(), p, a.to_owned(), path.to_owned());
        assert_eq!(read("ws://127.0.0.1:8080/a/b?c=d"), all(false, "127.0.0.1", 8080, "127.0.0.1:8080", "/a/b?c=d"));
        assert_eq!(read("wss://example.com"), all(true, "example.com", 443, "example.com", "/"));
        assert_eq!(read("WS://[::1]:9/"), all(false, "::1", 9, "[::1]:9", "/"));
        assert_eq!(read("ws://h?x"), all(false, "h", 80, "h", "/?x"));
    }

    #[test]
    fn what_is_no_url_is_refused() {
        let bad = [
            "",
            "h",
            "http://h/",
            "ws:/h",
            "ws://",
            "ws://h:x/",
            "ws://h:99999/",
            "ws://a b/",
            "ws://u:p@h/",
            "ws://h/#x",
        ];
        for url in bad {
            assert!(Target::read(url).is_err(), "{url}");
        }
    }

    #[test]
    fn fields_of_the_handshake_are_not_for_apps() {
        assert_eq!(headers([("X-Key", "1"), ("x-key", "é")].into_iter()).unwrap().len(), 2);
        for (name, value) in [("Host", "h"), ("sec-websocket-key", "k"), ("a b", "c"), ("X", "a\nb"), ("", "x")] {
            assert!(headers([(name, value)].into_iter()).is_err(), "{name}");
        }
    }
}

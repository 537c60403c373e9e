//! Origins of pages (RFC 6454), as an app lists them: those that may read its responses, and those that may send it
//! forms. Not for WebSockets, whose handshake (`httpd/src/ws`) has a rule of its own.

use http::header::ORIGIN;
use httpd::Head;

/// The origins of a list. Scheme and host are compared without regard to case; a port that is the scheme's own may be
/// written or not.
#[derive(Debug, Default)]
pub struct Origins {
    /// `*`
    any: bool,
    /// `null`, the origin of pages that have none, such as files and sandboxed frames
    null: bool,
    /// in lower case
    exact: Vec<String>,
    /// of `https://*.example.org`: `https://` and `.example.org`, in lower case
    below: Vec<(String, String)>,
}

/// Ports that browsers leave out.
const USUAL_PORTS: [(&str, &str); 2] = [("http://", ":80"), ("https://", ":443")];

impl Origins {
    /// Reads a list.
    ///
    /// # Errors
    /// A text that names the first that is no origin.
    pub fn new(texts: &[String]) -> Result<Self, String> {
        let mut origins = Origins::default();
        for text in texts {
            match text.as_str() {
                "*" => origins.any = true,
                "null" => origins.null = true,
                text => origins.add(text).ok_or_else(|| format!("{text:?} is no origin"))?,
            }
        }
        Ok(origins)
    }

    fn add(&mut self, text: &str) -> Option<()> {
        let text = text.to_ascii_lowercase();
        let (scheme, host) = text.split_at(text.find("://")? + 3);
        let usual = USUAL_PORTS.iter().find(|(of, _)| *of == scheme).map(|(_, port)| *port);
        let host = usual.and_then(|port| host.strip_suffix(port)).unwrap_or(host);
        let (suffix, is_below) = match host.strip_prefix('*') {
            Some(suffix) => (suffix, true),
            None => (host, false),
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        if suffix.is_empty() || (is_below && !suffix.starts_with('.')) || !suffix.chars().all(is_host) {
            return None;
        }
        if is_below {
            self.below.push((scheme.to_owned(), suffix.to_owned()));
        } else {
            self.exact.push(format!("{scheme}{host}"));
        }
        Some(())
    }

    /// Whether it has all origins.
    pub fn is_any(&self) -> bool {
        self.any
    }

    /// Whether it has this one, as a client sends it.
    pub fn has(&self, origin: &[u8]) -> bool {
        if origin == b"null" {
            return self.any || self.null;
        }
        let same = |one: &String| one.as_bytes().eq_ignore_ascii_case(origin);
        self.any
            || self.exact.iter().any(same)
            || self
                .below
                .iter()
                .any(|(scheme, suffix)| labels(origin, scheme.as_bytes(), suffix.as_bytes()).is_some_and(are_labels))
    }
}

/// What stands between `scheme` and `suffix`.
fn labels<'o>(origin: &'o [u8], scheme: &[u8], suffix: &[u8]) -> Option<&'o [u8]> {
    let (start, rest) = origin.split_at_checked(scheme.len())?;
    let (labels, end) = rest.split_at_checked(rest.len().checked_sub(suffix.len())?)?;
    (start.eq_ignore_ascii_case(scheme) && end.eq_ignore_ascii_case(suffix)).then_some(labels)
}

/// Whether it is a part of the name of a host, and nothing else: no port, no address, no name and password.
fn are_labels(text: &[u8]) -> bool {
    let is_label =
        |label: &[u8]| !label.is_empty() && label.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    text.split(|&b| b == b'.').all(is_label)
}

/// The origin that a request comes from. `None` when it names none, or several, which no browser does.
pub fn origin_of(head: &Head) -> Option<&[u8]> {
    let mut named = head.fields.all(&ORIGIN);
    named.next().filter(|_| named.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(texts: &str) -> Origins {
        Origins::new(&texts.split_whitespace().map(String::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn origins_are_exact_but_for_case_and_usual_ports() {
        let list = origins("https://App.example http://localhost:3000 https://b.example:443 http://[::1]:80");
        for one in
            ["https://app.example", "HTTPS://APP.EXAMPLE", "http://localhost:3000", "https://b.example", "http://[::1]"]
        {
            assert!(list.has(one.as_bytes()), "{one}");
        }
        for one in [
            "http://app.example",
            "https://app.example:8443",
            "https://app.example.evil.example",
            "https://evil-app.example",
            "https://app.example/",
            "https://app.exampl",
            "http://localhost:30000",
            "http://localhost",
            "null",
            "",
            "*",
        ] {
            assert!(!list.has(one.as_bytes()), "{one}");
        }
    }

    #[test]
    fn a_wildcard_stands_for_sub_domains_only() {
        let list = origins("https://*.example.org http://*.dev.example:8080");
        for one in ["https://a.example.org", "https://A.b.Example.org", "http://x.dev.example:8080"] {
            assert!(list.has(one.as_bytes()), "{one}");
        }
        for one in [
            "https://example.org",
            "https://.example.org",
            "https://a..example.org",
            "http://a.example.org",
            "https://evil.example/.example.org",
            "https://evil.example:1.example.org",
            "https://user@x.example.org",
            "https://evil.example#.example.org",
            "https://evil.example\\.example.org",
            "https://aexample.org",
            "https://a.example.org.evil.example",
            "https://a.example.org:444",
            "http://x.dev.example",
        ] {
            assert!(!list.has(one.as_bytes()), "{one}");
        }
    }

    #[test]
    fn null_has_to_be_named() {
        assert!(origins("null").has(b"null") && origins("*").has(b"null"));
        assert!(!origins("https://null").has(b"null") && !origins("null").has(b"NULL"));
    }

    #[test]
    fn what_is_no_origin_is_named() {
        for wrong in
            ["example.org", "https://", "https://*", "https://*example.org", "https://a.*.org", "https://a/b", ""]
        {
            let error = Origins::new(&[wrong.to_owned()]).unwrap_err();
            assert_eq!(error, format!("{wrong:?} is no origin"));
        }
    }
}

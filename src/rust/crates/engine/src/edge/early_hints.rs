//! Which clients are told of links ahead of a response (`103`, RFC 8297). Neighbours: `pipeline/run.rs`, which has
//! links to tell; `httpd`, which writes them.

use http::Method;
use httpd::{is_forwarded, Head, Version};

/// Whether the client of this request is. Every client of HTTP/2 can be. Of HTTP/1.1, some take a `103` for the final
/// response, Python's `http.client` among them, and so do proxies, nginx before 1.29: so it is only for browsers that
/// open a page, and have no proxy in between. HTTP/1.0 has no such responses (RFC 9110 section 15.2). Nothing is shown
/// of an answer to `HEAD`.
pub fn takes(head: &Head) -> bool {
    head.method != Method::HEAD
        && match head.version {
            Version::Http10 => false,
            Version::Http11 => {
                head.fields.named(b"sec-fetch-mode").any(|mode| mode == b"navigate") && !is_forwarded(&head.fields)
            }
            Version::Http2 => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn tells(version: Version, method: Method, fields: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut head = Head::from_http2(&request.body(()).unwrap().into_parts().0);
        head.version = version;
        takes(&head)
    }

    #[test]
    fn clients_are_told_that_know_of_it() {
        let navigates = ("sec-fetch-mode", "navigate");
        assert!(tells(Version::Http2, Method::GET, &[]));
        assert!(tells(Version::Http2, Method::POST, &[("via", "1.1 a")]));
        assert!(!tells(Version::Http2, Method::HEAD, &[navigates]));
        assert!(tells(Version::Http11, Method::GET, &[navigates]));
        assert!(tells(Version::Http11, Method::POST, &[navigates]));
        assert!(!tells(Version::Http11, Method::GET, &[]));
        assert!(!tells(Version::Http11, Method::GET, &[("sec-fetch-mode", "cors")]));
        assert!(!tells(Version::Http11, Method::HEAD, &[navigates]));
        for proxy in ["via", "forwarded", "x-forwarded-for"] {
            assert!(!tells(Version::Http11, Method::GET, &[navigates, (proxy, "1.1 a")]), "{proxy}");
        }
        assert!(!tells(Version::Http10, Method::GET, &[navigates]));
    }
}

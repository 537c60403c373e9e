//! What a handler may put into the head of a response. The sender checks it again; here a handler gets the error at
//! once.

use grammar::bytes::{is_token, is_value};
use std::borrow::Cow;
use std::ffi::c_int;

/// Longest body or piece in bytes. A length above it is garbage rather than a response.
pub const LONGEST_BODY: usize = 1 << 30;

/// Content types that nearly every response has: these are not copied.
const USUAL: [&[u8]; 12] = [
    b"text/plain",
    b"text/plain; charset=utf-8",
    b"application/json",
    b"text/html",
    b"text/html; charset=utf-8",
    b"application/octet-stream",
    b"text/event-stream",
    b"application/x-ndjson",
    b"text/csv",
    b"application/xml",
    b"image/png",
    b"image/jpeg",
];

/// The content type of a body for which none was given.
pub const OCTETS: Cow<'static, [u8]> = Cow::Borrowed(b"application/octet-stream");

/// Fields that are the server's to set: framing and the connection (RFC 9110, section 7.6.1; RFC 9113, section 8.2.2),
/// and the content type, which handlers give in another way.
const NOT_THEIRS: [&[u8]; 10] = [
    b"content-length",
    b"content-type",
    b"transfer-encoding",
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"upgrade",
    b"te",
    b"trailer",
    b"http2-settings",
];

/// A final status, as a number.
pub fn status(status: c_int) -> Option<u16> {
    u16::try_from(status).ok().filter(|status| (200..=599).contains(status))
}

/// A content type; `None` when it cannot be one.
pub fn content_type(text: &[u8]) -> Option<Cow<'static, [u8]>> {
    if let Some(usual) = USUAL.iter().find(|usual| **usual == text) {
        return Some(Cow::Borrowed(usual));
    }
    is_value(text).then(|| Cow::Owned(text.to_vec()))
}

/// Whether it is a field that a handler may set.
pub fn is_field(name: &[u8], value: &[u8]) -> bool {
    is_token(name) && is_value(value) && !NOT_THEIRS.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_statuses_only() {
        for (given, is) in
            [(200, true), (599, true), (199, false), (101, false), (600, false), (-1, false), (65736, false)]
        {
            assert_eq!(status(given).is_some(), is, "{given}");
        }
    }

    #[test]
    fn nothing_splits_a_response() {
        assert!(matches!(content_type(b"application/json"), Some(Cow::Borrowed(_))));
        assert!(matches!(content_type("text/x; n=\u{e9}".as_bytes()), Some(Cow::Owned(_))));
        assert_eq!(content_type(b"text/plain\r\nx: y"), None);
        assert!(is_field(b"X-A", b"a\tb \xff") && is_field(b"set-cookie", b""));
        for (name, value) in
            [(&b"x"[..], &b"a\nb"[..]), (b"x y", b""), (b"", b""), (b"x", b"\0"), (b"x:", b""), (b"x", b"\x7f")]
        {
            assert!(!is_field(name, value), "{name:?}: {value:?}");
        }
        assert!(!is_field(b"Content-Length", b"1") && !is_field(b"CONNECTION", b"close"));
    }
}

//! Fields behind a body (RFC 9110 section 6.5), as text: `name: value CRLF` for each.

use crate::bytes::{is_token, is_value};

/// Longest text of them in bytes: as long as those of a request may be.
pub const LONGEST: usize = 4 << 10;

/// Fields that a recipient needs before the body: for its framing, routing, authentication, and for what to do with it
/// (RFC 9110 section 6.5.1); and those of the connection.
const BEFORE_THE_BODY: [&str; 30] = [
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "expect",
    "expires",
    "host",
    "http2-settings",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
];

/// Names and values. A line that is no field that may stand behind a body comes as an error: its name.
pub fn fields(text: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), &[u8]>> {
    text.split_inclusive(|&b| b == b'\n').map(|line| {
        let colon = line.iter().position(|&b| b == b':').unwrap_or(line.len());
        let (name, rest) = line.split_at(colon);
        let value = rest.strip_prefix(b": ").and_then(|rest| rest.strip_suffix(b"\r\n"));
        let is_early = BEFORE_THE_BODY.iter().any(|early| name.eq_ignore_ascii_case(early.as_bytes()));
        value.filter(|value| is_token(name) && !is_early && is_value(value)).map(|value| (name, value)).ok_or(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_before_the_body_is_no_trailer() {
        let all = |text: &'static [u8]| fields(text).collect::<Result<Vec<_>, _>>();
        assert_eq!(all(b""), Ok(vec![]));
        assert_eq!(all(b"A: 1\r\nb-c: x: y\r\n"), Ok(vec![(&b"A"[..], &b"1"[..]), (b"b-c", b"x: y")]));
        assert_eq!(all(b"A: 1\r\nSet-Cookie: a=b\r\n"), Err(&b"Set-Cookie"[..]));
        for text in [&b"a"[..], b"a: 1", b"a: 1\n", b"a:1\r\n", b": 1\r\n", b"a b: 1\r\n", b"a: \0\r\n", b"\r\n"] {
            assert!(all(text).is_err(), "{text:?}");
        }
    }
}

//! `Cookie` header values to name/value pairs (RFC 6265, sections 4.2.1 and 5.4).
//!
//! Not for `Set-Cookie`, which the R layer writes. Values are not percent-decoded: the RFC gives them no
//! encoding, so whoever set a cookie gets back the bytes it set.

use crate::error::FieldError;
use crate::{text, Pair};

/// Reads the values of a request's `Cookie` fields; HTTP/2 may send several, which count as one list.
///
/// Pairs in the order sent, repeats kept, one pair of surrounding double quotes taken off the value. A pair that
/// is not `token=value`, is not UTF-8, or holds control characters is skipped rather than refused: one broken
/// cookie, which the user may not be able to remove, must not lock them out.
///
/// # Errors
/// More than `max_fields` valid pairs.
pub fn parse<'a>(values: impl IntoIterator<Item = &'a [u8]>, max_fields: usize) -> Result<Vec<Pair<'a>>, FieldError> {
    let mut cookies = Vec::new();
    for value in values {
        for (name, value) in value.split(|byte| *byte == b';').filter_map(pair) {
            if cookies.len() == max_fields {
                return Err(FieldError::too_many(format!(
                    "the request has more than {max_fields} cookies (`max_fields`)"
                )));
            }
            cookies.push((name.into(), value.into()));
        }
    }
    Ok(cookies)
}

fn pair(raw: &[u8]) -> Option<(&str, &str)> {
    let at = memchr::memchr(b'=', raw)?;
    let (name, value) = (raw[..at].trim_ascii(), raw[at + 1..].trim_ascii());
    if !grammar::bytes::is_token(name) {
        return None;
    }
    let value = value.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(value);
    if value.iter().any(u8::is_ascii_control) {
        return None;
    }
    Some((text::checked(name, "cookie").ok()?, text::checked(value, "cookie").ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(values: &[&[u8]]) -> Vec<(String, String)> {
        let cookies = parse(values.iter().copied(), 100).unwrap();
        cookies.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn pairs_quotes_and_repeats() {
        assert_eq!(read(&[b"a=1; b=\"two\";a=3"]), owned(&[("a", "1"), ("b", "two"), ("a", "3")]));
        assert_eq!(read(&[b"a=1", b"b=2"]), owned(&[("a", "1"), ("b", "2")]));
        assert_eq!(read(&[b"a=; b=x=y"]), owned(&[("a", ""), ("b", "x=y")]));
        assert_eq!(read(&[b"a=\""]), owned(&[("a", "\"")]));
        assert_eq!(read(&["é=1; n=é".as_bytes()]), owned(&[("n", "é")]));
        assert_eq!(read(&[b"a=%20"]), owned(&[("a", "%20")]));
    }

    #[test]
    fn invalid_pairs_are_skipped() {
        assert_eq!(read(&[b"; ;a;=x;b c=1;d=\x01;e=\xff;ok=1"]), owned(&[("ok", "1")]));
    }

    #[test]
    fn the_number_is_bounded() {
        assert!(parse([&b"a=1;b=2"[..]], 2).is_ok());
        assert_eq!(parse([&b"a=1;b=2"[..], b"c=3"], 2).unwrap_err().status(), 400);
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse([&raw[..]], 5);
        }

        #[test]
        fn pairs_come_back(pairs in proptest::collection::vec(("[a-zA-Z0-9_.!-]{1,9}", "[!#-+\\--:<-\\[\\]-~]{0,9}"), 0..9)) {
            let raw = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
            prop_assert_eq!(read(&[raw.as_bytes()]), pairs);
        }
    }
}

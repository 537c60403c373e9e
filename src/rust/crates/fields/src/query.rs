//! Query strings and urlencoded forms: one format, `application/x-www-form-urlencoded` (WHATWG URL, section 5.1).
//!
//! Not for splitting the query from the target (the engine does) nor for multipart forms (`multipart`).

use crate::error::FieldError;
use crate::{text, Pair};

/// Reads a query: the bytes after `?`, without it.
///
/// Pairs in the order sent, repeated names kept. `+` is a space, percent-escapes are decoded once; `a` and `a=`
/// have an empty value; empty pairs (`&&`) are skipped. Only `&` separates.
///
/// # Errors
/// More than `max_fields` pairs, a malformed percent-escape, invalid UTF-8, or a NUL byte.
pub fn parse(raw: &[u8], max_fields: usize) -> Result<Vec<Pair<'_>>, FieldError> {
    pairs(raw, max_fields, "query")
}

/// Reads an urlencoded body, by the rules of [`parse`]. Errors say "form" instead of "query".
///
/// # Errors
/// As [`parse`].
pub fn parse_form(raw: &[u8], max_fields: usize) -> Result<Vec<Pair<'_>>, FieldError> {
    pairs(raw, max_fields, "form")
}

fn pairs<'a>(raw: &'a [u8], max_fields: usize, what: &str) -> Result<Vec<Pair<'a>>, FieldError> {
    let mut fields = Vec::new();
    for pair in raw.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        // before the work on the pair, so that the bound also bounds the time
        if fields.len() == max_fields {
            return Err(FieldError::too_many(format!("the {what} has more than {max_fields} fields (`max_fields`)")));
        }
        let (name, value) = match memchr::memchr(b'=', pair) {
            Some(at) => (&pair[..at], &pair[at + 1..]),
            None => (pair, &[][..]),
        };
        fields.push((text::decode(name, true, what)?, text::decode(value, true, what)?));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FieldErrorKind;
    use proptest::prelude::*;
    use std::borrow::Cow;

    fn read(raw: &str) -> Vec<(String, String)> {
        let fields = parse(raw.as_bytes(), 100).unwrap();
        fields.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    fn kind(raw: &[u8]) -> FieldErrorKind {
        parse(raw, 3).unwrap_err().kind()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn pairs_keep_their_order_and_repeats() {
        assert_eq!(read("b=2&a=1&b=3"), owned(&[("b", "2"), ("a", "1"), ("b", "3")]));
    }

    #[test]
    fn empty_values_and_pairs() {
        assert_eq!(read(""), vec![]);
        assert_eq!(read("&&"), vec![]);
        assert_eq!(read("a&b=&=c&="), owned(&[("a", ""), ("b", ""), ("", "c"), ("", "")]));
        assert_eq!(read("a=b=c"), owned(&[("a", "b=c")]));
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(read("a+b=c%20d%2Be"), owned(&[("a b", "c d+e")]));
        assert_eq!(read("x=%2520"), owned(&[("x", "%20")]));
        assert_eq!(read("%c3%A9=%E2%82%AC"), owned(&[("é", "€")]));
        assert_eq!(read("a%26b=%3d"), owned(&[("a&b", "=")]));
    }

    #[test]
    fn plain_text_is_borrowed() {
        let fields = parse(b"name=value", 1).unwrap();
        assert!(matches!(fields[0], (Cow::Borrowed("name"), Cow::Borrowed("value"))));
    }

    #[test]
    fn faults_are_named() {
        for raw in ["%", "a=%", "a=%2", "a=%zz", "a=%+1", "%4=x"] {
            assert_eq!(kind(raw.as_bytes()), FieldErrorKind::Malformed, "{raw}");
        }
        for raw in [&b"a=%00"[..], b"a=\0", b"a=\xff", b"a=%ff", b"%C3=1", b"a=%ED%A0%80"] {
            assert_eq!(kind(raw), FieldErrorKind::NotText, "{raw:?}");
        }
        assert_eq!(kind(b"a&b&c&d"), FieldErrorKind::TooMany);
        assert!(parse(b"a&b&c&&", 3).is_ok());
        assert!(parse_form(b"%", 1).unwrap_err().message().contains("form"));
    }

    fn escape(text: &str) -> String {
        text.bytes().map(|byte| format!("%{byte:02X}")).collect()
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&raw, 10);
        }

        #[test]
        fn escaped_pairs_come_back(pairs in proptest::collection::vec(("[^\0]{1,12}", "[^\0]{0,12}"), 0..20)) {
            let raw = pairs.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
            prop_assert_eq!(read(&raw.collect::<Vec<_>>().join("&")), pairs);
        }
    }
}

//! Percent-escapes (RFC 3986 section 2.1), decoded once and strictly.
//!
//! Unlike the WHATWG's rules for browsers, a `%` without two hexadecimal digits is an error: passed on as it is, it
//! would let two spellings of one value differ between the server and a proxy in front.

use std::borrow::Cow;

/// A `%` without two hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEscape;

/// Decodes every escape, and with `plus` each `+` to a space, as forms have it. Borrows when there is nothing to
/// decode. What comes of it may be any bytes.
///
/// # Errors
/// See [`BadEscape`].
pub fn decode(text: &[u8], plus: bool) -> Result<Cow<'_, [u8]>, BadEscape> {
    let first = if plus { memchr::memchr2(b'%', b'+', text) } else { memchr::memchr(b'%', text) };
    let Some(first) = first else { return Ok(Cow::Borrowed(text)) };
    let mut decoded = Vec::with_capacity(text.len());
    decoded.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'+' if plus => decoded.push(b' '),
            b'%' => {
                let [high, low, behind @ ..] = tail else { return Err(BadEscape) };
                decoded.push(hex(*high)? << 4 | hex(*low)?);
                rest = behind;
            }
            _ => decoded.push(*byte),
        }
    }
    Ok(Cow::Owned(decoded))
}

fn hex(digit: u8) -> Result<u8, BadEscape> {
    char::from(digit).to_digit(16).map(|value| value as u8).ok_or(BadEscape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_escapes_is_borrowed() {
        assert!(matches!(decode(b"/a+b", false), Ok(Cow::Borrowed(b"/a+b"))));
        assert!(matches!(decode(b"/ab", true), Ok(Cow::Borrowed(b"/ab"))));
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(*decode(b"a%20b%2Fc%2fd+", false).unwrap(), *b"a b/c/d+");
        assert_eq!(*decode(b"%2541", false).unwrap(), *b"%41");
        assert_eq!(*decode(b"+a%2Bb%00%ff+", true).unwrap(), *b" a+b\0\xff ");
    }

    #[test]
    fn mistakes_are_found() {
        for text in [&b"%"[..], b"a%4", b"%zz", b"%4g", b"%+1", "%\u{e9}".as_bytes(), b"%20%"] {
            assert_eq!(decode(text, false), Err(BadEscape), "{text:?}");
            assert_eq!(decode(text, true), Err(BadEscape), "{text:?}");
        }
    }
}

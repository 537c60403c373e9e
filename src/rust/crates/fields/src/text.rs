//! From request bytes to text that an R string can hold, and percent-decoding.
//!
//! Not for finding the pieces: `query`, `cookies` and `disposition` do that and hand single values to this.

use std::borrow::Cow;

use crate::error::{FieldError, FieldErrorKind};

/// `bytes` as text; `what` names the part of the request in the error ("query", "form field", ...).
pub(crate) fn checked<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, FieldError> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(what))?;
    if memchr::memchr(0, bytes).is_some() {
        return Err(nul(what));
    }
    Ok(text)
}

/// Decodes percent-escapes, once, and `+` to a space when `plus` is set. Borrows when there is nothing to decode.
///
/// Strict, unlike the WHATWG's rules for browsers: a `%` without two hexadecimal digits is an error, because
/// passing it on undecoded would let two spellings of one value differ between us and whatever is in front.
pub(crate) fn decode<'a>(raw: &'a [u8], plus: bool, what: &str) -> Result<Cow<'a, str>, FieldError> {
    let first = if plus { memchr::memchr2(b'%', b'+', raw) } else { memchr::memchr(b'%', raw) };
    let Some(first) = first else {
        return checked(raw, what).map(Cow::Borrowed);
    };
    let mut decoded = Vec::with_capacity(raw.len());
    decoded.extend_from_slice(&raw[..first]);
    let mut rest = &raw[first..];
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'+' if plus => decoded.push(b' '),
            b'%' => {
                let (Some(high), Some(low)) = (hex(tail.first()), hex(tail.get(1))) else {
                    return Err(FieldError::malformed(format!(
                        "malformed percent-escape in the {what}: % must be followed by two hexadecimal digits"
                    )));
                };
                decoded.push(high << 4 | low);
                rest = &tail[2..];
            }
            _ => decoded.push(*byte),
        }
    }
    let text = String::from_utf8(decoded).map_err(|_| not_utf8(what))?;
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(nul(what));
    }
    Ok(Cow::Owned(text))
}

fn hex(digit: Option<&u8>) -> Option<u8> {
    char::from(*digit?).to_digit(16).map(|value| value as u8)
}

fn not_utf8(what: &str) -> FieldError {
    FieldError::new(FieldErrorKind::NotText, format!("the {what} is not valid UTF-8"))
}

fn nul(what: &str) -> FieldError {
    FieldError::new(FieldErrorKind::NotText, format!("the {what} has a NUL byte, which no R string can hold"))
}

//! From request bytes to text that an R string can hold, decoded.
//!
//! Not for finding the pieces: `query`, `cookies` and `disposition` do that and hand single values to this.

use std::borrow::Cow;

use crate::error::{FieldError, FieldErrorKind};
use grammar::percent::BadEscape;

/// `bytes` as text; `what` names the part of the request in the error ("query", "form field", ...).
pub(crate) fn checked<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, FieldError> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_utf8(what))?;
    if memchr::memchr(0, bytes).is_some() {
        return Err(nul(what));
    }
    Ok(text)
}

/// Decodes percent-escapes, once, and `+` to a space when `plus` is set. Borrows when there is nothing to decode.
pub(crate) fn decode<'a>(raw: &'a [u8], plus: bool, what: &str) -> Result<Cow<'a, str>, FieldError> {
    match grammar::percent::decode(raw, plus) {
        Err(BadEscape) => Err(FieldError::malformed(format!(
            "malformed percent-escape in the {what}: % must be followed by two hexadecimal digits"
        ))),
        Ok(Cow::Borrowed(raw)) => checked(raw, what).map(Cow::Borrowed),
        Ok(Cow::Owned(decoded)) => {
            let text = String::from_utf8(decoded).map_err(|_| not_utf8(what))?;
            if memchr::memchr(0, text.as_bytes()).is_some() {
                return Err(nul(what));
            }
            Ok(Cow::Owned(text))
        }
    }
}

fn not_utf8(what: &str) -> FieldError {
    FieldError::new(FieldErrorKind::NotText, format!("the {what} is not valid UTF-8"))
}

fn nul(what: &str) -> FieldError {
    FieldError::new(FieldErrorKind::NotText, format!("the {what} has a NUL byte, which no R string can hold"))
}

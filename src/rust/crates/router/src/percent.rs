//! A path, or one of its segments, decoded.
//!
//! Not for queries and forms: there `+` is a space and mistakes are judged otherwise (crate `fields`).

use grammar::percent::BadEscape;
use std::borrow::Cow;
use std::fmt;

/// Why a path cannot be read. The client's mistake: status 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// the path does not begin with `/`
    NoLeadingSlash,
    /// `%` without two hexadecimal digits
    BadEscape,
    /// `%00`: no name in a path holds a NUL byte, and C code would read a shorter one
    Nul,
    /// the decoded bytes are not UTF-8
    NotUtf8,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathError::NoLeadingSlash => "the path must start with '/'",
            PathError::BadEscape => "malformed percent-escape in the path",
            PathError::Nul => "NUL byte in the path",
            PathError::NotUtf8 => "the path is not UTF-8",
        })
    }
}

impl std::error::Error for PathError {}

/// Decodes every escape of `text` once. Borrows when there is none.
pub fn decode(text: &str) -> Result<Cow<'_, str>, PathError> {
    match grammar::percent::decode(text.as_bytes(), false) {
        Err(BadEscape) => Err(PathError::BadEscape),
        Ok(Cow::Borrowed(_)) => Ok(Cow::Borrowed(text)),
        Ok(Cow::Owned(decoded)) => {
            if decoded.contains(&0) {
                return Err(PathError::Nul);
            }
            String::from_utf8(decoded).map(Cow::Owned).map_err(|_| PathError::NotUtf8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_escapes_is_borrowed() {
        assert!(matches!(decode("/a+b"), Ok(Cow::Borrowed("/a+b"))));
    }

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(decode("a%20b%2Fc%2fd").unwrap(), "a b/c/d");
        assert_eq!(decode("%2541").unwrap(), "%41");
        assert_eq!(decode("caf%C3%a9").unwrap(), "café");
    }

    #[test]
    fn mistakes_are_named() {
        for text in ["%", "a%4", "%zz", "%4g", "%+1", "%é"] {
            assert_eq!(decode(text), Err(PathError::BadEscape), "{text}");
        }
        assert_eq!(decode("a%00b"), Err(PathError::Nul));
        for text in ["%ff", "%C3", "%c0%af", "%ed%a0%80"] {
            assert_eq!(decode(text), Err(PathError::NotUtf8), "{text}");
        }
    }
}

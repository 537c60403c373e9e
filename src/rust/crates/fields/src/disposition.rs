//! Header values of the form `value; name=text; name="quoted text"`: Content-Type and Content-Disposition
//! (RFC 9110, section 5.6.6; RFC 7578, section 4.2).
//!
//! Not for decoding what the parameters mean beyond their text: `multipart` does.

use std::borrow::Cow;

use crate::error::FieldError;
use grammar::bytes::is_tchar;

/// A value and its parameters in the order sent.
pub(crate) struct Parameterised<'a> {
    /// what stands before the first `;`, surrounding blanks taken off
    pub(crate) value: &'a str,
    parameters: Vec<(&'a str, Cow<'a, str>)>,
}

impl<'a> Parameterised<'a> {
    /// Splits `header`; `what` names it in errors.
    ///
    /// Reads one parameter after the other, so that text inside a quoted string is never taken for one.
    pub(crate) fn parse(header: &'a str, what: &str) -> Result<Self, FieldError> {
        let end = header.find(';').unwrap_or(header.len());
        let value = header[..end].trim_matches(BLANKS);
        let mut rest = &header[end..];
        let mut parameters = Vec::new();
        loop {
            rest = rest.trim_start_matches(BLANKS);
            let Some(after) = rest.strip_prefix(';') else {
                break;
            };
            rest = after.trim_start_matches(BLANKS);
            if rest.is_empty() || rest.starts_with(';') {
                continue;
            }
            let end = rest.bytes().position(|byte| !is_tchar(byte)).unwrap_or(rest.len());
            let name = &rest[..end];
            let text = rest[end..].trim_start_matches(BLANKS).strip_prefix('=');
            let (false, Some(text)) = (name.is_empty(), text) else {
                return Err(malformed(what));
            };
            let text = text.trim_start_matches(BLANKS);
            let (text, after) = match text.strip_prefix('"') {
                Some(quoted) => unquote(quoted).ok_or_else(|| malformed(what))?,
                None => {
                    let end = text.find(';').unwrap_or(text.len());
                    (Cow::Borrowed(text[..end].trim_end_matches(BLANKS)), &text[end..])
                }
            };
            parameters.push((name, text));
            rest = after;
        }
        if rest.is_empty() {
            Ok(Parameterised { value, parameters })
        } else {
            Err(malformed(what))
        }
    }

    /// The parameter called `name` in any case; an error when it is there twice, as its readers could disagree.
    pub(crate) fn get(&self, name: &str, what: &str) -> Result<Option<&str>, FieldError> {
        let mut texts = self.parameters.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let text = texts.next().map(|(_, text)| text.as_ref());
        match texts.next() {
            None => Ok(text),
            Some(_) => Err(FieldError::malformed(format!("the {what} has {name} twice"))),
        }
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// The text up to the closing quote, and what follows it. A backslash escapes a quote or a backslash; before
/// anything else it stands for itself, because old browsers send whole Windows paths as file names.
fn unquote(quoted: &str) -> Option<(Cow<'_, str>, &str)> {
    let bytes = quoted.as_bytes();
    let mut text = String::new();
    let mut copied = 0;
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            let text = match copied {
                0 => Cow::Borrowed(&quoted[..at]),
                _ => Cow::Owned(text + &quoted[copied..at]),
            };
            return Some((text, &quoted[at + 1..]));
        }
        if matches!(bytes.get(at + 1), Some(b'"' | b'\\')) {
            text += &quoted[copied..at];
            copied = at + 1;
            at += 2;
        } else {
            at += 1;
        }
    }
}

fn malformed(what: &str) -> FieldError {
    FieldError::malformed(format!("the {what} is malformed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn get(header: &str, name: &str) -> Option<String> {
        Parameterised::parse(header, "header").unwrap().get(name, "header").unwrap().map(str::to_owned)
    }

    #[test]
    fn parameters_quoted_or_not() {
        let header = "form-data; name=a b ;FileName = \"x;y.txt\" ;";
        assert_eq!(Parameterised::parse(header, "header").unwrap().value, "form-data");
        assert_eq!(get(header, "NAME").unwrap(), "a b");
        assert_eq!(get(header, "filename").unwrap(), "x;y.txt");
        assert_eq!(get(header, "other"), None);
        assert_eq!(get("a;b=", "b").unwrap(), "");
    }

    #[test]
    fn escapes_in_quotes() {
        assert_eq!(get(r#"f; n="\"\\\"""#, "n").unwrap(), r#""\""#);
        assert_eq!(get(r#"f; n="C:\dir\x.txt""#, "n").unwrap(), r"C:\dir\x.txt");
        assert_eq!(get(r#"f; n="é\"ü""#, "n").unwrap(), "é\"ü");
    }

    #[test]
    fn quoted_text_is_no_parameter() {
        assert_eq!(get(r#"f; filename="x; name=evil"; name=good"#, "name").unwrap(), "good");
    }

    #[test]
    fn faults() {
        for header in [r#"f; n="x"#, r#"f; n="x"y"#, "f; n", "f; =x", r#"f; n="x\""#, "f; é=1"] {
            assert!(Parameterised::parse(header, "header").is_err(), "{header}");
        }
        assert!(Parameterised::parse("f; n=1; N=2", "header").unwrap().get("n", "header").is_err());
    }

    proptest! {
        #[test]
        fn any_text_never_panics(header in "\\PC*") {
            let _ = Parameterised::parse(&header, "header");
        }

        #[test]
        fn quoted_text_comes_back(text in "[^\r\n\0]*") {
            let header = format!("f; n=\"{}\"; m=1", text.replace('\\', "\\\\").replace('"', "\\\""));
            prop_assert_eq!(get(&header, "n").unwrap(), text);
        }
    }
}

//! Queries and urlencoded forms: what is accepted is what the WHATWG's rules say, and what is refused has a fault.
//!
//! Input: the most fields, then the text.

use crate::input::Input;
use fields::{query, FieldErrorKind};

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let (most, raw) = (usize::from(input.byte()), input.0);
    let read = query::parse(raw, most);
    let form = query::parse_form(raw, most);
    assert_eq!(read.as_ref().map_err(|e| e.kind()), form.as_ref().map_err(|e| e.kind()));
    // theirs decodes what it can, and puts U+FFFD for what is no UTF-8
    let theirs: Vec<_> = form_urlencoded::parse(raw).collect();
    let sound = |text: &[u8]| {
        let hex = |at: usize| text.get(at).is_some_and(u8::is_ascii_hexdigit);
        (0..text.len()).all(|at| text[at] != b'%' || (hex(at + 1) && hex(at + 2)))
    };
    match read {
        Ok(pairs) => {
            assert_eq!(pairs, theirs);
            assert!(pairs.len() <= most && sound(raw));
            assert!(!pairs.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')));
            let written = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            assert_eq!(query::parse(written.as_bytes(), most).as_ref(), Ok(&pairs));
        }
        Err(error) => {
            assert_eq!(error.status(), 400);
            match error.kind() {
                FieldErrorKind::TooMany => assert!(theirs.len() > most),
                FieldErrorKind::Malformed => assert!(!sound(raw)),
                _ => assert!(theirs.iter().any(|(n, v)| format!("{n}{v}").contains(['\0', '\u{fffd}']))),
            }
        }
    }
}

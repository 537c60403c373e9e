//! Zeros with a minus, which sonic-rs gives as plain zeros: jsonlite keeps the minus of `-0.0`, and takes `-0` for the
//! integer 0.
//!
//! The numbers are looked for in the text, in its order, which is the order in which values are read. Only texts that
//! may hold such a zero pay for it. Not for any other number.

use super::value::Value;

/// What the zeros of a text are that are not written as `0`.
pub(super) enum Zeros<'t> {
    /// all positive
    Positive,
    /// not looked at yet
    Unread(&'t str),
    /// known, and the first ones given out
    Read(std::vec::IntoIter<Value<'t>>),
}

impl<'t> Zeros<'t> {
    /// The next zero of the text.
    pub fn next(&mut self) -> Value<'t> {
        if let Zeros::Unread(text) = self {
            *self = if may_be_negative(text) { Zeros::Read(read(text).into_iter()) } else { Zeros::Positive };
        }
        match self {
            Zeros::Read(zeros) => zeros.next(),
            _ => None,
        }
        .unwrap_or(Value::Double(0.0))
    }
}

/// False only when no zero of the text has a minus: it is written with one, or is too small for a double.
fn may_be_negative(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memmem::find(bytes, b"-0").is_some()
        || memchr::memmem::find(bytes, b"e-").is_some()
        || memchr::memmem::find(bytes, b"E-").is_some()
}

fn read<'t>(text: &str) -> Vec<Value<'t>> {
    let bytes = text.as_bytes();
    let mut zeros = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at),
            b'-' | b'0'..=b'9' => {
                let number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at += bytes[at..].iter().take_while(number).count();
                zeros.extend(zero(&text[start..at]));
            }
            _ => {}
        }
    }
    zeros
}

/// Where a string ends that begins before `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at = (at + found + 2).min(bytes.len());
    }
    bytes.len()
}

/// What a number is when sonic-rs takes it for the double 0.
fn zero<'t>(number: &str) -> Option<Value<'t>> {
    if number == "-0" {
        return Some(Value::Int(0));
    }
    let fraction = number.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    let value: f64 = number.parse().ok().filter(|_| fraction)?;
    (value == 0.0).then_some(Value::Double(value))
}

#[cfg(test)]
mod tests {
    use super::super::parse::tests::value_of;
    use super::*;

    #[test]
    fn zeros_keep_their_sign_and_integers_stay_integers() {
        let negative = |value: &Value| matches!(value, Value::Double(x) if *x == 0.0 && x.is_sign_negative());
        let positive = |value: &Value| matches!(value, Value::Double(x) if *x == 0.0 && x.is_sign_positive());
        for (text, expected) in [
            ("-0", "i"),
            ("[-0, 0, -0.0, 0.0, 0e5, -0E+1, 1e-400, -1e-400, -0]", "ii-++-+-i"),
            (r#"[0.0,"-0","a\"-0.0,",-0.0]"#, "+ss-"),
            (r#"{"-0.0":-0,"e-":0.0}"#, "i+"),
            ("[1.5e-3,0.0,-0.0]", "1+-"),
            ("[0.0,-5,0e0]", "+1+"),
        ] {
            value_of(text, |value| {
                let all = match value {
                    Value::Array(values) => values,
                    Value::Object(object) => object.values,
                    one => std::slice::from_ref(one),
                };
                let shown: String = all
                    .iter()
                    .map(|value| match value {
                        value if negative(value) => '-',
                        value if positive(value) => '+',
                        Value::Int(0) => 'i',
                        Value::String(_) => 's',
                        _ => '1',
                    })
                    .collect();
                assert_eq!(shown, expected, "{text}");
            });
        }
    }
}

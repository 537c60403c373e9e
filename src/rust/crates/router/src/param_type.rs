//! The types that a placeholder may carry, and which texts each accepts.
//!
//! A value that is not of the type does not match the pattern, so the next route is tried and, if none is left, the
//! answer is 404. Not for making R values: the binding does that, from the same type.

use std::fmt;

/// The type of a param.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// any text; the type of a placeholder without one
    Str,
    /// `-?[0-9]+`, of any length
    Int,
    /// a decimal number: `-?` then `1`, `1.`, `1.5` or `.5`, then an optional exponent `e-3`
    Dbl,
    /// `true`, `false`, `t`, `f` in either case, `1` or `0`
    Bool,
    /// 8-4-4-4-12 hexadecimal digits
    Uuid,
}

impl ParamType {
    /// The type written `name` in a pattern, by any of its names.
    pub(crate) fn from_name(name: &str) -> Option<ParamType> {
        Some(match name {
            "str" | "string" | "chr" | "character" => ParamType::Str,
            "int" | "integer" => ParamType::Int,
            "dbl" | "double" | "number" | "numeric" => ParamType::Dbl,
            "bool" | "boolean" | "lgl" | "logical" => ParamType::Bool,
            "uuid" => ParamType::Uuid,
            _ => return None,
        })
    }

    /// The one name used in canonical patterns.
    pub fn name(self) -> &'static str {
        match self {
            ParamType::Str => "str",
            ParamType::Int => "int",
            ParamType::Dbl => "dbl",
            ParamType::Bool => "bool",
            ParamType::Uuid => "uuid",
        }
    }

    /// Whether `text` is a value of this type.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            ParamType::Str => !text.is_empty(),
            ParamType::Int => is_digits(text.strip_prefix('-').unwrap_or(text)),
            ParamType::Dbl => is_decimal(text.strip_prefix('-').unwrap_or(text)),
            ParamType::Bool => ParamType::bool_value(text).is_some(),
            ParamType::Uuid => is_uuid(text),
        }
    }

    /// The value of a text that [`ParamType::Bool`] accepts.
    pub fn bool_value(text: &str) -> Option<bool> {
        let is = |names: [&str; 3]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
        if is(["true", "t", "1"]) {
            Some(true)
        } else if is(["false", "f", "0"]) {
            Some(false)
        } else {
            None
        }
    }
}

impl fmt::Display for ParamType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mantissa_ok = match mantissa.split_once('.') {
        None => is_digits(mantissa),
        Some((whole, "")) => is_digits(whole),
        Some(("", fraction)) => is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
    };
    mantissa_ok && exponent.is_none_or(|text| is_digits(text.strip_prefix(['-', '+']).unwrap_or(text)))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_and_refused_texts() {
        let table: [(ParamType, &[&str], &[&str]); 5] = [
            (ParamType::Str, &["a", "0", "é", " "], &[""]),
            (ParamType::Int, &["0", "-7", "007", "99999999999999999999"], &["", "-", "+1", "1.0", "1e3", "٣", " 1"]),
            (
                ParamType::Dbl,
                &["1", "-1.5", ".5", "1.", "2e3", "2.5E-10", "1e+4"],
                &["", "-", ".", "1e", "e3", "1.2.3", "+1", "inf", "NaN", "0x10", "1e3e3", "--1"],
            ),
            (ParamType::Bool, &["true", "FALSE", "T", "f", "1", "0"], &["", "yes", "2", "truee"]),
            (
                ParamType::Uuid,
                &["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
                &["", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"],
            ),
        ];
        for (kind, accepted, refused) in table {
            for text in accepted {
                assert!(kind.accepts(text), "{kind} {text}");
            }
            for text in refused {
                assert!(!kind.accepts(text), "{kind} {text}");
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for kind in [ParamType::Str, ParamType::Int, ParamType::Dbl, ParamType::Bool, ParamType::Uuid] {
            assert_eq!(ParamType::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ParamType::from_name("path"), None);
        assert_eq!(ParamType::bool_value("True"), Some(true));
        assert_eq!(ParamType::bool_value("0"), Some(false));
    }
}

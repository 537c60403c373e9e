//! One JSON value as it was read, and reading it. Strings without escapes point into the text.
//!
//! Stricter than JSON: a name stands once in an object, since two readers may take different ones of two values, and
//! strings hold no NUL, as strings of R cannot. Not for R's values: those are the binding's.

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// Objects with more members have their names looked up by hash.
const FEW: usize = 16;

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// a number
    Number(Number),
    /// a string
    String(Cow<'a, str>),
    /// an array
    Array(Vec<Value<'a>>),
    /// an object, in the order of the text
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

/// A number, as exact as 64 bits have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// a negative whole number, or a small one
    Signed(i64),
    /// a whole number beyond those
    Unsigned(u64),
    /// any other, finite
    Float(f64),
}

/// Why a text is no value. The message shows nothing of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// what is wrong, without a full stop
    pub message: String,
    /// where, in bytes from the start
    pub offset: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

impl<'a> Value<'a> {
    /// Reads a text that is one JSON value, nested at most `max_depth` deep.
    ///
    /// # Errors
    /// See [`Malformed`].
    pub fn parse(text: &'a [u8], max_depth: u32) -> Result<Value<'a>, Malformed> {
        let at = |offset: usize, message: &str| Malformed { message: message.to_owned(), offset };
        let text = std::str::from_utf8(text).map_err(|e| at(e.valid_up_to(), "the text is not valid UTF-8"))?;
        let mut reader = sonic_rs::Deserializer::from_str(text);
        let value = Seed { depth_left: max_depth }.deserialize(&mut reader);
        value.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
            // the library's words without the piece of the text that it shows
            let shown = error.to_string();
            let words = shown.split(" at line").next().unwrap_or_default().trim().trim_end_matches('.');
            at(error.offset().min(text.len()), words)
        })
    }
}

impl Number {
    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Signed(n) => n as f64,
            Number::Unsigned(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// Whether it has no fraction.
    pub fn is_whole(self) -> bool {
        match self {
            Number::Float(x) => x.fract() == 0.0,
            _ => true,
        }
    }

    /// Whether both are the same number, however they are written.
    pub fn equals(self, other: Number) -> bool {
        self.exact() == other.exact()
    }

    /// A whole number as such, whichever way it was written; or the bits of a double.
    pub(crate) fn exact(self) -> (Option<i128>, u64) {
        match self {
            Number::Signed(n) => (Some(n.into()), 0),
            Number::Unsigned(n) => (Some(n.into()), 0),
            // within the range of i128 the conversion is exact
            Number::Float(x) if x.fract() == 0.0 && x.abs() < 1e38 => (Some(x as i128), 0),
            Number::Float(x) => (None, x.to_bits()),
        }
    }
}

/// Reads one value.
struct Seed {
    depth_left: u32,
}

impl Seed {
    fn deeper<E: Error>(&self) -> Result<Seed, E> {
        let depth_left = self.depth_left.checked_sub(1);
        let deeper = depth_left.map(|depth_left| Seed { depth_left });
        deeper.ok_or_else(|| E::custom("arrays and objects are nested too deep"))
    }
}

fn checked<'a, E: Error>(text: Cow<'a, str>) -> Result<Cow<'a, str>, E> {
    if text.as_bytes().contains(&0) {
        return Err(E::custom("a string holds the character NUL, which strings of R cannot"));
    }
    Ok(text)
}

impl<'a> DeserializeSeed<'a> for Seed {
    type Value = Value<'a>;

    fn deserialize<D: serde::Deserializer<'a>>(self, deserializer: D) -> Result<Value<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Seed {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'a>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'a>, E> {
        Ok(Value::Number(Number::Signed(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'a>, E> {
        Ok(Value::Number(i64::try_from(value).map_or(Number::Unsigned(value), Number::Signed)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'a>, E> {
        Ok(Value::Number(Number::Float(value)))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'a str) -> Result<Value<'a>, E> {
        checked(Cow::Borrowed(value)).map(Value::String)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value<'a>, E> {
        checked(Cow::Owned(value.to_owned())).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<Value<'a>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(self.deeper()?)? {
            values.push(value);
        }
        // an empty one counts as deep as one that is not
        self.deeper::<A::Error>()?;
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Value<'a>, A::Error> {
        let mut all: Vec<(Cow<'a, str>, Value<'a>)> = Vec::with_capacity(8);
        let mut names: HashSet<Cow<'a, str>> = HashSet::new();
        self.deeper::<A::Error>()?;
        while let Some(name) = members.next_key_seed(Name)? {
            if all.len() == FEW {
                names.extend(all.iter().map(|(name, _)| name.clone()));
            }
            let is_new =
                if all.len() < FEW { all.iter().all(|(other, _)| *other != name) } else { names.insert(name.clone()) };
            if !is_new {
                return Err(A::Error::custom("an object has the same name twice"));
            }
            all.push((name, members.next_value_seed(self.deeper()?)?));
        }
        Ok(Value::Object(all))
    }
}

/// Reads the name of a member.
struct Name;

impl<'a> DeserializeSeed<'a> for Name {
    type Value = Cow<'a, str>;

    fn deserialize<D: serde::Deserializer<'a>>(self, deserializer: D) -> Result<Cow<'a, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Name {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, value: &'a str) -> Result<Cow<'a, str>, E> {
        checked(Cow::Borrowed(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Cow<'a, str>, E> {
        checked(Cow::Owned(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Value::parse(text.as_bytes(), 64).unwrap_err().to_string()
    }

    #[test]
    fn values_are_read_without_copies() {
        let value = Value::parse(br#"{"a":[1,-2,1.5,true,null],"b":"x\n"}"#, 64).unwrap();
        let Value::Object(members) = value else { panic!("{value:?}") };
        assert!(matches!(members[0].0, Cow::Borrowed("a")));
        let numbers = [Number::Signed(1), Number::Signed(-2), Number::Float(1.5)].map(Value::Number);
        let Value::Array(items) = &members[0].1 else { panic!("{members:?}") };
        assert_eq!(items[..3], numbers);
        assert_eq!(items[3..], [Value::Bool(true), Value::Null]);
        assert_eq!(members[1].1, Value::String("x\n".into()));
        let big = Value::parse(b"18446744073709551615", 64).unwrap();
        assert_eq!(big, Value::Number(Number::Unsigned(u64::MAX)));
    }

    #[test]
    fn what_two_readers_may_read_otherwise_is_refused() {
        assert!(refused(r#"{"a":1,"a":2}"#).contains("twice"));
        let many: Vec<String> = (0..40).map(|i| format!("\"k{i}\":1")).collect();
        assert!(Value::parse(format!("{{{}}}", many.join(",")).as_bytes(), 64).is_ok());
        for again in [0, 15, 16, 17, 39] {
            assert!(refused(&format!("{{{},\"k{again}\":1}}", many.join(","))).contains("twice"), "{again}");
        }
        assert!(refused(r#"["a\u0000"]"#).contains("NUL") && refused(r#"{"a\u0000":1}"#).contains("NUL"));
        for text in ["", "{", "[1,]", "NaN", "1e999", "1 2", "\"\\ud800\"", "'a'"] {
            assert!(Value::parse(text.as_bytes(), 64).is_err(), "{text}");
        }
        assert_eq!(Value::parse(b"\"\xff\"", 64).unwrap_err().offset, 1);
    }

    #[test]
    fn depth_is_limited() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(Value::parse(nested(64).as_bytes(), 64).is_ok());
        assert!(refused(&nested(65)).contains("too deep"));
        assert!(refused(&"[".repeat(1_000_000)).contains("too deep"));
        assert!(refused(&"{\"a\":".repeat(1_000_000)).contains("too deep"));
    }

    #[test]
    fn numbers_are_equal_however_they_are_written() {
        assert!(Number::Signed(5).equals(Number::Float(5.0)) && !Number::Signed(5).equals(Number::Float(5.5)));
        assert!(!Number::Unsigned(u64::MAX).equals(Number::Float(u64::MAX as f64)));
    }
}

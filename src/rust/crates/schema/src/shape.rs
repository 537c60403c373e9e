//! Texts as values: what queries, header fields, cookies, paths and forms have. A text that is none of the declared
//! type stays a string, and the schema says what it should have been.

use crate::value::{Number, Value};
use serde_json::Value as Json;
use std::borrow::Cow;

/// What texts of a schema's values are read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// as they are
    Text,
    /// numbers as JSON writes them
    Number,
    /// `true`, `t` or `1`, and `false`, `f` or `0`, in any case
    Bool,
    /// as many texts as there are
    Array(Box<Shape>),
    /// `null` where they are empty
    OrNull(Box<Shape>),
}

impl Shape {
    /// That of a schema, by its `type`.
    pub(crate) fn of(schema: &Json) -> Shape {
        let types: Vec<&str> = match &schema["type"] {
            Json::String(one) => vec![one],
            Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        let plain: Vec<&str> = types.iter().copied().filter(|name| *name != "null").collect();
        let shape = match plain[..] {
            ["integer" | "number"] => Shape::Number,
            ["boolean"] => Shape::Bool,
            ["array"] => Shape::Array(Box::new(Shape::of(&schema["items"]))),
            _ => Shape::Text,
        };
        if plain.len() < types.len() {
            Shape::OrNull(Box::new(shape))
        } else {
            shape
        }
    }

    /// Whether there may be several texts of one name.
    pub fn is_array(&self) -> bool {
        match self {
            Shape::Array(_) => true,
            Shape::OrNull(inner) => inner.is_array(),
            _ => false,
        }
    }

    /// The value of texts, of which there is at least one, and no more than one unless it is an array.
    pub fn read<'a>(&self, mut texts: impl Iterator<Item = Cow<'a, str>>) -> Value<'a> {
        match self {
            Shape::Array(items) => Value::Array(texts.map(|text| items.one(text)).collect()),
            Shape::OrNull(inner) if inner.is_array() => inner.read(texts),
            _ => texts.next().map_or(Value::Null, |text| self.one(text)),
        }
    }

    fn one<'a>(&self, text: Cow<'a, str>) -> Value<'a> {
        match self {
            Shape::OrNull(_) if text.is_empty() => Value::Null,
            Shape::OrNull(inner) => inner.one(text),
            Shape::Number => match number(&text) {
                Some(number) => Value::Number(number),
                None => Value::String(text),
            },
            Shape::Bool => match truth(&text) {
                Some(truth) => Value::Bool(truth),
                None => Value::String(text),
            },
            Shape::Text | Shape::Array(_) => Value::String(text),
        }
    }
}

/// A number by JSON's grammar: what the worker reads by the same.
fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        || !text.ends_with(|last: char| last.is_ascii_digit())
    {
        return None;
    }
    match Value::parse(text.as_bytes(), 0) {
        Ok(Value::Number(number)) => Some(number),
        _ => None,
    }
}

/// The same texts as placeholders of type `bool` in paths.
fn truth(text: &str) -> Option<bool> {
    let is = |names: [&str; 3]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
    if is(["true", "t", "1"]) {
        Some(true)
    } else {
        is(["false", "f", "0"]).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(schema: &Json, texts: &[&'static str]) -> Value<'static> {
        Shape::of(schema).read(texts.iter().map(|text| Cow::Borrowed(*text)))
    }

    #[test]
    fn texts_become_what_the_schema_says() {
        let number = json!({"type": "integer"});
        assert_eq!(read(&number, &["-12"]), Value::Number(Number::Signed(-12)));
        assert_eq!(read(&number, &["1.5e1"]), Value::Number(Number::Float(15.0)));
        for text in ["", " 1", "1 ", "+1", "0x1", "01", "1e999", "NaN", "١", "1_000", "[1]"] {
            assert_eq!(read(&number, &[text]), Value::String(text.into()), "{text}");
        }
        assert_eq!(read(&json!({"type": "boolean"}), &["TRUE"]), Value::Bool(true));
        assert_eq!(read(&json!({"type": "boolean"}), &["yes"]), Value::String("yes".into()));
        assert_eq!(read(&json!({"type": "string"}), &["1"]), Value::String("1".into()));
        assert_eq!(read(&json!({}), &["1"]), Value::String("1".into()));
    }

    #[test]
    fn arrays_and_null() {
        let items = json!({"type": "array", "items": {"type": "number"}});
        let two = vec![Value::Number(Number::Signed(1)), Value::String("x".into())];
        assert_eq!(read(&items, &["1", "x"]), Value::Array(two));
        let or_null = json!({"type": ["integer", "null"]});
        assert_eq!(read(&or_null, &[""]), Value::Null);
        assert_eq!(read(&or_null, &["3"]), Value::Number(Number::Signed(3)));
    }
}

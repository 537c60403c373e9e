//! Values as the library jsonschema sees them: it asks for what it needs, and nothing is converted for it.
//!
//! `to_value`, by which it takes a value into an error, gives a short stand-in: a body may be large, and what is wrong
//! with it is said with a few characters of it.

use crate::value::{Number, Value};
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use jsonschema::JsonType;
use std::borrow::Cow;
use std::collections::HashSet;

/// Characters of a string that an error keeps: one more than is shown, so that cutting shows.
pub const KEPT: usize = 65;

/// The representation.
pub struct Read;

impl Json for Read {
    type Node<'a> = &'a Value<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const ACYCLIC: bool = true;
    /// a look-up walks half of the members, so passing all of them once is soon cheaper
    const KEYS_PER_LOOKUP: usize = 4;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Self::Node<'_>) -> T) -> T {
        f(&Value::String(Cow::Borrowed(string)))
    }
}

impl JsonNumber for Number {
    fn as_u64(&self) -> Option<u64> {
        match *self {
            Number::Signed(n) => u64::try_from(n).ok(),
            Number::Unsigned(n) => Some(n),
            Number::Float(_) => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match *self {
            Number::Signed(n) => Some(n),
            Number::Unsigned(_) | Number::Float(_) => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        Some(Number::as_f64(*self))
    }

    fn as_str(&self) -> Cow<'_, str> {
        self.to_number().to_string().into()
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(match *self {
            Number::Signed(n) => n.into(),
            Number::Unsigned(n) => n.into(),
            // what was read is finite
            Number::Float(x) => serde_json::Number::from_f64(x).unwrap_or_else(|| 0.into()),
        })
    }

    fn is_integer(&self) -> bool {
        self.is_whole()
    }
}

impl<'a> Node<'a, Read> for &'a Value<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = Number;

    fn as_object(&self) -> Option<Members<'a>> {
        match self {
            Value::Object(members) => Some(Members(members)),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Items<'a>> {
        match self {
            Value::Array(items) => Some(Items(items)),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Value::String(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Number> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        equal(self, expected)
    }

    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => serde_json::Value::Number(number.to_number().into_owned()),
            Value::String(text) => text.chars().take(KEPT).collect::<String>().into(),
            Value::Array(_) => serde_json::Value::Array(Vec::new()),
            Value::Object(_) => serde_json::Value::Object(serde_json::Map::new()),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self) as usize))
    }
}

/// The members of an object.
#[derive(Clone, Copy)]
pub struct Members<'a>(&'a [(Cow<'a, str>, Value<'a>)]);

impl<'a> Object<'a, Read> for Members<'a> {
    type Node = &'a Value<'a>;
    type MemberName = &'a str;
    type MembersIter = std::iter::Map<
        std::slice::Iter<'a, (Cow<'a, str>, Value<'a>)>,
        fn(&'a (Cow<'a, str>, Value<'a>)) -> (&'a str, &'a Value<'a>),
    >;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<&'a Value<'a>> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn members(&self) -> Self::MembersIter {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

/// The items of an array.
#[derive(Clone, Copy)]
pub struct Items<'a>(&'a [Value<'a>]);

impl<'a> Array<'a, Read> for Items<'a> {
    type Node = &'a Value<'a>;
    type ElementsIter = std::slice::Iter<'a, Value<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Self::ElementsIter {
        self.0.iter()
    }

    /// By hashes, with secret keys: as many comparisons as there are pairs would be a client's to cause.
    fn is_unique(&self) -> bool {
        let mut met = HashSet::with_capacity(self.0.len());
        self.0.iter().all(|item| {
            let mut key = Vec::new();
            canonical(item, &mut key);
            met.insert(key)
        })
    }
}

fn equal(value: &Value<'_>, expected: &serde_json::Value) -> bool {
    match (value, expected) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Number(a), serde_json::Value::Number(b)) => number(b).is_some_and(|b| a.equals(b)),
        (Value::String(a), serde_json::Value::String(b)) => a == b,
        (Value::Array(a), serde_json::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(&**name).is_some_and(|b| equal(a, b)))
        }
        _ => false,
    }
}

fn number(of: &serde_json::Number) -> Option<Number> {
    of.as_i64()
        .map(Number::Signed)
        .or_else(|| of.as_u64().map(Number::Unsigned))
        .or_else(|| of.as_f64().map(Number::Float))
}

/// Bytes that are the same for values that are equal, and only for those.
fn canonical(value: &Value<'_>, out: &mut Vec<u8>) {
    let text = |text: &str, out: &mut Vec<u8>| {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    match value {
        Value::Null => out.push(b'n'),
        Value::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Value::Number(number) => {
            let (whole, bits) = number.exact();
            out.push(if whole.is_some() { b'w' } else { b'd' });
            out.extend_from_slice(&whole.unwrap_or(bits.into()).to_le_bytes());
        }
        Value::String(string) => {
            out.push(b's');
            text(string, out);
        }
        Value::Array(items) => {
            out.push(b'a');
            out.extend_from_slice(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| canonical(item, out));
        }
        Value::Object(members) => {
            out.push(b'o');
            out.extend_from_slice(&(members.len() as u64).to_le_bytes());
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            for (name, value) in sorted {
                text(name, out);
                canonical(value, out);
            }
        }
    }
}

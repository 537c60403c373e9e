//! JSON text to a description of R values: reading, with every limit checked before R sees anything.
//!
//! sonic-rs reads the text (SIMD; it refuses invalid UTF-8, control characters in strings, lone surrogates and trailing
//! text itself); what is added here is what R needs: a limit on depth, no NUL in strings, and the guard of R's string
//! cache. Not for the shapes of R (vectors, data frames): that is `shape`.

use std::fmt;
use std::marker::PhantomData;

use bumpalo::Bump;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::dates::Dates;
use super::host::{Host, Limited, WithoutR};
use super::shape::{self, Shaper};
use super::value::{Counts, JsonError, Object, Value, DATE};
use super::zeros::Zeros;
use crate::node::Node;

/// sonic-rs has a limit of its own, 255 with the outermost value: a larger setting stops there.
const MAX_DEPTH: u32 = 250;

/// Limits of one text, and how it is made into R values.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// arrays become vectors, matrices and data frames, as `jsonlite::fromJSON(simplifyVector = TRUE)` does
    pub simplify: bool,
    /// how deep arrays and objects may be nested; at most 250
    pub max_depth: u32,
    /// how many different strings may share a bucket of R's string cache: see [`fields::guard::CollisionGuard::check`]
    pub max_collisions: usize,
}

/// A parsed text: the nodes that describe it. They point into the arena and into the text.
#[derive(Debug)]
pub struct Tree<'a> {
    root: *const Node,
    _arena: Bump,
    _text: PhantomData<&'a [u8]>,
}

impl Tree<'_> {
    /// The root, which lives as long as the tree.
    pub fn root(&self) -> *const Node {
        self.root
    }
}

/// Parses `text`, which must outlive the tree, without R.
///
/// # Errors
/// As [`parse_for`].
pub fn parse<'a>(text: &'a [u8], options: &ParseOptions) -> Result<Tree<'a>, JsonError> {
    parse_for(&mut WithoutR::default(), text, options)
}

/// Parses `text`, which must outlive the tree.
///
/// # Errors
/// [`JsonError`] when `text` is not one JSON value or breaks a limit.
pub fn parse_for<'a>(host: &mut dyn Host, text: &'a [u8], options: &ParseOptions) -> Result<Tree<'a>, JsonError> {
    // A little more than a small text needs, so that most requests take one block of memory.
    let arena = Bump::with_capacity((text.len() * 8).clamp(512, 1 << 20));
    let root = {
        let (root, counts) = read(text, &arena, options.max_depth)?;
        let mut host = Limited { host, max_collisions: options.max_collisions };
        let node = if options.simplify {
            let dates = Dates::of(&root, &counts, &mut host)?;
            Shaper::new(&arena, counts.values, dates).value(&root)?
        } else {
            shape::plain(&arena, &root)
        };
        host.check(&mut |visit| node.strings(visit))?;
        std::ptr::from_ref(arena.alloc(node))
    };
    Ok(Tree { root, _arena: arena, _text: PhantomData })
}

fn read<'b>(text: &'b [u8], arena: &'b Bump, max_depth: u32) -> Result<(Value<'b>, Counts), JsonError> {
    let at = |offset: usize, message: &str| JsonError { message: message.to_owned(), offset: Some(offset) };
    if i32::try_from(text.len()).is_err() {
        return Err(at(text.len(), "the text is longer than a string of R"));
    }
    // Checked in one go, so that the text is known to be valid while strings are taken from it.
    let text = std::str::from_utf8(text).map_err(|error| at(error.valid_up_to(), "the text is not valid UTF-8"))?;
    let zeros = Zeros::Unread(text);
    let mut reading = Reading { arena, counts: Counts::default(), values: Vec::new(), keys: Vec::new(), zeros };
    let mut reader = sonic_rs::Deserializer::from_str(text);
    let seed = Seed { reading: &mut reading, depth_left: max_depth.min(MAX_DEPTH) };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value) => Ok((value, reading.counts)),
        Err(error) => Err(at(error.offset().min(text.len()), &reason(&error))),
    }
}

/// What is wrong, in sonic-rs's words but without the piece of the text that it shows.
fn reason(error: &sonic_rs::Error) -> String {
    let shown = error.to_string();
    let words = shown.split(" at line").next().unwrap_or_default().trim();
    words.trim_end_matches('.').to_owned()
}

/// The state of reading. Elements wait on a stack until their array ends and its length is known.
struct Reading<'b> {
    arena: &'b Bump,
    counts: Counts,
    values: Vec<Value<'b>>,
    keys: Vec<&'b str>,
    zeros: Zeros<'b>,
}

impl<'b> Reading<'b> {
    /// Takes a string of which only a copy lasts: one with escapes. Only these can hold a NUL.
    fn copied<E: serde::de::Error>(&mut self, string: &str) -> Result<&'b str, E> {
        if string.as_bytes().contains(&0) {
            return Err(E::custom("a string holds the character NUL, which strings of R cannot"));
        }
        Ok(self.arena.alloc_str(string))
    }
}

/// Reads one value.
struct Seed<'r, 'b> {
    reading: &'r mut Reading<'b>,
    depth_left: u32,
}

impl<'b> Seed<'_, 'b> {
    fn deeper<E: serde::de::Error>(&self) -> Result<u32, E> {
        self.depth_left.checked_sub(1).ok_or_else(|| E::custom("arrays and objects are nested too deep"))
    }
}

impl<'b> DeserializeSeed<'b> for Seed<'_, 'b> {
    type Value = Value<'b>;

    fn deserialize<D: serde::Deserializer<'b>>(self, deserializer: D) -> Result<Value<'b>, D::Error> {
        self.reading.counts.values += 1;
        deserializer.deserialize_any(self)
    }
}

impl<'b> Visitor<'b> for Seed<'_, 'b> {
    type Value = Value<'b>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'b>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'b>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'b>, E> {
        Ok(match i32::try_from(value) {
            // the smallest integer is R's NA
            Ok(value) if value != i32::MIN => Value::Int(value),
            _ => Value::Double(value as f64),
        })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'b>, E> {
        Ok(i32::try_from(value).map_or(Value::Double(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'b>, E> {
        Ok(if value == 0.0 { self.reading.zeros.next() } else { Value::Double(value) })
    }

    fn visit_borrowed_str<E>(self, value: &'b str) -> Result<Value<'b>, E> {
        Ok(Value::String(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value<'b>, E> {
        self.reading.copied(value).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut elements: A) -> Result<Value<'b>, A::Error> {
        let depth_left = self.deeper()?;
        let first = self.reading.values.len();
        while let Some(value) = elements.next_element_seed(Seed { reading: self.reading, depth_left })? {
            self.reading.values.push(value);
        }
        let values = self.reading.arena.alloc_slice_copy(&self.reading.values[first..]);
        self.reading.values.truncate(first);
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'b>>(self, mut members: A) -> Result<Value<'b>, A::Error> {
        let depth_left = self.deeper()?;
        let Reading { arena, .. } = *self.reading;
        let (first_value, first_key) = (self.reading.values.len(), self.reading.keys.len());
        while let Some(key) = members.next_key_seed(Key { reading: self.reading })? {
            self.reading.counts.dates |= key == DATE;
            self.reading.keys.push(key);
            let value = members.next_value_seed(Seed { reading: self.reading, depth_left })?;
            self.reading.values.push(value);
        }
        let object = Object {
            keys: arena.alloc_slice_copy(&self.reading.keys[first_key..]),
            values: arena.alloc_slice_copy(&self.reading.values[first_value..]),
        };
        self.reading.keys.truncate(first_key);
        self.reading.values.truncate(first_value);
        Ok(Value::Object(arena.alloc(object)))
    }
}

/// Reads the key of a member.
struct Key<'r, 'b> {
    reading: &'r mut Reading<'b>,
}

impl<'b> DeserializeSeed<'b> for Key<'_, 'b> {
    type Value = &'b str;

    fn deserialize<D: serde::Deserializer<'b>>(self, deserializer: D) -> Result<&'b str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'b> Visitor<'b> for Key<'_, 'b> {
    type Value = &'b str;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, value: &'b str) -> Result<&'b str, E> {
        Ok(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<&'b str, E> {
        self.reading.copied(value)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const OPTIONS: ParseOptions = ParseOptions { simplify: true, max_depth: 64, max_collisions: 2 };

    fn error(text: impl AsRef<[u8]>) -> JsonError {
        parse(text.as_ref(), &OPTIONS).unwrap_err()
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "[01]",
            "{\"a\":1,}",
            "{a:1}",
            "'a'",
            "NaN",
            "nul",
            "1 2",
            "[1]]",
            "// c\n1",
            "+1",
            ".5",
            "1.",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\udc00\\ud800\"",
            "\"a\nb\"",
            "\"a\u{1}b\"",
            "\"a\u{0}b\"",
            "1e999",
            "{\"a\" 1}",
            "\u{feff}1",
            "[1 2]",
            "{\"a\":1 \"b\":2}",
            "tru",
            "-",
            "\"",
            "{\"a\":}",
            "[,1]",
        ] {
            assert!(parse(text.as_bytes(), &OPTIONS).is_err(), "{text:?}");
        }
    }

    #[test]
    fn errors_say_what_and_where_but_show_nothing_of_the_text() {
        let refused = error("{\"secret\": nope}");
        assert!(refused.offset.is_some_and(|at| (10..=14).contains(&at)), "{refused:?}");
        assert!(!refused.message.contains("secret") && !refused.message.contains('\n'), "{refused:?}");
        assert_eq!(error([b'"', 0xff, b'"']).offset, Some(1));
        assert!(error("[\"a\\u0000b\"]").message.contains("NUL"));
        assert!(error("{\"a\\u0000b\":1}").message.contains("NUL"));
    }

    #[test]
    fn depth_is_limited() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(parse(nested(64).as_bytes(), &OPTIONS).is_ok());
        assert!(error(nested(65)).message.contains("too deep"));
        assert!(error("[".repeat(1_000_000)).message.contains("too deep"));
        assert!(error("{\"a\":".repeat(1_000_000)).message.contains("too deep"));
        let most = ParseOptions { max_depth: u32::MAX, ..OPTIONS };
        // frames of code that is not optimized are larger than a test's stack
        let deepest = move || {
            assert!(parse(nested(250).as_bytes(), &most).is_ok());
            assert!(parse(nested(251).as_bytes(), &most).is_err());
        };
        std::thread::Builder::new().stack_size(1 << 24).spawn(deepest).unwrap().join().unwrap();
    }

    #[test]
    fn colliding_strings_are_refused_wherever_they_are() {
        let strings: Vec<String> =
            (0..2048).map(|i| (0..11).map(|bit| if i >> bit & 1 == 0 { "Ab" } else { "BA" }).collect()).collect();
        let list = format!("[\"{}\"]", strings.join("\",\""));
        assert!(error(list).message.contains("collide"));
        let keys: Vec<String> = strings.iter().map(|key| format!("\"{key}\":[{{\"x\":null}}]")).collect();
        assert!(error(format!("{{{}}}", keys.join(","))).message.contains("collide"));
        let spread: Vec<String> = (0..20_000).map(|i| format!("\"{i:x}\"")).collect();
        assert!(parse(format!("[{}]", spread.join(",")).as_bytes(), &OPTIONS).is_ok());
    }

    /// Shows what `text` is read as.
    pub fn value_of(text: &str, show: impl FnOnce(&Value)) {
        show(&read(text.as_bytes(), &Bump::new(), 64).unwrap().0);
    }

    #[test]
    fn numbers_that_become_strings_are_counted_as_well() {
        let number = |i: u64| format!("0.{}", 1_000_000_000 + i * 65_521 * 7);
        let numbers: Vec<String> = (0..200_000).map(number).collect();
        let bucket =
            |text: &str| text.bytes().fold(5381_u32, |h, b| h.wrapping_mul(33).wrapping_add(u32::from(b))) & 0xffff;
        let mut buckets = std::collections::HashMap::<u32, Vec<&str>>::new();
        for number in &numbers {
            // as R writes it: without zeros at the end
            let shown = number.trim_end_matches('0');
            buckets.entry(bucket(shown)).or_default().push(number);
        }
        let fullest = buckets.values().max_by_key(|numbers| numbers.len()).unwrap();
        assert!(fullest.len() >= 14, "{}", fullest.len());
        let text = |first: &str| format!("[{first},{}]", fullest.join(","));
        assert!(parse(text("\"a\"").as_bytes(), &OPTIONS).unwrap_err().message.contains("collide"));
        assert!(parse(text("1").as_bytes(), &OPTIONS).is_ok());
    }

    #[test]
    fn values_are_read() {
        let arena = Bump::new();
        let (value, _) = read(br#" {"a":[1,-2.5,true,null,"x\n"],"a":{},"":2147483648} "#, &arena, 64).unwrap();
        let Value::Object(object) = value else { panic!("{value:?}") };
        assert_eq!(object.keys, ["a", "a", ""]);
        assert_eq!(
            object.values[0],
            Value::Array(&[Value::Int(1), Value::Double(-2.5), Value::Bool(true), Value::Null, Value::String("x\n")])
        );
        assert_eq!(object.values[2], Value::Double(2147483648.0));
        assert_eq!(read(b"-2147483648", &arena, 0).unwrap().0, Value::Double(-2147483648.0));
        assert_eq!(read(b"-2147483647", &arena, 0).unwrap().0, Value::Int(-2147483647));
        assert!(read(b"[]", &arena, 0).is_err());
    }
}

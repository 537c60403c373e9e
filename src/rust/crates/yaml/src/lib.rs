//! JSON documents as YAML 1.2, for people: a member or item on each line, in the order of the document.
//!
//! Not for reading YAML, nor for YAML of any other kind: what JSON has is all there is, so strings are written as JSON
//! writes them, quoted, which is YAML as well. Only keys go without quotes, where all versions of YAML read them as
//! strings. Decision 0066 says why this is no library.
#![forbid(unsafe_code)]

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The document as YAML.
///
/// # Errors
/// A text that says where `json` is not JSON. Values may be nested as deep as `serde_json` has it, 128 levels.
pub fn of_json(json: &str) -> Result<String, String> {
    let mut out = String::with_capacity(json.len() * 2);
    let mut reader = serde_json::Deserializer::from_str(json);
    let at = Place { out: &mut out, depth: 0, after: After::Nothing };
    at.deserialize(&mut reader).and_then(|()| reader.end()).map_err(|e| e.to_string())?;
    if !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(out)
}

/// What stands on the line before a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    /// `key:`
    Key,
    /// `-`
    Dash,
}

/// Where a value is written.
struct Place<'o> {
    out: &'o mut String,
    /// of the members of an object that is written here
    depth: usize,
    after: After,
}

impl Place<'_> {
    fn scalar(self, text: &str) {
        if self.after != After::Nothing {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Begins the line of an item or member. The first one after a dash stands on its line.
    fn line(&mut self, is_first: bool) {
        match self.after {
            After::Dash if is_first => self.out.push(' '),
            After::Key if is_first => {
                self.out.push('\n');
                self.indent();
            }
            _ => self.indent(),
        }
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar("null");
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(&value.to_string());
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(&value.to_string());
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // as JSON has it: with a point or an exponent, so that it stays a float
        self.scalar(&serde_json::to_string(&value).map_err(E::custom)?);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let text = quoted(value).map_err(E::custom)?;
        self.scalar(&text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let mut is_first = true;
        loop {
            let start = self.out.len();
            self.line(is_first);
            self.out.push('-');
            let item = Place { out: self.out, depth: self.depth + 1, after: After::Dash };
            if items.next_element_seed(item)?.is_none() {
                self.out.truncate(start);
                if is_first {
                    self.scalar("[]");
                }
                return Ok(());
            }
            is_first = false;
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut is_first = true;
        while let Some(key) = members.next_key::<String>()? {
            self.line(is_first);
            is_first = false;
            if is_plain(&key) {
                self.out.push_str(&key);
            } else {
                let text = quoted(&key).map_err(A::Error::custom)?;
                self.out.push_str(&text);
            }
            self.out.push(':');
            members.next_value_seed(Place { out: self.out, depth: self.depth + 1, after: After::Key })?;
        }
        if is_first {
            self.scalar("{}");
        }
        Ok(())
    }
}

/// A string as both JSON and YAML read it.
fn quoted(text: &str) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(text)?;
    if !json.chars().any(is_unprintable) {
        return Ok(json);
    }
    let escaped = json.chars().map(|c| if is_unprintable(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() });
    Ok(escaped.collect())
}

/// What JSON lets stand in strings, and YAML does not, or takes for the end of a line.
fn is_unprintable(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether a key is a string without quotes: a word that no version of YAML takes for anything else, or a path.
fn is_plain(key: &str) -> bool {
    const OTHERS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let lower = key.to_ascii_lowercase();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && key.chars().all(is_word)
        && !OTHERS.contains(&&*lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(of_json(json).unwrap(), expected);
    }

    #[test]
    fn values_stand_on_lines_in_their_order() {
        check(
            r#"{"b":1,"a":[true,null,"x"],"c":{"d":-1.5e3}}"#,
            "b: 1\na:\n  - true\n  - null\n  - \"x\"\nc:\n  d: -1500.0\n",
        );
        check(r#"[{"a":1,"b":{"c":2}},[3,[4]],5]"#, "- a: 1\n  b:\n    c: 2\n- - 3\n  - - 4\n- 5\n");
        check(r#"{"a":[{"b":[{"c":1}],"d":2}]}"#, "a:\n  - b:\n      - c: 1\n    d: 2\n");
    }

    #[test]
    fn what_is_empty_is_written_as_in_json() {
        check("{}", "{}\n");
        check(r#"{"a":[],"b":{},"c":[[],{}]}"#, "a: []\nb: {}\nc:\n  - []\n  - {}\n");
        check("\"\"", "\"\"\n");
    }

    #[test]
    fn strings_are_strings_whatever_they_look_like() {
        check(
            r##"{"yes":"no","200":"1.5","a: b":"# c","$ref":"-","/x/{id}":"~"}"##,
            "\"yes\": \"no\"\n\"200\": \"1.5\"\n\"a: b\": \"# c\"\n\"$ref\": \"-\"\n\"/x/{id}\": \"~\"\n",
        );
        check("\"a\\nb\u{85}\u{2028}\u{1F600}\\u0000\"", "\"a\\nb\\u0085\\u2028\u{1F600}\\u0000\"\n");
        check(r#"{"/orders":1,"text/plain":2,"y":3,"on":4}"#, "/orders: 1\ntext/plain: 2\n\"y\": 3\n\"on\": 4\n");
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for wrong in ["", "{", "[1,]", "{} {}", "nul"] {
            assert!(of_json(wrong).is_err(), "{wrong}");
        }
        assert!(of_json(&"[".repeat(200)).is_err());
    }
}

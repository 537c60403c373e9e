//! Which requests want the same response: those for the same scheme, host, base path, path and query, or the named
//! fields of the query, in any order. Of header fields, those that the app names or that a response names in `Vary`.

use coding::{accepted, Coding};
use grammar::percent::decode;
use http::header::{ACCEPT_ENCODING, HOST};
use http::HeaderName;
use httpd::{Fields, Head};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

/// What of the query counts.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyConfig {
    /// all of it, as it was sent
    #[default]
    Query,
    /// the fields of these names, percent-decoded
    Fields(Vec<String>),
}

/// Names a response. Scheme, host and base path, a line break, and what the request asks for there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(SmallVec<[u8; 128]>);

impl Key {
    pub(super) fn new(config: &KeyConfig, head: &Head, https: bool) -> Self {
        let mut key = SmallVec::new();
        key.extend_from_slice(if https { b"https " } else { b"http " });
        key.extend(head.fields.get(&HOST).unwrap_or_default().iter().map(u8::to_ascii_lowercase));
        key.extend_from_slice(head.base_path().as_bytes());
        // in no host, nor in a path or a query
        key.push(b'\n');
        match config {
            KeyConfig::Query => key.extend_from_slice(head.target().as_bytes()),
            KeyConfig::Fields(names) => {
                let (path, query) = head.target().split_once('?').unwrap_or((head.target(), ""));
                key.extend_from_slice(path.as_bytes());
                push_fields(&mut key, names, query);
            }
        }
        Key(key)
    }

    /// The path and what of the query counts, as they were sent.
    pub fn target(&self) -> &[u8] {
        self.0.splitn(2, |&b| b == b'\n').nth(1).unwrap_or_default()
    }

    /// The same without the query.
    pub fn of_path(&self) -> Key {
        let ends = self.0.iter().position(|&b| b == b'?').unwrap_or(self.0.len());
        Key(SmallVec::from_slice(&self.0[..ends]))
    }
}

/// Adds those fields of a query that have one of these names: in the order of the names, and of one name in their own.
fn push_fields(key: &mut SmallVec<[u8; 128]>, names: &[String], query: &str) {
    let mut before = b'?';
    for wanted in names {
        for field in query.split('&') {
            let name = field.split_once('=').map_or(field, |(name, _)| name);
            if is(name, wanted) {
                key.push(before);
                key.extend_from_slice(field.as_bytes());
                before = b'&';
            }
        }
    }
}

/// Whether a name, which may have percent-escapes, is this one. What a handler may read by this name must be in the
/// key.
fn is(sent: &str, name: &str) -> bool {
    decode(sent.as_bytes(), true).map_or(true, |decoded| *decoded == *name.as_bytes())
}

/// The values of these header fields in a request, so that no two lists of values look alike.
pub(super) fn values(fields: &Fields, names: &[HeaderName]) -> Box<[u8]> {
    let mut all = Vec::new();
    for name in names {
        if *name == ACCEPT_ENCODING {
            // what is wanted can be said in ever other ways: what counts are the codings, the preferred one first
            all.extend(accepted(fields.all(name), &Coding::ALL).iter().map(|coding| *coding as u8));
            all.push(b'\r');
            continue;
        }
        for value in fields.all(name) {
            all.extend_from_slice(value.trim_ascii());
            // in no value
            all.push(b'\n');
        }
        all.push(b'\r');
    }
    all.into()
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<[u8]>::borrow(self).hash(state);
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(names: &[&str], query: &str) -> String {
        let mut key = SmallVec::new();
        push_fields(&mut key, &names.iter().map(ToString::to_string).collect::<Vec<_>>(), query);
        String::from_utf8(key.to_vec()).unwrap()
    }

    #[test]
    fn of_a_query_the_named_fields_count_in_one_order() {
        for (query, key) in [
            ("", ""),
            ("c=1", ""),
            ("a=1&b=2", "?a=1&b=2"),
            ("b=2&c=3&a=1", "?a=1&b=2"),
            ("a=1&a=2", "?a=1&a=2"),
            ("a=2&a=1", "?a=2&a=1"),
            ("a", "?a"),
            ("%61=1", "?%61=1"),
            ("aa=1&A=2", ""),
            // a handler gets 400 for it, under any name
            ("%zz=1", "?%zz=1&%zz=1"),
        ] {
            assert_eq!(fields(&["a", "b"], query), key, "{query}");
        }
        assert_eq!(fields(&["a b"], "a+b=1&a%20b=2"), "?a+b=1&a%20b=2");
    }

    #[test]
    fn codings_count_and_not_how_they_are_written() {
        let of = |text| values(&[(ACCEPT_ENCODING, text)].into_iter().collect(), &[ACCEPT_ENCODING]);
        assert_eq!(of("gzip, br"), of("BR;q=1.0 ,gzip, nothing-known"));
        assert_eq!(of("identity"), of(""));
        assert_ne!(of("gzip"), of("gzip, br"));
        assert_ne!(of("gzip;q=0.5, br"), of("gzip, br;q=0.5"));
    }

    #[test]
    fn no_two_lists_of_values_look_alike() {
        let names = [HeaderName::from_static("x-a"), HeaderName::from_static("x-b")];
        let of = |pairs: &[(&str, &str)]| values(&pairs.iter().map(|(name, value)| (name, value)).collect(), &names);
        let all = [
            of(&[]),
            of(&[("x-a", "")]),
            of(&[("x-b", "")]),
            of(&[("x-a", "1")]),
            of(&[("x-b", "1")]),
            of(&[("x-a", "1"), ("x-b", "1")]),
            of(&[("x-a", "1"), ("x-a", "1")]),
            of(&[("x-a", "11")]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one), "{i}");
        }
        assert_eq!(of(&[("x-a", " 1 "), ("x-c", "2")]), of(&[("x-a", "1")]));
    }
}

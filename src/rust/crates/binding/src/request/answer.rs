//! The storage of an answer: what the nodes that C reads point at, and the shapes that fields come in.
//!
//! The raw pointers in it point into the message, the body or the upload of the same cell, into `owned`, or at static
//! text, and are read by C before it says that it has built the value.

use super::upload::{File, FileContent};
use crate::node::{Kind, Node, Str};
use exchange::{is_trace_state, Trace};
use router::ParamType;
use std::borrow::Cow;
use std::collections::{btree_map::Entry, BTreeMap};
use std::os::unix::ffi::OsStrExt;

/// The storage of an answer.
#[derive(Default)]
pub(super) struct Answer {
    owned: Vec<Vec<u8>>,
    strings: Vec<Str>,
    names: Vec<Str>,
    ints: Vec<i32>,
    doubles: Vec<f64>,
    part_names: Vec<Str>,
    nodes: Vec<Node>,
    inner: Vec<Node>,
    pub(super) root: Node,
}

impl Answer {
    /// Forgets the last answer, but keeps memory for the next.
    pub(super) fn clear(&mut self) {
        kept::empty(&mut self.owned);
        kept::empty(&mut self.strings);
        kept::empty(&mut self.names);
        kept::empty(&mut self.ints);
        kept::empty(&mut self.doubles);
        kept::empty(&mut self.part_names);
        kept::empty(&mut self.nodes);
        kept::empty(&mut self.inner);
        self.root = Node::NULL;
    }

    fn put(&mut self, bytes: Cow<'_, [u8]>) -> Str {
        match bytes {
            Cow::Borrowed(bytes) => Str::new(bytes),
            Cow::Owned(bytes) => {
                let s = Str::new(&bytes);
                self.owned.push(bytes);
                s
            }
        }
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.strings.push(Str::new(bytes));
        self.root = Node::vector(Kind::Str, &self.strings);
    }

    pub(super) fn owned_string(&mut self, bytes: Vec<u8>) {
        let s = self.put(Cow::Owned(bytes));
        self.strings.push(s);
        self.root = Node::vector(Kind::Str, &self.strings);
    }

    pub(super) fn missing_string(&mut self) {
        self.strings.push(Str::NA);
        self.root = Node::vector(Kind::Str, &self.strings);
    }

    pub(super) fn int(&mut self, x: i32) {
        self.ints.push(x);
        self.root = Node::vector(Kind::Int, &self.ints);
    }

    pub(super) fn pair(&mut self, name: Cow<'_, [u8]>, value: Cow<'_, [u8]>) {
        let (name, value) = (self.put(name), self.put(value));
        self.names.push(name);
        self.strings.push(value);
    }

    /// All pairs put so far, as a named list of strings.
    pub(super) fn named_strings(&mut self) {
        self.nodes.extend(self.strings.chunks(1).map(|string| Node::vector(Kind::Str, string)));
        self.root = Node::vector(Kind::List, &self.nodes).named(&self.names);
    }

    /// What was agreed on in TLS: a named list of strings, or nothing in cleartext.
    pub(super) fn of_tls<'t>(&mut self, agreed: impl Iterator<Item = (&'t [u8], &'t [u8])>) {
        for (name, value) in agreed {
            self.pair(Cow::Borrowed(name), Cow::Borrowed(value));
        }
        if !self.names.is_empty() {
            self.named_strings();
        }
    }

    /// The trace that the request belongs to: a named list of strings, and whether it is sampled. A `tracestate` counts
    /// only with the `traceparent` that it came with.
    pub(super) fn of_trace(&mut self, trace: &Trace, state: Option<Vec<u8>>) {
        let strings = [
            ("trace_id", Some(trace.id().into_bytes())),
            ("span_id", Some(trace.span_id().into_bytes())),
            ("parent_id", trace.parent_id().map(String::into_bytes)),
            ("traceparent", Some(trace.to_string().into_bytes())),
            ("tracestate", state.filter(|state| trace.parent_id().is_some() && is_trace_state(state))),
        ];
        for (name, value) in strings {
            if let Some(value) = value {
                self.pair(Cow::Borrowed(name.as_bytes()), Cow::Owned(value));
            }
        }
        self.nodes.extend(self.strings.chunks(1).map(|string| Node::vector(Kind::Str, string)));
        self.names.push(Str::new(b"sampled"));
        self.ints.push(i32::from(trace.is_sampled()));
        self.nodes.push(Node::vector(Kind::Lgl, &self.ints));
        self.root = Node::vector(Kind::List, &self.nodes).named(&self.names);
    }

    /// Pairs of text.
    pub(super) fn pairs(&mut self, pairs: Vec<fields::Pair<'_>>) {
        for (name, value) in pairs {
            self.pair(cow_bytes(name), cow_bytes(value));
        }
        self.named_strings();
    }

    /// Header fields by name, in the order in which the names first come; values of one name are joined, by what
    /// `separator` says (RFC 9110, section 5.3).
    pub(super) fn joined<'h>(
        &mut self,
        fields: impl Iterator<Item = (&'h [u8], Cow<'h, [u8]>)>,
        separator: impl Fn(&[u8]) -> &'static [u8],
    ) {
        let mut seen = BTreeMap::new();
        let mut values: Vec<Cow<[u8]>> = Vec::new();
        for (name, value) in fields {
            match seen.entry(name) {
                Entry::Vacant(new) => {
                    new.insert(values.len());
                    self.names.push(Str::new(name));
                    values.push(value);
                }
                Entry::Occupied(at) => {
                    let joined = values[*at.get()].to_mut();
                    joined.extend_from_slice(separator(name));
                    joined.extend_from_slice(&value);
                }
            }
        }
        for value in values {
            let value = self.put(value);
            self.strings.push(value);
        }
        self.named_strings();
    }

    pub(super) fn params<'v>(&mut self, params: &[(String, ParamType)], values: impl Iterator<Item = &'v [u8]>) {
        let values: Vec<&[u8]> = values.collect();
        for ((name, _), value) in params.iter().zip(&values) {
            self.pair(Cow::Borrowed(name.as_bytes()), Cow::Borrowed(value));
        }
        self.ints.reserve(values.len());
        self.doubles.reserve(values.len());
        for (i, (value, (_, kind))) in values.iter().zip(params).enumerate() {
            let node = self.typed(*kind, String::from_utf8_lossy(value).as_ref(), i);
            self.nodes.push(node);
        }
        self.root = Node::vector(Kind::List, &self.nodes).named(&self.names);
    }

    /// The value of a param, `text`, which is also string `i`. The stores have room for it.
    fn typed(&mut self, kind: ParamType, text: &str, i: usize) -> Node {
        match kind {
            ParamType::Int => match text.parse::<i32>() {
                Ok(x) if x != i32::MIN => last_of(Kind::Int, &mut self.ints, x),
                // beyond R's integers: the nearest double
                _ => last_of(Kind::Dbl, &mut self.doubles, text.parse().unwrap_or(f64::NAN)),
            },
            ParamType::Dbl => last_of(Kind::Dbl, &mut self.doubles, text.parse().unwrap_or(f64::NAN)),
            ParamType::Bool => last_of(Kind::Lgl, &mut self.ints, i32::from(ParamType::bool_value(text) == Some(true))),
            ParamType::Str | ParamType::Uuid => Node::vector(Kind::Str, std::slice::from_ref(&self.strings[i])),
        }
    }

    /// A list for each file, named by field: field, name, type, size, path, content.
    pub(super) fn files(&mut self, files: &[File], body: &[u8]) {
        const PARTS: [&str; 6] = ["field", "name", "type", "size", "path", "content"];
        self.part_names.extend(PARTS.map(|p| Str::new(p.as_bytes())));
        self.strings.reserve(files.len() * 4);
        self.doubles.reserve(files.len());
        self.inner.reserve(files.len() * PARTS.len());
        for file in files {
            let (path, content) = match &file.content {
                FileContent::Within(range) => (Str::NA, Node::vector(Kind::Raw, &body[range.clone()])),
                FileContent::Spooled(file) => (Str::new(file.path().as_os_str().as_bytes()), Node::NULL),
            };
            let strings = [file.field.as_bytes(), file.name.as_bytes(), file.media_type.as_bytes()].map(Str::new);
            let [field, name, media_type] = strings.map(|s| last_of(Kind::Str, &mut self.strings, s));
            let path = last_of(Kind::Str, &mut self.strings, path);
            let size = last_of(Kind::Dbl, &mut self.doubles, file.size as f64);
            let first = self.inner.len();
            self.inner.extend([field, name, media_type, size, path, content]);
            self.nodes.push(Node::vector(Kind::List, &self.inner[first..]).named(&self.part_names));
            self.names.push(Str::new(file.field.as_bytes()));
        }
        self.root = Node::vector(Kind::List, &self.nodes).named(&self.names);
    }
}

fn cow_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Adds `x` to a store that has room for it, and gives the vector of length 1 that it is.
fn last_of<T>(kind: Kind, store: &mut Vec<T>, x: T) -> Node {
    assert!(store.len() < store.capacity(), "a node would dangle");
    store.push(x);
    Node::vector(kind, &store[store.len() - 1..])
}

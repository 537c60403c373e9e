//! The header section of a request, of either version of HTTP, and its fields.
//!
//! A thread keeps the memory of those that have ended for the next ones: most requests allocate nothing for their head.

use crate::budget::{BodyRoom, Budget, SHORT_HEAD};
use crate::names::Names;
use crate::response::Failure;
use h2::ext::Protocol;
use http::header::HOST;
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Ended ones that a thread keeps.
const SPARE: usize = 64;

thread_local! {
    // boxed, so that handing one over copies a pointer
    #[allow(clippy::vec_box)]
    static FREE: RefCell<Vec<Box<Content>>> = const { RefCell::new(Vec::new()) };
}

/// The version that the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2
    Http2,
}

/// See the module.
#[derive(Debug)]
pub struct Head(Option<Box<Content>>);

/// What a [`Head`] says.
#[derive(Debug)]
pub struct Content {
    pub method: Method,
    pub version: Version,
    pub fields: Fields,
    /// what an HTTP/2 client wants to speak on its stream (RFC 8441)
    pub protocol: Option<Box<str>>,
    /// some field has `_` in its name
    underscores: bool,
    /// what it takes of the memory for long ones
    room: Option<BodyRoom>,
    target: String,
    /// how much of the target is the path
    path: usize,
    /// what stands before the paths of the app for its clients
    base_path: String,
    /// how much of the target is of the base path
    before: usize,
}

impl Head {
    /// The trace that the client is in, as it says in one field; `None` when it says so in none, or in several.
    pub fn trace_parent(&self) -> Option<&[u8]> {
        let mut values = self.fields.named(b"traceparent");
        values.next().filter(|_| values.next().is_none())
    }

    /// One that says nothing yet.
    pub(crate) fn new() -> Self {
        let free = FREE.with_borrow_mut(Vec::pop);
        Head(Some(free.unwrap_or_else(|| {
            Box::new(Content {
                method: Method::GET,
                version: Version::Http11,
                fields: Fields::default(),
                protocol: None,
                underscores: false,
                room: None,
                target: String::new(),
                path: 0,
                base_path: String::new(),
                before: 0,
            })
        })))
    }

    /// Moves the content out. This head must not be read any more.
    pub fn take(&mut self) -> Head {
        Head(self.0.take())
    }

    /// A copy, for use after this request is answered.
    pub fn copy(&self) -> Head {
        let mut head = Head::new();
        head.method = self.method.clone();
        head.version = self.version;
        head.protocol.clone_from(&self.protocol);
        head.underscores = self.underscores;
        head.target.clone_from(&self.target);
        head.path = self.path;
        head.base_path.clone_from(&self.base_path);
        head.before = self.before;
        head.fields.text.clone_from(&self.fields.text);
        head.fields.spans.clone_from(&self.fields.spans);
        head.fields.names = self.fields.names;
        head
    }

    /// The head of an HTTP/2 request. Handlers find its authority where HTTP/1.1 has it: in `host`.
    pub fn from_http2(parts: &Parts) -> Self {
        let mut head = Head::new();
        head.method = parts.method.clone();
        head.version = Version::Http2;
        head.protocol = parts.extensions.get::<Protocol>().map(|protocol| protocol.as_str().into());
        head.set_target(parts.uri.path(), parts.uri.query());
        let authority = parts.uri.authority().map_or("", |authority| authority.as_str());
        if !authority.is_empty() {
            head.fields.push(HOST.as_str().as_bytes(), authority.as_bytes());
        }
        for (name, value) in &parts.headers {
            // one that says the same is no second one
            if name != HOST || value != authority {
                head.underscores |= name.as_str().contains('_');
                head.fields.push(name.as_str().as_bytes(), value.as_bytes());
            }
        }
        head
    }
}

impl Deref for Head {
    type Target = Content;

    fn deref(&self) -> &Content {
        // empty only after `drop` or `take`, and then it is not read
        self.0.as_deref().expect("a head has its content")
    }
}

impl DerefMut for Head {
    fn deref_mut(&mut self) -> &mut Content {
        self.0.as_deref_mut().expect("a head has its content")
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        let Some(mut content) = self.0.take() else { return };
        content.room = None;
        if content.fields.room() + content.target.capacity() > kept::OF_MANY {
            return;
        }
        FREE.with_borrow_mut(|free| {
            if free.len() < SPARE {
                content.fields.clear();
                content.protocol = None;
                content.underscores = false;
                content.set_target("", None);
                free.push(content);
            }
        });
    }
}

impl Content {
    /// Some field has `_` in its name.
    pub(crate) fn notes_underscore(&mut self) {
        self.underscores = true;
    }

    /// How many bytes its target and its fields have.
    pub(crate) fn size(&self) -> usize {
        self.target.len() + self.fields.text.len()
    }

    /// It holds this until it is dropped.
    pub(crate) fn holds(&mut self, room: BodyRoom) {
        self.room = Some(room);
    }

    /// Takes the room that it needs, if it is long.
    ///
    /// # Errors
    /// The failure to answer with when there is none.
    pub(crate) fn take_room(&mut self, budget: &Arc<Budget>) -> Result<(), Failure> {
        let Some(beyond) = self.size().checked_sub(SHORT_HEAD).filter(|beyond| *beyond > 0) else { return Ok(()) };
        if self.room.get_or_insert_with(|| budget.head()).fit(beyond) {
            Ok(())
        } else {
            Err(no_room_for_head())
        }
    }

    /// Whether some field has come with `_` in its name.
    pub(crate) fn has_underscores(&self) -> bool {
        self.underscores
    }

    /// Sets the target: path, and what follows a `?`.
    pub fn set_target(&mut self, path: &str, query: Option<&str>) {
        self.target.clear();
        self.base_path.clear();
        self.before = 0;
        self.target.push_str(path);
        self.path = path.len();
        if let Some(query) = query {
            self.target.push('?');
            self.target.push_str(query);
        }
    }

    /// Sets what stands before the paths of the app for its clients, without a slash at its end. The first `len` bytes
    /// of the path, no more than it has, are of it.
    pub fn set_base_path(&mut self, base_path: &str, len: usize) {
        self.base_path.clear();
        self.base_path.push_str(base_path);
        self.before = len;
    }

    /// What stands before [`Content::path`] for clients; empty when that is nothing.
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// The path below the base path, as it was sent; empty when the client named only an authority, or the base path,
    /// `*` for the server as a whole.
    pub fn path(&self) -> &str {
        &self.target[self.before..self.path]
    }

    /// Path and query below the base path, as they were sent.
    pub fn target(&self) -> &str {
        not_empty(&self.target[self.before..])
    }

    /// The path as clients have it, in two parts: for logs.
    pub fn whole_path(&self) -> [&str; 2] {
        [&self.base_path, self.path()]
    }

    /// The same with the query.
    pub fn whole_target(&self) -> [&str; 2] {
        let target = &self.target[self.before..];
        [&self.base_path, if self.base_path.is_empty() { not_empty(target) } else { target }]
    }
}

fn not_empty(target: &str) -> &str {
    if target.is_empty() {
        "/"
    } else {
        target
    }
}

/// The answer to one that is long when there are too many of them.
pub(crate) fn no_room_for_head() -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many long header sections are being received").closing()
}

/// Header fields of a request in the order in which they came.
#[derive(Debug, Default)]
pub struct Fields {
    /// names and values, one after the other
    text: Vec<u8>,
    spans: Vec<Span>,
    /// those that were taken out among them
    names: Names,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    at: u32,
    name: u32,
    value: u32,
}

impl Fields {
    fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.names = Names::default();
    }

    /// Bytes that there is room for.
    fn room(&self) -> usize {
        self.text.capacity() + self.spans.capacity() * size_of::<Span>()
    }

    /// Adds a field, whose name is in lower case.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.push_with(|text| text.extend_from_slice(name), value);
    }

    /// Adds a field, whose name `write` appends in lower case.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>), value: &[u8]) {
        let at = self.text.len();
        write(&mut self.text);
        self.names.add(&self.text[at..]);
        let name = self.text.len() - at;
        self.text.extend_from_slice(value);
        // header sections are limited to far less than 4 GB
        self.spans.push(Span { at: at as u32, name: name as u32, value: value.len() as u32 });
    }

    /// Gives the first field of this name, which is in lower case, another value, or adds it.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        let known = self.iter().position(|(n, _)| n == name);
        self.push(name, value);
        if let Some(known) = known {
            self.spans.swap_remove(known);
        }
    }

    /// Takes all fields of this name out, which is in lower case.
    pub fn remove(&mut self, name: &[u8]) {
        self.retain(|other| other != name);
    }

    /// Takes all fields out but those of names that are wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&[u8]) -> bool) {
        let text = &self.text;
        self.spans.retain(|span| is_wanted(&text[span.at as usize..(span.at + span.name) as usize]));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The field at a place: its name and its value.
    pub fn nth(&self, at: usize) -> Option<(&[u8], &[u8])> {
        self.spans.get(at).map(|span| self.field(*span))
    }

    fn field(&self, Span { at, name, value }: Span) -> (&[u8], &[u8]) {
        self.text[at as usize..(at + name + value) as usize].split_at(name as usize)
    }

    /// All of them: names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| self.field(*span))
    }

    /// The values of all fields of this name, which is in lower case.
    pub fn named<'a, 'n>(&'a self, name: &'n [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let spans = if self.names.may_have(name) { &self.spans[..] } else { &[] };
        spans.iter().map(|span| self.field(*span)).filter(move |(n, _)| *n == name).map(|(_, value)| value)
    }

    /// The values of all fields of this name.
    pub fn all<'a, 'n>(&'a self, name: &'n HeaderName) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.named(name.as_str().as_bytes())
    }

    /// The value of the first field of this name.
    pub fn get(&self, name: &HeaderName) -> Option<&[u8]> {
        self.named(name.as_str().as_bytes()).next()
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> FromIterator<(N, V)> for Fields {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(all: T) -> Self {
        let mut fields = Fields::default();
        all.into_iter().for_each(|(name, value)| fields.push(name.as_ref().as_bytes(), value.as_ref()));
        fields
    }
}

/// Whether an origin (RFC 6454) is of the host that a request is for. The scheme does not count: it is a proxy's to
/// say.
pub fn is_own_origin(head: &Head, origin: &[u8]) -> bool {
    let host = head.fields.get(&HOST).unwrap_or_default();
    let of_origin = memchr::memmem::find(origin, b"://").map(|at| &origin[at + 3..]);
    of_origin.is_some_and(|own| own.eq_ignore_ascii_case(host))
}

/// A value that is ASCII as text.
pub fn ascii(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|text| text.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_place() {
        let mut fields = Fields::default();
        assert!(fields.is_empty() && fields.get(&HOST).is_none());
        fields.push(b"host", b"a");
        fields.push(b"x", b"");
        fields.push(b"host", b"b");
        assert_eq!(fields.get(&HOST), Some(&b"a"[..]));
        assert_eq!(fields.all(&HOST).collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!((fields.len(), fields.nth(1), fields.nth(3)), (3, Some((&b"x"[..], &b""[..])), None));
        assert_eq!(fields.named(b"x").next(), Some(&b""[..]));
        fields.set(b"host", b"other");
        assert_eq!(fields.all(&HOST).collect::<Vec<_>>(), [&b"other"[..], b"b"]);
        assert_eq!((fields.len(), fields.nth(1)), (3, Some((&b"x"[..], &b""[..]))));
        fields.push(b"y", b"1");
        fields.push(b"y", b"2");
        fields.remove(b"y");
        assert_eq!((fields.len(), fields.named(b"y").next()), (3, None));
        fields.set(b"y", b"z");
        assert_eq!((fields.len(), fields.nth(3)), (4, Some((&b"y"[..], &b"z"[..]))));
    }

    #[test]
    fn a_head_that_is_used_again_knows_nothing_of_the_one_before() {
        let mut first = Head::new();
        first.set_target("/a", Some("b"));
        first.fields.push(b"host", b"a");
        assert_eq!((first.path(), first.target()), ("/a", "/a?b"));
        first.set_target("/app/a", Some("b"));
        first.set_base_path("/outer/app", 4);
        for head in [&first, &first.copy()] {
            assert_eq!((head.base_path(), head.path(), head.target()), ("/outer/app", "/a", "/a?b"));
            assert_eq!((head.whole_path(), head.whole_target()), (["/outer/app", "/a"], ["/outer/app", "/a?b"]));
        }
        drop(first);
        let second = Head::new();
        assert!(second.fields.is_empty());
        assert_eq!((second.base_path(), second.path(), second.target()), ("", "", "/"));
    }
}

//! The header fields of a response, as text: most go to HTTP/1.1 connections, which send it as it is.

use crate::names::Names;
use bytes::Bytes;
use grammar::bytes::{is_token, is_value};
use grammar::trailers;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::borrow::Cow;
use std::ops::Range;

/// See the module. What frames a message is not in the text.
#[derive(Debug, Default, Clone)]
pub struct ResponseFields {
    /// `name: value CRLF`, names in lower case
    text: Cow<'static, [u8]>,
    /// the connection is to end
    pub close: bool,
    /// what a body would have as its length that is not sent
    pub length: Option<u64>,
    /// the length that a handler gave: it counts only where there is no body to measure, in an answer to `HEAD`
    pub said_length: Option<u64>,
    /// what a handler says to whoever makes its response, and not to the client
    pub aside: Option<Vec<u8>>,
    has_date: bool,
    names: Names,
}

/// Names and values in a text, in their order.
fn all_of(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&b| b == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r")?;
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], &line[colon + 2..]))
    })
}

/// The value in a line, if its field has this name.
fn value_of<'l>(line: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    line.strip_prefix(name)?.strip_prefix(b": ")?.strip_suffix(b"\r\n")
}

/// Of those in [`ALONE`].
const ALONE_NAMES: Names = Names::of(b"content-type", b"x-content-type-options");

/// Room for the usual ones: bytes, and their number.
const USUAL: usize = 192;
const USUAL_FIELDS: usize = 8;

macro_rules! alone {
    ($content_type:literal) => {
        ($content_type, concat!("content-type: ", $content_type, "\r\nx-content-type-options: nosniff\r\n"))
    };
}

/// All the fields of most answers: one of these content types, and what every response has. They are neither checked
/// nor put together for each.
const ALONE: [(&str, &str); 3] =
    [alone!("text/plain; charset=utf-8"), alone!("application/json"), alone!("text/html; charset=utf-8")];

/// Fields whose values are of one response. HTTP/2 remembers fields for the next responses of a connection (RFC 7541),
/// and compares each new one with all of its name: not with these, which would take all the room there.
const OF_ONE: [&str; 2] = ["ratelimit", "x-request-id"];

/// A handler may set this many: HTTP/2's library cannot hold more than 24,576 different ones.
const MOST: usize = 16 << 10;

/// Fields that are the server's to set, as what a handler says could only contradict it: those that frame the message,
/// and those that are about the connection, with which HTTP/2 does not even begin a response (RFC 9113 section 8.2.2).
/// `native` refuses the same of C handlers.
const OF_THE_SERVER: [&str; 11] = [
    "connection",
    "content-length",
    "content-type",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-content-type-options",
];

impl ResponseFields {
    /// Those that a handler gave, each checked, its content type unless it gives it as a field, and what every response
    /// has.
    ///
    /// # Errors
    /// What is wrong with a field, which could split the response.
    pub fn of_handler<'h, G: Iterator<Item = (&'h [u8], &'h [u8])>>(
        content_type: Option<&[u8]>,
        given: impl Fn() -> G,
    ) -> Result<Self, String> {
        if given().next().is_none() {
            if let Some(text) = content_type.and_then(alone) {
                return Ok(ResponseFields { text: Cow::Borrowed(text), names: ALONE_NAMES, ..Self::default() });
            }
        }
        if given().nth(MOST).is_some() {
            return Err(format!("the handler set more than {MOST} headers"));
        }
        let mut fields = Self::with_room(USUAL);
        // the last one counts
        let own = given().filter(|(name, _)| is(name, &CONTENT_TYPE)).last().map(|(_, value)| value);
        if let Some(value) = own.or(content_type) {
            if !is_value(value) {
                return Err("the handler set an invalid content type".to_owned());
            }
            fields.push(CONTENT_TYPE.as_str().as_bytes(), value);
        }
        for (name, value) in given() {
            let wrong =
                |what| format!("the handler set a header with an invalid {what}: {}", String::from_utf8_lossy(name));
            if !is_token(name) {
                return Err(wrong("name"));
            }
            if !is_value(value) {
                return Err(wrong("value"));
            }
            if is(name, &CONTENT_LENGTH) {
                fields.said_length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            }
            if !OF_THE_SERVER.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
                fields.push(&name.to_ascii_lowercase(), value);
            }
        }
        fields.push_nosniff();
        Ok(fields)
    }

    /// Those that follow a body: nothing is added.
    ///
    /// # Errors
    /// When one of them cannot be there.
    pub fn of_trailers(text: &[u8]) -> Result<Self, String> {
        if text.len() > trailers::LONGEST {
            return Err(format!("the trailers are longer than {} bytes", trailers::LONGEST));
        }
        let mut fields = ResponseFields::default();
        for field in trailers::fields(text) {
            let (name, value) =
                field.map_err(|name| format!("{} cannot be a trailer", String::from_utf8_lossy(name)))?;
            fields.push(&name.to_ascii_lowercase(), value);
        }
        Ok(fields)
    }

    /// Of a response that the server makes by itself: its content type, if it has a body, and what every response has.
    pub fn of_server(content_type: Option<&'static str>) -> Self {
        let mut fields = Self::with_room(2 * USUAL);
        if let Some(content_type) = content_type {
            fields.push(CONTENT_TYPE.as_str().as_bytes(), content_type.as_bytes());
        }
        fields.push_nosniff();
        fields
    }

    fn with_room(bytes: usize) -> Self {
        ResponseFields { text: Cow::Owned(Vec::with_capacity(bytes)), ..ResponseFields::default() }
    }

    /// The name is in lower case.
    fn push(&mut self, name: &[u8], value: &[u8]) {
        self.has_date |= name == DATE.as_str().as_bytes();
        self.names.add(name);
        let text = match &mut self.text {
            Cow::Owned(text) => text,
            Cow::Borrowed(text) => {
                // with room for what every response has
                let mut owned = Vec::with_capacity(text.len() + USUAL);
                owned.extend_from_slice(text);
                self.text = Cow::Owned(owned);
                self.text.to_mut()
            }
        };
        text.reserve(name.len() + value.len() + 4);
        text.extend_from_slice(name);
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    }

    /// No response is to be taken for another type than it says.
    fn push_nosniff(&mut self) {
        self.push(X_CONTENT_TYPE_OPTIONS.as_str().as_bytes(), b"nosniff");
    }

    /// As HTTP/1.1 has them, but for those that frame the message.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Names and values, in their order.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        all_of(&self.text)
    }

    /// The values of all fields of this name.
    pub fn named<'a, 'n>(&'a self, name: &'n HeaderName) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.all().filter(move |(n, _)| *n == name.as_str().as_bytes()).map(|(_, value)| value)
    }

    /// The value of the first field of this name. Asked of each answer of a handler: no line is read beyond its name.
    pub fn get(&self, name: &HeaderName) -> Option<&[u8]> {
        self.first(name.as_str().as_bytes())
    }

    fn first(&self, name: &[u8]) -> Option<&[u8]> {
        self.places(name).next().map(|place| &self.text[place])
    }

    /// Where the values of all fields of this name are in the text.
    #[inline]
    fn places<'a, 'n>(&'a self, name: &'n [u8]) -> impl Iterator<Item = Range<usize>> + use<'a, 'n> {
        let mut at = if self.names.may_have(name) { 0 } else { self.text.len() };
        std::iter::from_fn(move || {
            while at < self.text.len() {
                let start = at;
                at += memchr::memchr(b'\n', &self.text[start..])? + 1;
                if let Some(value) = value_of(&self.text[start..at], name) {
                    return Some(at - 2 - value.len()..at - 2);
                }
            }
            None
        })
    }

    /// Takes all fields of this name out.
    pub fn remove(&mut self, name: &HeaderName) {
        self.remove_all(name.as_str().as_bytes());
    }

    fn remove_all(&mut self, name: &[u8]) {
        if self.first(name).is_none() {
            return;
        }
        let mut text = Vec::with_capacity(self.text.len());
        for line in self.text.split_inclusive(|&b| b == b'\n') {
            if value_of(line, name).is_none() {
                text.extend_from_slice(line);
            }
        }
        self.text = Cow::Owned(text);
        self.has_date &= !is(name, &DATE);
    }

    /// Puts these in the place of all of their names.
    pub fn set_all(&mut self, others: &ResponseFields) {
        others.all().for_each(|(name, _)| self.remove_all(name));
        self.text.to_mut().extend_from_slice(&others.text);
        self.has_date |= others.has_date;
        self.names.add_all(others.names);
    }

    /// Puts a field in the place of all of its name. Not for those that frame the message or are about the connection.
    /// The value is one that a field can have, such as that of another field.
    pub fn set(&mut self, name: &HeaderName, value: impl AsRef<[u8]>) {
        self.remove(name);
        self.push(name.as_str().as_bytes(), value.as_ref());
    }

    /// Puts a field behind all others, where none has its name: nothing is searched for. Otherwise as
    /// [`ResponseFields::set`].
    pub fn add(&mut self, name: &HeaderName, value: impl AsRef<[u8]>) {
        self.push(name.as_str().as_bytes(), value.as_ref());
    }

    /// Adds an element to a field that is a list (RFC 9110 section 5.6.1), unless the list has it, or `*`.
    pub fn set_in_list(&mut self, name: &HeaderName, element: &str) {
        let mut places = self.places(name.as_str().as_bytes());
        let (place, has_others) = (places.next(), places.next().is_some());
        drop(places);
        let Some(place) = place else { return self.add(name, element) };
        if has_others {
            self.make_one(name.as_str().as_bytes());
            return self.set_in_list(name, element);
        }
        let list = &self.text[place.clone()];
        let is_there = |one: &[u8]| one == b"*" || one.eq_ignore_ascii_case(element.as_bytes());
        if list.split(|&b| b == b',').any(|one| is_there(one.trim_ascii())) {
            return;
        }
        let comma = if list.is_empty() { "" } else { ", " };
        self.text.to_mut().splice(place.end..place.end, comma.bytes().chain(element.bytes()));
    }

    /// Makes one field of all that are lists of this name: programs that read only the first of several are not rare.
    fn make_one(&mut self, name: &[u8]) {
        let lists: Vec<&[u8]> =
            self.places(name).filter(|place| !place.is_empty()).map(|place| &self.text[place]).collect();
        let list = lists.join(&b", "[..]);
        self.remove_all(name);
        self.push(name, &list);
    }

    /// Whether they are of a body in JSON.
    pub fn are_json(&self) -> bool {
        self.get(&CONTENT_TYPE).is_some_and(|value| value.starts_with(b"application/json"))
    }

    /// Whether the handler has said when the response was made.
    pub fn has_date(&self) -> bool {
        self.has_date
    }

    /// As HTTP/2's library has them.
    pub fn to_map(&self) -> HeaderMap {
        // one text for all values, and none of its own for each
        let text = match &self.text {
            Cow::Borrowed(text) => Bytes::from_static(text),
            Cow::Owned(text) => Bytes::copy_from_slice(text),
        };
        let mut map = HeaderMap::with_capacity(USUAL_FIELDS);
        for (name, value) in all_of(&text) {
            let value = HeaderValue::from_maybe_shared(text.slice_ref(value));
            // both were checked when they were added
            if let (Ok(known), Ok(mut value)) = (HeaderName::from_bytes(name), value) {
                value.set_sensitive(OF_ONE.iter().any(|one| one.as_bytes() == name));
                // never too many for it: see `MOST`
                let _ = map.try_append(known, value);
            }
        }
        if let Some(length) = self.length {
            map.insert(CONTENT_LENGTH, length.into());
        }
        map
    }
}

/// The text of the fields, where this content type is the only thing to be said.
fn alone(content_type: &[u8]) -> Option<&'static [u8]> {
    let known = ALONE.iter().find(|(known, _)| known.as_bytes() == content_type);
    known.map(|(_, text)| text.as_bytes())
}

/// Whether no setting gives a field of this name: what handlers may not set, and the time.
pub(super) fn is_of_the_server(name: &[u8]) -> bool {
    is(name, &DATE) || OF_THE_SERVER.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

fn is(name: &[u8], known: &HeaderName) -> bool {
    name.eq_ignore_ascii_case(known.as_str().as_bytes())
}

/// With what every response has.
impl From<HeaderMap> for ResponseFields {
    fn from(map: HeaderMap) -> Self {
        let mut fields = Self::with_room(2 * USUAL);
        for (name, value) in &map {
            if name == CONNECTION {
                fields.close |= value.as_bytes().eq_ignore_ascii_case(b"close");
            } else if name == CONTENT_LENGTH {
                fields.length = value.to_str().ok().and_then(|text| text.parse().ok());
            } else if name != TRANSFER_ENCODING && name != X_CONTENT_TYPE_OPTIONS {
                fields.push(name.as_str().as_bytes(), value.as_bytes());
            }
        }
        fields.push_nosniff();
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content_type: &[u8], given: &[(&str, &str)]) -> Result<String, String> {
        let given = || given.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let fields = ResponseFields::of_handler(Some(content_type), given)?;
        Ok(String::from_utf8(fields.text().to_vec()).unwrap())
    }

    #[test]
    fn what_a_handler_gives_cannot_split_or_frame_a_response() {
        assert_eq!(
            text(b"a/b", &[("X-A", "1")]).unwrap(),
            "content-type: a/b\r\nx-a: 1\r\nx-content-type-options: nosniff\r\n"
        );
        for (name, value) in [("a b", "1"), ("", "1"), ("a:", "1"), ("a\r\nb", "1"), ("a", "1\r\nb: 2"), ("a", "\0")] {
            assert!(text(b"a/b", &[(name, value)]).is_err(), "{name:?}: {value:?}");
        }
        assert!(text(b"a/b\r\n", &[]).is_err());
        for name in OF_THE_SERVER.into_iter().filter(|name| *name != "content-type") {
            assert_eq!(text(b"a/b", &[(name, "1"), (&name.to_uppercase(), "2")]), text(b"a/b", &[]), "{name}");
        }
        assert_eq!(text(b"a/b", &[("content-type", "c/d"), ("Content-Type", "e/f")]), text(b"e/f", &[]));
    }

    #[test]
    fn usual_content_types_alone_are_the_fields_that_would_be_put_together() {
        for (content_type, _) in ALONE {
            let put_together = text(b"a/b", &[("content-type", content_type)]);
            assert_eq!(text(content_type.as_bytes(), &[]), put_together);
        }
        let mut fields = ResponseFields::of_handler(Some(b"application/json"), std::iter::empty).unwrap();
        assert!(fields.are_json());
        fields.set(&DATE, HeaderValue::from_static("now"));
        assert!(fields.text().ends_with(b"nosniff\r\ndate: now\r\n"));
    }

    #[test]
    fn the_length_that_a_handler_gives_is_kept_apart() {
        let said = |value: &str| {
            let given = || [(&b"Content-Length"[..], value.as_bytes())].into_iter();
            let fields = ResponseFields::of_handler(None, given).unwrap();
            assert_eq!(fields.length, None);
            fields.said_length
        };
        assert_eq!((said("20"), said("-1"), said("x")), (Some(20), None, None));
    }

    #[test]
    fn as_many_fields_as_http2_takes_and_no_more() {
        let names: Vec<_> = (0..=MOST).map(|i| format!("x-{i}")).collect();
        let given =
            |n: usize| ResponseFields::of_handler(None, || names[..n].iter().map(|name| (name.as_bytes(), &b"1"[..])));
        assert_eq!(given(MOST).unwrap().to_map().len(), MOST + 1);
        assert_eq!(given(MOST + 1).unwrap_err(), "the handler set more than 16384 headers");
    }

    #[test]
    fn fields_are_read_replaced_and_removed() {
        let given = [(&b"X-A"[..], &b"1: 2"[..]), (b"x-ab", b"3"), (b"x-a", b""), (b"Date", b"now")];
        let mut fields = ResponseFields::of_handler(Some(b"a/b"), || given.into_iter()).unwrap();
        let named = HeaderName::from_static;
        assert_eq!(fields.get(&named("x-a")), Some(&b"1: 2"[..]));
        assert_eq!((fields.get(&named("x-")), fields.get(&named("x-b"))), (None, None));
        fields.set(&named("x-a"), HeaderValue::from_static("4"));
        fields.set(&named("x-c"), HeaderValue::from_static("5"));
        fields.remove(&DATE);
        fields.remove(&named("x"));
        assert!(!fields.has_date());
        assert_eq!(
            std::str::from_utf8(fields.text()).unwrap(),
            "content-type: a/b\r\nx-ab: 3\r\nx-content-type-options: nosniff\r\nx-a: 4\r\nx-c: 5\r\n"
        );
        fields.set(&DATE, HeaderValue::from_static("then"));
        assert!(fields.has_date());
    }

    #[test]
    fn fields_take_the_place_of_all_of_their_names() {
        let fields = |given: &[(&str, &str)]| {
            let given = || given.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            ResponseFields::of_handler(None, given).unwrap()
        };
        let mut all = fields(&[("x-a", "1"), ("set-cookie", "a=1"), ("x-b", "2"), ("x-a", "3"), ("date", "now")]);
        all.set_all(&fields(&[("X-A", "4"), ("Set-Cookie", "b=2"), ("Set-Cookie", "c=3")]));
        assert_eq!(
            std::str::from_utf8(all.text()).unwrap(),
            "x-b: 2\r\ndate: now\r\nx-a: 4\r\nset-cookie: b=2\r\nset-cookie: c=3\r\n\
             x-content-type-options: nosniff\r\n"
        );
        assert!(all.has_date());
        let mut server = ResponseFields::of_server(Some("text/plain"));
        server.set_all(&fields(&[("date", "then")]));
        assert!(server.has_date() && server.named(&X_CONTENT_TYPE_OPTIONS).count() == 1);
    }

    #[test]
    fn lists_have_an_element_once() {
        let vary = HeaderName::from_static("vary");
        let with = |given: &[&str]| {
            let given = || given.iter().map(|value| (&b"Vary"[..], value.as_bytes()));
            let mut fields = ResponseFields::of_handler(None, given).unwrap();
            fields.set_in_list(&vary, "origin");
            let found = fields.all().filter(|(name, _)| *name == b"vary").map(|(_, value)| value).collect::<Vec<_>>();
            String::from_utf8(found.join(&b" | "[..])).unwrap()
        };
        assert_eq!(with(&[]), "origin");
        assert_eq!(with(&["Accept-Encoding"]), "Accept-Encoding, origin");
        assert_eq!(with(&["a", "", "b,c"]), "a, b,c, origin");
        assert_eq!(with(&[""]), "origin");
        assert_eq!(with(&["a, Origin"]), "a, Origin");
        assert_eq!(with(&["a", "*"]), "a, *");
        assert_eq!(with(&["x-origin"]), "x-origin, origin");
    }

    #[test]
    fn both_versions_say_the_same() {
        let given = [(&b"Set-Cookie"[..], &b"a=1"[..]), (b"set-cookie", b"b: 2"), (b"x", b"")];
        let mut fields = ResponseFields::of_handler(Some(b"a/b"), || given.into_iter()).unwrap();
        fields.length = Some(7);
        let map = fields.to_map();
        assert_eq!(map.get_all("set-cookie").iter().collect::<Vec<_>>(), ["a=1", "b: 2"]);
        assert_eq!((map["x"].as_bytes(), map["content-length"].as_bytes()), (&b""[..], &b"7"[..]));
        let again = ResponseFields::from(map);
        assert_eq!(again.length, Some(7));
        assert_eq!(again.text().len(), fields.text().len());
        fields.add(&crate::REQUEST_ID, "1");
        let remembered = |name: &str| !fields.to_map()[name].is_sensitive();
        assert!(remembered("x") && !remembered("x-request-id"), "each of them would be compared with all others");
    }
}

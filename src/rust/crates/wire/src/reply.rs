//! Worker to server: the answer to one request.
//!
//! Layout: microseconds that the handler took, status, content type, body kind, number of headers · lengths of header
//! names and values, in turn · their bytes · the body, or the path of the file, or the message of the failure.

use crate::reader::{put_pair_lengths, put_pairs, put_words, Lengths, Reader};
use crate::WireError;

/// The name under which a reply has, among its header fields, the session that its handler wants kept with the client:
/// none that a field can have.
pub const SESSION: &[u8] = b":session";

/// The content types that need no header in the message: they are nearly every reply's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// named among the headers, or none
    None = 0,
    /// `text/plain; charset=utf-8`
    Text = 1,
    /// `application/json`
    Json = 2,
    /// `text/html; charset=utf-8`
    Html = 3,
    /// `application/octet-stream`
    Octet = 4,
    /// `text/plain; charset=UTF-8`, as plumber writes it
    PlumberText = 5,
    /// `text/html; charset=UTF-8`, as plumber writes it
    PlumberHtml = 6,
    /// `text/event-stream`
    Events = 7,
}

impl ContentType {
    const NAMED: [(ContentType, &'static [u8]); 7] = [
        (ContentType::Text, b"text/plain; charset=utf-8"),
        (ContentType::Json, b"application/json"),
        (ContentType::Html, b"text/html; charset=utf-8"),
        (ContentType::Octet, b"application/octet-stream"),
        (ContentType::PlumberText, b"text/plain; charset=UTF-8"),
        (ContentType::PlumberHtml, b"text/html; charset=UTF-8"),
        (ContentType::Events, b"text/event-stream"),
    ];

    /// The one with this value, if there is one.
    pub fn of_value(value: &[u8]) -> Option<Self> {
        Self::NAMED.iter().find(|(_, named)| *named == value).map(|&(content_type, _)| content_type)
    }

    /// The one with this number in a message.
    fn of_word(word: u32) -> Result<Self, WireError> {
        let named = Self::NAMED.iter().map(|&(content_type, _)| content_type);
        std::iter::once(ContentType::None)
            .chain(named)
            .find(|&content_type| content_type as u32 == word)
            .ok_or(WireError("unknown content type"))
    }

    /// The value of the field; `None` for [`ContentType::None`].
    pub fn value(self) -> Option<&'static [u8]> {
        Self::NAMED.iter().find(|(content_type, _)| *content_type == self).map(|&(_, value)| value)
    }
}

const BYTES: u32 = 0;
const FILE: u32 = 1;
const FAILURE: u32 = 2;
const SPOOLED: u32 = 3;
const STREAM: u32 = 4;
const OPENED: u32 = 5;

/// Longest message of a reply in bytes. The body of a longer one waits in a file.
pub const LONGEST_REPLY: usize = 4 << 20;
/// Longest message of a worker of any kind: a command for WebSockets may be longer than a reply.
pub const LONGEST_SAID: usize = crate::websocket::LONGEST_MESSAGE + LONGEST_REPLY;

/// What a reply carries after its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyBody<'a> {
    /// the body
    Bytes(&'a [u8]),
    /// absolute path of a file that the server sends itself
    File(&'a [u8]),
    /// absolute path, at some time, of a file that the server sends itself, and whose descriptor was sent before this
    Opened(&'a [u8]),
    /// it is in a file, whose descriptor was sent before this
    Spooled,
    /// what follows in messages of their own: see [`stream`](crate::stream)
    Stream,
    /// no response of the handler's: the server makes an error of the status, with this detail for the client
    Failure(&'a [u8]),
}

/// Writes a reply: headers first, then exactly one body.
#[derive(Debug)]
pub struct ReplyHead {
    /// 100 to 599
    pub status: u16,
    /// see [`ContentType`]
    pub content_type: ContentType,
}

impl ReplyHead {
    /// Appends everything but the body to `out`; `headers` is asked twice, for lengths and for bytes; the body's bytes
    /// are to be appended by the caller, so that a serializer can write them in place.
    pub fn encode_before_body<'h, H>(&self, kind: ReplyBody<'_>, headers: impl Fn() -> H, out: &mut Vec<u8>)
    where
        H: Iterator<Item = (&'h [u8], &'h [u8])>,
    {
        let kind = match kind {
            ReplyBody::Bytes(_) => BYTES,
            ReplyBody::File(_) => FILE,
            ReplyBody::Opened(_) => OPENED,
            ReplyBody::Failure(_) => FAILURE,
            ReplyBody::Spooled => SPOOLED,
            ReplyBody::Stream => STREAM,
        };
        let count_at = out.len() + 4 * 4;
        put_words(out, [0, u32::from(self.status), self.content_type as u32, kind, 0]);
        put_pair_lengths(out, count_at, headers());
        put_pairs(out, headers());
    }

    /// Appends the whole reply to `out`.
    pub fn encode<'h, H>(&self, body: ReplyBody<'_>, headers: impl Fn() -> H, out: &mut Vec<u8>)
    where
        H: Iterator<Item = (&'h [u8], &'h [u8])>,
    {
        self.encode_before_body(body, headers, out);
        if let ReplyBody::Bytes(b) | ReplyBody::File(b) | ReplyBody::Opened(b) | ReplyBody::Failure(b) = body {
            out.extend_from_slice(b);
        }
    }
}

/// Says in an encoded reply how many microseconds its handler took.
pub fn stamp(reply: &mut [u8], micros: u32) {
    if let Some(word) = reply.first_chunk_mut() {
        *word = micros.to_ne_bytes();
    }
}

/// A reply as the server reads it.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// microseconds that the handler took, by the worker's word
    pub micros: u32,
    /// 100 to 599
    pub status: u16,
    /// see [`ContentType`]
    pub content_type: ContentType,
    /// see [`ReplyBody`]
    pub body: ReplyBody<'a>,
    lengths: Lengths<'a>,
    headers: &'a [u8],
}

impl<'a> Reply<'a> {
    /// Microseconds and status of an encoded reply, by the worker's word; zeros when it is too short to be one.
    pub fn peek(bytes: &[u8]) -> (u32, u32) {
        let mut r = Reader::new(bytes);
        r.u32().and_then(|micros| Ok((micros, r.u32()?))).unwrap_or_default()
    }

    /// Whether an encoded reply is the head of a stream. Of one that is none, hardly more is looked at than that it is
    /// none.
    pub fn is_head(bytes: &[u8]) -> bool {
        Self::kind(bytes) == Ok(STREAM) && Reply::decode(bytes).is_ok()
    }

    /// Whether an encoded reply says that a descriptor was sent before it. Nothing else of it is looked at.
    pub fn has_file(bytes: &[u8]) -> bool {
        matches!(Self::kind(bytes), Ok(SPOOLED | OPENED))
    }

    fn kind(bytes: &[u8]) -> Result<u32, WireError> {
        let mut r = Reader::new(bytes);
        r.bytes(3 * 4).and_then(|_| r.u32())
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When its lengths do not fit its bytes, or a word has a value that this version does not know.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let micros = r.u32()?;
        let status = match r.u32()? {
            s @ 100..=599 => s as u16,
            _ => return Err(WireError("not a status")),
        };
        let content_type = ContentType::of_word(r.u32()?)?;
        let kind = r.u32()?;
        let count = r.u32()?.checked_mul(2).ok_or(WireError("too many headers"))?;
        let lengths = r.lengths(count)?;
        let headers = r.bytes(lengths.total())?;
        let body = match kind {
            BYTES => ReplyBody::Bytes(r.rest()),
            FILE => ReplyBody::File(r.rest()),
            OPENED => ReplyBody::Opened(r.rest()),
            FAILURE => ReplyBody::Failure(r.rest()),
            SPOOLED if r.rest().is_empty() => ReplyBody::Spooled,
            STREAM if r.rest().is_empty() => ReplyBody::Stream,
            _ => return Err(WireError("unknown kind of body")),
        };
        Ok(Reply { micros, status, content_type, body, lengths, headers })
    }

    /// Header names and values, as the handler gave them.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let (lengths, mut rest) = (self.lengths, self.headers);
        (0..lengths.len() / 2).map(move |i| {
            let (name, after) = rest.split_at(lengths.get(2 * i));
            let (value, after) = after.split_at(lengths.get(2 * i + 1));
            rest = after;
            (name, value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_told_by_their_values_and_numbers() {
        for (content_type, value) in ContentType::NAMED {
            assert_eq!(ContentType::of_value(value), Some(content_type));
            assert_eq!(content_type.value(), Some(value));
            assert_eq!(ContentType::of_word(content_type as u32), Ok(content_type));
        }
        assert_eq!(ContentType::of_word(0), Ok(ContentType::None));
        assert!(ContentType::of_word(ContentType::NAMED.len() as u32 + 1).is_err());
        assert_eq!((ContentType::of_value(b"text/csv"), ContentType::None.value()), (None, None));
    }

    #[test]
    fn round_trip_and_hostile_bytes() {
        let head = ReplyHead { status: 201, content_type: ContentType::Json };
        let headers: [(&[u8], &[u8]); 2] = [(b"x-a", b"1"), (b"x-b", b"")];
        let bodies = [
            ReplyBody::Bytes(b"{}"),
            ReplyBody::File(b"/f"),
            ReplyBody::Opened(b"/f"),
            ReplyBody::Failure(b""),
            ReplyBody::Spooled,
            ReplyBody::Stream,
        ];
        for body in bodies {
            let mut out = Vec::new();
            head.encode(body, || headers.iter().copied(), &mut out);
            stamp(&mut out, 77);
            let r = Reply::decode(&out).unwrap();
            assert_eq!((r.micros, Reply::peek(&out)), (77, (77, 201)));
            assert_eq!((r.status, r.content_type, r.body), (201, ContentType::Json, body));
            assert_eq!(Reply::is_head(&out), body == ReplyBody::Stream);
            assert_eq!(Reply::has_file(&out), matches!(body, ReplyBody::Spooled | ReplyBody::Opened(_)));
            assert_eq!(r.headers().collect::<Vec<_>>(), headers);
            for at in 0..out.len() {
                for value in [0, 1, 0x7f, 0xff] {
                    let mut hostile = out.clone();
                    hostile[at] = value;
                    if let Ok(r) = Reply::decode(&hostile) {
                        let _ = r.headers().count();
                    }
                }
            }
        }
    }
}

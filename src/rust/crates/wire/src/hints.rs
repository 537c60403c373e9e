//! Links that a handler has its client told of while it goes on: what the server sends ahead of the response.
//!
//! Worker to server, under the id of the request and before its reply: two words, of which the second stands where a
//! reply has its status and a part of a stream its kind, and is neither; then the links, each the value of a `Link`
//! field, with line feeds in between.

use crate::reader::{put_words, Reader};
use crate::WireError;

const KIND: u32 = 4;

/// Longest text of one message, in bytes; R takes less. What a worker says beyond that is not passed on.
pub const LONGEST_HINTS: usize = 8 << 10;
/// Messages for one request that are passed on: its client need not read them before its response.
pub const MOST_HINTS: u8 = 16;

/// The links of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints<'a>(pub &'a [u8]);

impl<'a> Hints<'a> {
    /// Whether a message is one. Asked of every message about a request.
    pub fn is_one(message: &[u8]) -> bool {
        let mut r = Reader::new(message);
        r.u32().and_then(|_| r.u32()) == Ok(KIND)
    }

    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        put_words(out, [0, KIND]);
        out.extend_from_slice(self.0);
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none, or too long.
    pub fn decode(message: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(message);
        match (r.u32()?, r.u32()?) {
            (_, KIND) if r.rest().len() <= LONGEST_HINTS => Ok(Hints(r.rest())),
            _ => Err(WireError("not links for a client")),
        }
    }

    /// One after the other.
    pub fn links(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|&b| b == b'\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Order, Part};
    use crate::{encoded, Reply};

    #[test]
    fn hints_round_trip_and_are_nothing_else() {
        let message = encoded(|out| Hints(b"<a>; rel=next\n<b>; rel=prev").encode(out));
        assert!(Hints::is_one(&message));
        let links: Vec<_> = Hints::decode(&message).unwrap().links().collect();
        assert_eq!(links, [b"<a>; rel=next", b"<b>; rel=prev"]);
        assert!(Reply::decode(&message).is_err() && !Reply::has_file(&message) && !Reply::is_head(&message));
        assert!(Part::decode(&message).is_err() && Order::decode(&message).is_none());
    }

    #[test]
    fn what_is_neither_is_refused() {
        let piece = encoded(|out| Part::Piece(b"abc").encode(out));
        for bytes in [&b""[..], b"1234567", &[0; 8], &piece] {
            assert!(!Hints::is_one(bytes) && Hints::decode(bytes).is_err(), "{bytes:?}");
        }
        assert!(Hints::decode(&encoded(|out| Hints(&[b'a'; LONGEST_HINTS]).encode(out))).is_ok());
        assert!(Hints::decode(&encoded(|out| Hints(&[b'a'; LONGEST_HINTS + 1]).encode(out))).is_err());
    }
}

//! A response whose body comes piece by piece, and what the server says of a request that runs.
//!
//! Worker to server: first the head, a reply whose body is [`ReplyBody::Stream`](crate::ReplyBody::Stream), then parts,
//! each a message of its own: microseconds that the handler took (in the last one), kind, and bytes. These are of the
//! body, or in the last part the text of its trailers. The kind stands where a reply has its status, and no kind is a
//! valid status, so the two cannot be confused.
//!
//! Server to worker: orders of two words, under the id of the request. No request is that short.
//!
//! Flow: a worker may send pieces worth [`FIRST`] bytes, and as much more as it is granted by [`Order::Credit`]. A
//! piece is worth what [`worth`] says: more than its bytes, so that tiny ones cannot fill the server's memory either.

use crate::reader::{put_words, Reader};
use crate::WireError;

/// What a worker may send before it is granted more, and the least that a stream may have ahead of its client: little,
/// as each of many thousand clients may not read, and enough for a thread to do something at once.
pub const FIRST: usize = 8 << 10;
/// The most that a stream may have ahead of its client.
pub const WINDOW: usize = 256 << 10;
/// Longest piece in bytes: one record of a ring, with room for the words before it.
pub const LONGEST_PIECE: usize = 60 << 10;
/// What a piece costs beside its bytes: about what the server keeps to know of it.
const OVERHEAD: usize = 64;

const PIECE: u32 = 1;
const WHOLE: u32 = 2;
const BROKEN: u32 = 3;

const CREDIT: u32 = 1;
const CANCEL: u32 = 2;
const DRAIN: u32 = 3;

/// How much of the window a piece of `len` bytes takes.
pub fn worth(len: usize) -> usize {
    len + OVERHEAD
}

/// Longest piece that this credit allows.
pub fn affordable(credit: usize) -> usize {
    credit.saturating_sub(OVERHEAD).min(LONGEST_PIECE)
}

/// What follows the head of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// the next bytes of the body
    Piece(&'a [u8]),
    /// there are no more
    End {
        /// fields behind the body, as text
        trailers: &'a [u8],
        /// whether the body is complete
        whole: bool,
        /// microseconds that the handler took
        micros: u32,
    },
}

impl<'a> Part<'a> {
    /// Bytes of a message before those of the piece, or the trailers.
    pub const BEFORE: usize = 8;

    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            Part::Piece(bytes) => {
                put_words(out, [0, PIECE]);
                out.extend_from_slice(bytes);
            }
            Part::End { whole, micros, trailers } => {
                put_words(out, [micros, if whole { WHOLE } else { BROKEN }]);
                out.extend_from_slice(trailers);
            }
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is no part.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let (micros, kind) = (r.u32()?, r.u32()?);
        match kind {
            PIECE if r.rest().len() <= LONGEST_PIECE => Ok(Part::Piece(r.rest())),
            WHOLE | BROKEN if r.rest().len() <= LONGEST_PIECE => {
                Ok(Part::End { whole: kind == WHOLE, micros, trailers: r.rest() })
            }
            _ => Err(WireError("not a part of a stream")),
        }
    }
}

/// What the server says of a request that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// the worker may send pieces worth this many more bytes
    Credit(u32),
    /// the answer is no longer wanted
    Cancel,
    /// the server, or this app, is to end: a stream without an end of its own ends soon
    Drain,
}

impl Order {
    /// The message.
    pub fn encode(self) -> [u8; 8] {
        let (kind, bytes) = match self {
            Order::Credit(bytes) => (CREDIT, bytes),
            Order::Cancel => (CANCEL, 0),
            Order::Drain => (DRAIN, 0),
        };
        let mut out = [0; 8];
        out[..4].copy_from_slice(&kind.to_ne_bytes());
        out[4..].copy_from_slice(&bytes.to_ne_bytes());
        out
    }

    /// Reads a message: `None` when it is none of these, but a request.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != 8 {
            return None;
        }
        let mut r = Reader::new(bytes);
        match (r.u32().ok()?, r.u32().ok()?) {
            (CREDIT, bytes) => Some(Order::Credit(bytes)),
            (CANCEL, _) => Some(Order::Cancel),
            (DRAIN, _) => Some(Order::Drain),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reply;

    #[test]
    fn parts_and_orders_round_trip() {
        for part in [
            Part::Piece(b""),
            Part::Piece(b"abc"),
            Part::End { whole: true, micros: 7, trailers: b"" },
            Part::End { whole: true, micros: 7, trailers: b"a: b\r\n" },
            Part::End { whole: false, micros: u32::MAX, trailers: b"" },
        ] {
            let mut out = Vec::new();
            part.encode(&mut out);
            assert_eq!(Part::decode(&out), Ok(part));
            assert!(Reply::decode(&out).is_err(), "a part is no reply");
        }
        for order in [Order::Credit(u32::MAX), Order::Cancel, Order::Drain] {
            assert_eq!(Order::decode(&order.encode()), Some(order));
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for bytes in [&b""[..], b"1234567", &[0; 8], &[0xff; 16]] {
            assert!(Part::decode(bytes).is_err() && Order::decode(bytes).is_none(), "{bytes:?}");
        }
        let mut long = Vec::new();
        Part::Piece(&[0; LONGEST_PIECE + 1]).encode(&mut long);
        assert!(Part::decode(&long).is_err());
    }
}

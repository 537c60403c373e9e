//! What a handler says while it goes on: links for its client, which the server sends ahead of the response, or how far
//! it is.
//!
//! Worker to server, under the id of the request and before its reply: two words, of which the second stands where a
//! reply has its status and a part of a stream its kind, and is neither. Then the links, each the value of a `Link`
//! field, with line feeds in between; or two numbers, and a text.

use crate::reader::{put_words, Reader};
use crate::WireError;

const LINKS: u32 = 4;
const PROGRESS: u32 = 5;

/// Longest text of one message, in bytes; R takes less. What a worker says beyond that is no message.
pub const LONGEST_NOTICE: usize = 8 << 10;
/// Messages with links for one request that are passed on: its client need not read them before its response.
pub const MOST_LINKS: u8 = 16;

/// How far a handler is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// how much is done
    pub done: f64,
    /// of how much; not a number where that is not known
    pub total: f64,
    /// what is being done; empty for nothing to say
    pub message: &'a [u8],
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Notice<'a> {
    /// values of `Link` fields, with line feeds in between
    Links(&'a [u8]),
    /// how far it is
    Progress(Progress<'a>),
}

impl<'a> Notice<'a> {
    /// Whether a message is one. Asked of every message about a request.
    pub fn is_one(message: &[u8]) -> bool {
        matches!(kind(message), Ok(LINKS | PROGRESS))
    }

    /// Whether it says how far the handler is: then only the latest one counts.
    pub fn is_progress(message: &[u8]) -> bool {
        kind(message) == Ok(PROGRESS)
    }

    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            Notice::Links(links) => {
                put_words(out, [0, LINKS]);
                out.extend_from_slice(links);
            }
            Notice::Progress(Progress { done, total, message }) => {
                put_words(out, [0, PROGRESS]);
                out.extend_from_slice(&done.to_ne_bytes());
                out.extend_from_slice(&total.to_ne_bytes());
                out.extend_from_slice(message);
            }
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none, or too long.
    pub fn decode(message: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(message);
        r.u32()?;
        let kind = r.u32()?;
        if r.rest().len() > LONGEST_NOTICE {
            return Err(WireError("a long notice"));
        }
        match kind {
            LINKS => Ok(Notice::Links(r.rest())),
            PROGRESS => {
                let (done, total) = (f64::from_bits(r.u64()?), f64::from_bits(r.u64()?));
                Ok(Notice::Progress(Progress { done, total, message: r.rest() }))
            }
            _ => Err(WireError("not a notice")),
        }
    }
}

/// The links of a notice, one after the other.
pub fn links(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n')
}

fn kind(message: &[u8]) -> Result<u32, WireError> {
    let mut r = Reader::new(message);
    r.u32()?;
    r.u32()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Order, Part};
    use crate::{encoded, Reply};

    #[test]
    fn notices_round_trip_and_are_nothing_else() {
        let text = b"<a>; rel=next\n<b>; rel=prev";
        assert_eq!(links(text).collect::<Vec<_>>(), [b"<a>; rel=next", b"<b>; rel=prev"]);
        let progress = Progress { done: 2.0, total: 5.0, message: b"fitting" };
        for (notice, is_progress) in [(Notice::Links(text), false), (Notice::Progress(progress), true)] {
            let message = encoded(|out| notice.encode(out));
            assert!(Notice::is_one(&message));
            assert_eq!(Notice::is_progress(&message), is_progress);
            assert_eq!(Notice::decode(&message), Ok(notice));
            assert!(Reply::decode(&message).is_err() && !Reply::has_file(&message) && !Reply::is_head(&message));
            assert!(Part::decode(&message).is_err() && Order::decode(&message).is_none());
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        let piece = encoded(|out| Part::Piece(b"abc").encode(out));
        for bytes in [&b""[..], b"1234567", &[0; 8], &piece] {
            assert!(!Notice::is_one(bytes) && Notice::decode(bytes).is_err(), "{bytes:?}");
        }
        let whole = encoded(|out| Notice::Progress(Progress { done: 1.0, total: f64::NAN, message: b"" }).encode(out));
        for len in 8..whole.len() {
            assert!(Notice::decode(&whole[..len]).is_err(), "cut at {len}");
        }
        assert!(Notice::decode(&encoded(|out| Notice::Links(&[b'a'; LONGEST_NOTICE]).encode(out))).is_ok());
        assert!(Notice::decode(&encoded(|out| Notice::Links(&[b'a'; LONGEST_NOTICE + 1]).encode(out))).is_err());
    }
}

//! What happens on a WebSocket, which the worker is told as a request of its own kind. What workers want done with
//! connections and rooms: [`command`](crate::command).
//!
//! Server to worker: a [`Request`](crate::Request) with [`FLAG_WEBSOCKET`](crate::FLAG_WEBSOCKET), whose body is an
//! [`Event`]. Its reply has the connection's state in its body, when that has changed.

use crate::reader::{halves, len_word, put_words, Reader};
use crate::WireError;

/// Longest message in bytes that a worker may have sent to a WebSocket, and longest command.
pub const LONGEST_MESSAGE: usize = 64 << 20;
/// Longest state of a connection in bytes.
pub const LONGEST_STATE: usize = 64 << 10;

/// What has happened on a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
    /// a client wants to connect; with the sub-protocol that was chosen, empty for none
    Connect(&'a [u8]),
    /// a whole message, of text, which is UTF-8
    Text(&'a [u8]),
    /// a whole message of bytes
    Binary(&'a [u8]),
    /// it is closed
    Close {
        /// of RFC 6455, section 7.4; 1005 when the client gave none, 1006 when it left without a word
        code: u16,
        /// UTF-8
        reason: &'a [u8],
    },
}

/// Something that has happened on a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// names the connection; below 2^53
    pub connection: u64,
    /// what the app keeps of it, as R has serialized it; empty for nothing
    pub state: &'a [u8],
    /// what it is
    pub what: What<'a>,
}

impl<'a> Event<'a> {
    /// Appends it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (kind, code, bytes) = match self.what {
            What::Connect(protocol) => (0, 0, protocol),
            What::Text(bytes) => (1, 0, bytes),
            What::Binary(bytes) => (2, 0, bytes),
            What::Close { code, reason } => (3, u32::from(code), reason),
        };
        let [low, high] = halves(self.connection);
        put_words(out, [low, high, kind, code, len_word(self.state.len())]);
        out.extend_from_slice(self.state);
        out.extend_from_slice(bytes);
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let connection = r.u64()?;
        let (kind, code, len) = (r.u32()?, r.u32()?, r.u32()?);
        let state = r.bytes(len as usize)?;
        let what = match kind {
            0 => What::Connect(r.rest()),
            1 => What::Text(r.rest()),
            2 => What::Binary(r.rest()),
            3 => What::Close { code: code_of(code)?, reason: r.rest() },
            _ => return Err(WireError("unknown event of a WebSocket")),
        };
        Ok(Event { connection, state, what })
    }
}

/// A code of a close.
pub(crate) fn code_of(word: u32) -> Result<u16, WireError> {
    u16::try_from(word).map_err(|_| WireError("not a code of a close"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoded;

    #[test]
    fn events_round_trip() {
        let whats = [
            What::Connect(b"chat"),
            What::Text("é".as_bytes()),
            What::Binary(b"\0\xff"),
            What::Close { code: 1006, reason: b"" },
        ];
        for what in whats {
            let event = Event { connection: 1 << 52 | 7, state: b"st", what };
            let bytes = encoded(|out| event.encode(out));
            assert_eq!(Event::decode(&bytes), Ok(event));
            for cut in 0..22 {
                assert!(Event::decode(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for bytes in [&[9; 20][..], &[0xff; 40], b""] {
            assert!(Event::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}

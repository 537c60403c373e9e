//! WebSockets: what happens on one, which the worker is told as a request of its own kind, and what workers want done
//! with connections and rooms, which they say at any time.
//!
//! Server to worker: a [`Request`](crate::Request) with [`FLAG_WEBSOCKET`](crate::FLAG_WEBSOCKET), whose body is an
//! [`Event`]. Its reply has the connection's state in its body, when that has changed.
//!
//! Worker to server: a [`Command`], with request id 0. The server answers some of them with an [`Answer`], also with id
//! 0, in the order in which they came.

use crate::reader::{len_word, put_u32, put_words, Reader};
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

/// What a worker wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// a message goes to a connection
    Send {
        /// which
        to: u64,
        /// bytes, and not text
        binary: bool,
        /// of text: UTF-8
        message: &'a [u8],
    },
    /// a connection is closed, after what was sent to it before
    Close {
        /// which
        connection: u64,
        /// of RFC 6455, section 7.4
        code: u16,
        /// at most 123 bytes of UTF-8
        reason: &'a [u8],
    },
    /// a connection is in a room from now on
    Join {
        /// which
        connection: u64,
        /// UTF-8
        room: &'a [u8],
        /// what it is called in the list of members, UTF-8
        name: &'a [u8],
    },
    /// and now not any more
    Leave {
        /// which
        connection: u64,
        /// UTF-8
        room: &'a [u8],
    },
    /// a message goes to all that are in a room. Answered: to how many.
    Broadcast {
        /// UTF-8
        room: &'a [u8],
        /// bytes, and not text
        binary: bool,
        /// of text: UTF-8
        message: &'a [u8],
        /// a connection that does not get it; 0 for none
        except: u64,
    },
    /// lists the members of a room. Answered.
    Members {
        /// UTF-8
        room: &'a [u8],
    },
    /// which rooms there are. Answered.
    Rooms,
    /// a request that this worker has failed began when the generator of random numbers was at this
    Seed {
        /// as the server names it
        request: u64,
        /// words of this machine
        seed: &'a [u8],
    },
    /// responses that are kept are to be forgotten. Answered: how many there were.
    Purge {
        /// which
        by: PurgeBy,
        /// UTF-8
        text: &'a [u8],
    },
}

/// Which responses are meant by a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeBy {
    /// those for this path and query
    Key = 0,
    /// those whose path and query begin so
    Prefix = 1,
    /// those that have this tag
    Tag = 2,
}

impl PurgeBy {
    /// As a number.
    pub fn of(number: u32) -> Option<Self> {
        [PurgeBy::Key, PurgeBy::Prefix, PurgeBy::Tag].get(number as usize).copied()
    }
}

impl<'a> Command<'a> {
    /// Whether there is an answer to it.
    pub fn is_answered(&self) -> bool {
        matches!(self, Command::Broadcast { .. } | Command::Members { .. } | Command::Rooms | Command::Purge { .. })
    }

    /// Appends it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // kind, a small number, a connection, a text, and bytes
        let (kind, small, connection, text, bytes): (u32, u32, u64, &[u8], &[u8]) = match *self {
            Command::Send { to, binary, message } => (0, binary.into(), to, &[], message),
            Command::Close { connection, code, reason } => (1, code.into(), connection, &[], reason),
            Command::Join { connection, room, name } => (2, 0, connection, room, name),
            Command::Leave { connection, room } => (3, 0, connection, room, &[]),
            Command::Broadcast { room, binary, message, except } => (4, binary.into(), except, room, message),
            Command::Members { room } => (5, 0, 0, room, &[]),
            Command::Rooms => (6, 0, 0, &[], &[]),
            Command::Purge { by, text } => (7, by as u32, 0, text, &[]),
            Command::Seed { request, seed } => (8, 0, request, &[], seed),
        };
        let [low, high] = halves(connection);
        put_words(out, [kind, small, low, high, len_word(text.len())]);
        out.extend_from_slice(text);
        out.extend_from_slice(bytes);
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let (kind, small) = (r.u32()?, r.u32()?);
        let connection = r.u64()?;
        let len = r.u32()?;
        let text = r.bytes(len as usize)?;
        let bytes = r.rest();
        Ok(match kind {
            0 => Command::Send { to: connection, binary: small != 0, message: bytes },
            1 => Command::Close { connection, code: code_of(small)?, reason: bytes },
            2 => Command::Join { connection, room: text, name: bytes },
            3 => Command::Leave { connection, room: text },
            4 => Command::Broadcast { room: text, binary: small != 0, message: bytes, except: connection },
            5 => Command::Members { room: text },
            6 => Command::Rooms,
            7 => Command::Purge { by: PurgeBy::of(small).ok_or(WireError("unknown way to purge"))?, text },
            8 => Command::Seed { request: connection, seed: bytes },
            _ => return Err(WireError("unknown command for WebSockets")),
        })
    }
}

/// What is said of a room, or of a member of one.
pub type Named = (u64, Vec<u8>);

/// The answer to a command: a number and a text for each of some things. To how many a broadcast went, without text;
/// for each member its connection and what it is called; for each room how many are in it, and its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer(pub Vec<Named>);

impl Answer {
    /// Appends it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for (number, text) in &self.0 {
            let [low, high] = halves(*number);
            put_words(out, [low, high]);
            put_u32(out, len_word(text.len()));
            out.extend_from_slice(text);
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let mut all = Vec::new();
        while !r.rest().is_empty() {
            let number = r.u64()?;
            let len = r.u32()?;
            all.push((number, r.bytes(len as usize)?.to_vec()));
        }
        Ok(Answer(all))
    }
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn code_of(word: u32) -> Result<u16, WireError> {
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
    fn commands_and_answers_round_trip() {
        let room = &b"lobby"[..];
        let commands = [
            Command::Send { to: 1 << 40, binary: true, message: b"x" },
            Command::Close { connection: 3, code: 4000, reason: b"bye" },
            Command::Join { connection: 3, room, name: b"Ann" },
            Command::Leave { connection: 3, room },
            Command::Broadcast { room, binary: false, message: b"hello", except: 9 },
            Command::Members { room },
            Command::Rooms,
            Command::Purge { by: PurgeBy::Tag, text: b"prices" },
            Command::Seed { request: u64::MAX, seed: &[1, 2, 3, 4] },
        ];
        for command in commands {
            let bytes = encoded(|out| command.encode(out));
            assert_eq!(Command::decode(&bytes), Ok(command));
            assert!(Command::decode(&bytes[..19]).is_err());
        }
        let answer = Answer(vec![(7, b"Ann".to_vec()), (1 << 50, Vec::new())]);
        let bytes = encoded(|out| answer.encode(out));
        assert_eq!(Answer::decode(&bytes), Ok(answer));
        assert!(Answer::decode(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn nonsense_is_an_error() {
        for bytes in [&[9; 20][..], &[0xff; 40], b""] {
            assert!(Event::decode(bytes).is_err() && Command::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}

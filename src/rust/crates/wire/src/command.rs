//! What workers want done by the server beside answering requests, which they say at any time: with WebSockets and
//! rooms, with responses that are kept, with jobs.
//!
//! Worker to server: a [`Command`], with request id 0. The server answers some of them with an [`Answer`], also with id
//! 0, which has the number of the command: one that waits for a disk is answered after others that came later.

use crate::reader::{halves, len_word, put_u32, put_words, Reader};
use crate::websocket::code_of;
use crate::WireError;

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
    /// a job is to be run. Answered: 1 and its id, or 0 and why there is none.
    Enqueue {
        /// path and query of what accepts it, UTF-8
        target: &'a [u8],
        /// how it is to be run, a JSON object; after a line feed the body of its request
        job: &'a [u8],
    },
    /// a job is asked for. Answered: see [`JobAsk`]; or 0 and nothing where there is no such job, or 2 and why that is
    /// not known.
    Job {
        /// what is wanted
        ask: JobAsk,
        /// its id; for [`JobAsk::Keyed`] what accepts such jobs, a line feed, and the key
        which: &'a [u8],
    },
}

/// What is wanted of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAsk {
    /// how it is: 1 and a JSON object
    State = 0,
    /// the same of the one that has this key
    Keyed = 1,
    /// what has come of it: 1 and its content type, and then its status and its body; or 3 and why there is nothing
    Result = 2,
    /// that it does not run any more: 1 and nothing when it was not over
    Cancel = 3,
}

impl JobAsk {
    /// As a number.
    pub fn of(number: u32) -> Option<Self> {
        [JobAsk::State, JobAsk::Keyed, JobAsk::Result, JobAsk::Cancel].get(number as usize).copied()
    }
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
        match self {
            Command::Broadcast { .. } | Command::Members { .. } | Command::Rooms => true,
            Command::Purge { .. } | Command::Enqueue { .. } | Command::Job { .. } => true,
            Command::Send { .. } | Command::Close { .. } | Command::Join { .. } | Command::Leave { .. } => false,
            Command::Seed { .. } => false,
        }
    }

    /// Appends it to `out`, with the number by which its worker knows the answer.
    pub fn encode(&self, number: u32, out: &mut Vec<u8>) {
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
            Command::Enqueue { target, job } => (9, 0, 0, target, job),
            Command::Job { ask, which } => (10, ask as u32, 0, which, &[]),
        };
        let [low, high] = halves(connection);
        put_words(out, [kind, number, small, low, high, len_word(text.len())]);
        out.extend_from_slice(text);
        out.extend_from_slice(bytes);
    }

    /// Reads its number, and it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &'a [u8]) -> Result<(u32, Self), WireError> {
        let mut r = Reader::new(bytes);
        let (kind, number, small) = (r.u32()?, r.u32()?, r.u32()?);
        let connection = r.u64()?;
        let len = r.u32()?;
        let text = r.bytes(len as usize)?;
        let bytes = r.rest();
        let command = match kind {
            0 => Command::Send { to: connection, binary: small != 0, message: bytes },
            1 => Command::Close { connection, code: code_of(small)?, reason: bytes },
            2 => Command::Join { connection, room: text, name: bytes },
            3 => Command::Leave { connection, room: text },
            4 => Command::Broadcast { room: text, binary: small != 0, message: bytes, except: connection },
            5 => Command::Members { room: text },
            6 => Command::Rooms,
            7 => Command::Purge { by: PurgeBy::of(small).ok_or(WireError("unknown way to purge"))?, text },
            8 => Command::Seed { request: connection, seed: bytes },
            9 => Command::Enqueue { target: text, job: bytes },
            10 => Command::Job { ask: JobAsk::of(small).ok_or(WireError("unknown question"))?, which: text },
            _ => return Err(WireError("unknown command")),
        };
        Ok((number, command))
    }
}

/// What is said of a room, of a member of one, or of a job.
pub type Named = (u64, Vec<u8>);

/// The answer to a command: a number and a text for each of some things. To how many a broadcast went, without text;
/// for each member its connection and what it is called; for each room how many are in it, and its name; of a job
/// whether there is one, and its id, or what was asked of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer(pub Vec<Named>);

impl Answer {
    /// Appends it to `out`, with the number of the command.
    pub fn encode(&self, number: u32, out: &mut Vec<u8>) {
        put_u32(out, number);
        for (number, text) in &self.0 {
            let [low, high] = halves(*number);
            put_words(out, [low, high]);
            put_u32(out, len_word(text.len()));
            out.extend_from_slice(text);
        }
    }

    /// Which command a message answers.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(bytes: &[u8]) -> Result<u32, WireError> {
        Reader::new(bytes).u32()
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        r.u32()?;
        let mut all = Vec::new();
        while !r.rest().is_empty() {
            let number = r.u64()?;
            let len = r.u32()?;
            all.push((number, r.bytes(len as usize)?.to_vec()));
        }
        Ok(Answer(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoded;

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
            Command::Enqueue { target: b"/fits?n=1", job: b"{}\n[1]" },
            Command::Job { ask: JobAsk::Result, which: b"0123" },
        ];
        for command in commands {
            let bytes = encoded(|out| command.encode(7, out));
            assert_eq!(Command::decode(&bytes), Ok((7, command)));
            assert!(Command::decode(&bytes[..23]).is_err());
        }
        let answer = Answer(vec![(7, b"Ann".to_vec()), (1 << 50, Vec::new())]);
        let bytes = encoded(|out| answer.encode(u32::MAX, out));
        assert_eq!(Answer::number(&bytes), Ok(u32::MAX));
        assert_eq!(Answer::decode(&bytes), Ok(answer));
        assert!(Answer::decode(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn nonsense_is_an_error() {
        for bytes in [&[9; 20][..], &[0xff; 40], b""] {
            assert!(Command::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}

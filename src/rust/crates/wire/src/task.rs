//! Tasks: functions that the handlers of one worker have run in another, whichever is free.
//!
//! Worker to server, with request id 0: a [`Task`]. Server to the worker that runs it: a [`Request`](crate::Request) of
//! the task's route, with the call in its body, which that worker answers with an ordinary reply. Server to the worker
//! that asked: a request of the next route, whose body is the outcome, [`Came`]. The server does not read what R has
//! serialized.

use crate::reader::{halves, put_words, Reader};
use crate::WireError;

/// Longest function with its arguments, and longest value, in bytes.
pub const LONGEST_TASK: usize = 64 << 20;

/// What a task begins with, which no command for WebSockets does.
const KIND: u32 = 16;

/// A task that is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task<'a> {
    /// names it, for the worker that asks
    pub number: u64,
    /// its route: that of no request of a client's
    pub route: u32,
    /// the request whose handler asks, by the word of its name; 0 for none
    pub request: u64,
    /// longest time until its end, in ms; 0 for as long as the request may take
    pub timeout: u64,
    /// what is to be run
    pub call: &'a [u8],
}

impl<'a> Task<'a> {
    /// Whether a message is one.
    pub fn is_one(message: &[u8]) -> bool {
        Reader::new(message).u32() == Ok(KIND)
    }

    /// Appends it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_words(out, [KIND, self.route]);
        for word in [self.number, self.request, self.timeout] {
            put_words(out, halves(word));
        }
        out.extend_from_slice(self.call);
    }

    /// Reads it.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(message: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(message);
        if r.u32()? != KIND {
            return Err(WireError("not a task"));
        }
        let route = r.u32()?;
        Ok(Task { route, number: r.u64()?, request: r.u64()?, timeout: r.u64()?, call: r.rest() })
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// it was run: its value, or its error
    Ran = 0,
    /// it took too long
    Late = 1,
    /// its worker died
    Lost = 2,
    /// no worker was free for too long, or too many tasks of this worker are under way
    Refused = 3,
    /// the server ends, or another app has taken over
    Over = 4,
    /// it came to no value: it was interrupted, or jumped out of everything
    Failed = 5,
}

/// What has come of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Came<'a> {
    /// which one
    pub number: u64,
    /// how
    pub ended: Ended,
    /// its value, as R has serialized it, if it was run
    pub value: &'a [u8],
}

impl Came<'_> {
    /// Appends it to `out`: the value, which R reads without a copy when it comes first, two words of the number, and
    /// one of how it ended.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let [low, high] = halves(self.number);
        out.extend_from_slice(self.value);
        put_words(out, [low, high, self.ended as u32]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;

    #[test]
    fn tasks_round_trip_and_are_no_commands() {
        let task = Task { number: 1 << 33 | 5, route: 7, request: u64::MAX - 1, timeout: 30_000, call: b"call" };
        let mut message = Vec::new();
        task.encode(&mut message);
        assert!(Task::is_one(&message));
        assert_eq!(Task::decode(&message), Ok(task));
        assert!(Command::decode(&message).is_err());
        for cut in 0..32 {
            assert!(Task::decode(&message[..cut]).is_err());
        }
        message.clear();
        Command::Rooms.encode(1, &mut message);
        assert!(!Task::is_one(&message) && Task::decode(&message).is_err());
        message.clear();
        Came { number: 1 << 33, ended: Ended::Failed, value: b"v" }.encode(&mut message);
        assert_eq!(message, [b"v".to_vec(), [0u32, 2, 5].map(u32::to_ne_bytes).concat()].concat());
    }
}

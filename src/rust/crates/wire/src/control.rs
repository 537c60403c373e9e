//! What server, zygote and workers tell each other outside of requests: orders one way, news the other.
//!
//! Layout: a word for the kind, the message's words, and its text. Each is one message of a control channel; the
//! descriptors that some carry are named with them.

use crate::reader::{put_u32, Reader};
use crate::WireError;

/// From the server to a zygote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZygoteOrder {
    /// fork this worker. Descriptors: the worker's end of its control channel, then those of its link, and those of the
    /// link of its C handlers, if it has some.
    Fork {
        /// the server's name for it
        worker: u32,
        /// of the app
        generation: u32,
        /// whether it has the timers that were set while the app was loaded: one worker of the server has them
        timers: bool,
        /// which of the app's pools it is in, 0 for requests that name none
        pool: u32,
    },
    /// be this worker, instead of forking it; same descriptors
    Become {
        /// the server's name for it
        worker: u32,
        /// of the app
        generation: u32,
        /// see above
        timers: bool,
        /// see above
        pool: u32,
    },
    /// the first to a process that the server has started: the memory of `dr_state()`, one descriptor
    State,
    /// end
    Quit {
        /// whether the server ends with it: it runs the app's stop hooks
        last: bool,
    },
}

/// From a zygote to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZygoteNews<'a> {
    /// the next piece of the app's routes and mounts, as JSON
    App(&'a [u8]),
    /// what the process holds, now that the app is loaded, that forks of it must not share, in words; sent before
    /// `Loaded`
    Holds(&'a str),
    /// the app is loaded, and all of its pieces were sent
    Loaded,
    /// the app cannot be loaded; the zygote ends
    LoadFailed(&'a str),
    /// a worker was forked
    Forked {
        /// the server's name for it
        worker: u32,
        /// its process id
        pid: u32,
    },
    /// a worker cannot be forked now
    ForkFailed {
        /// the server's name for it
        worker: u32,
        /// why
        why: &'a str,
    },
    /// a worker has ended
    Exited {
        /// the server's name for it
        worker: u32,
        /// its process id
        pid: u32,
        /// as wait(2) gives it
        status: u32,
    },
}

/// From the server to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerOrder {
    /// end, when what runs has been answered
    Stop {
        /// whether the server ends with it: it has loaded the app by itself, and runs the stop hooks
        last: bool,
    },
    /// look at yourself, and report what you found
    Inspect {
        /// the server's name for it
        number: u32,
        /// what to look at
        what: Inspection,
    },
}

/// What a worker is to find out about itself while it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspection {
    /// what R does: its call stack, sampled
    Stacks {
        /// for so long
        millis: u32,
        /// with so much CPU time between two samples
        interval_us: u32,
    },
    /// what its memory holds: the largest objects
    Objects {
        /// looked for no longer than this
        millis: u32,
    },
}

/// From a worker to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerNews<'a> {
    /// it takes requests
    Ready,
    /// its start failed; it ends
    StartFailed(&'a str),
    /// a line for the log: level 0 news, 1 a client's fault, 2 a handler's fault, 3 details for debugging
    Log {
        /// see above
        level: u32,
        /// the line
        text: &'a str,
    },
    /// R has collected garbage
    Heap {
        /// so often since it was said last
        collections: u32,
        /// taking so long, all together
        micros: u32,
        /// what is allocated now; 0 when that is not known
        bytes: u64,
    },
    /// the next piece of the report of an inspection
    Report {
        /// which one
        number: u32,
        /// of its JSON, which may be cut within a character
        piece: &'a [u8],
        /// whether it is the last one
        last: bool,
    },
    /// an inspection failed
    NoReport {
        /// which one
        number: u32,
        /// why
        why: &'a str,
    },
}

impl ZygoteOrder {
    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        let words = match self {
            ZygoteOrder::Fork { worker, generation, timers, pool } => [1, worker, generation, timers.into(), pool],
            ZygoteOrder::Become { worker, generation, timers, pool } => [2, worker, generation, timers.into(), pool],
            ZygoteOrder::Quit { last } => [3, last.into(), 0, 0, 0],
            ZygoteOrder::State => [4, 0, 0, 0, 0],
        };
        put_words(&words, out);
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let (kind, worker, generation, timers, pool) = (r.u32()?, r.u32()?, r.u32()?, r.u32()? != 0, r.u32()?);
        match kind {
            1 => Ok(ZygoteOrder::Fork { worker, generation, timers, pool }),
            2 => Ok(ZygoteOrder::Become { worker, generation, timers, pool }),
            3 => Ok(ZygoteOrder::Quit { last: worker != 0 }),
            4 => Ok(ZygoteOrder::State),
            _ => Err(WireError("unknown order to a zygote")),
        }
    }
}

impl<'a> ZygoteNews<'a> {
    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            ZygoteNews::App(piece) => {
                put_words(&[1, 0, 0, 0], out);
                out.extend_from_slice(piece);
            }
            ZygoteNews::Loaded => put_words(&[2, 0, 0, 0], out),
            ZygoteNews::Holds(what) => {
                put_words(&[7, 0, 0, 0], out);
                put_text(what, out);
            }
            ZygoteNews::LoadFailed(why) => {
                put_words(&[3, 0, 0, 0], out);
                put_text(why, out);
            }
            ZygoteNews::Forked { worker, pid } => put_words(&[4, worker, pid, 0], out),
            ZygoteNews::ForkFailed { worker, why } => {
                put_words(&[5, worker, 0, 0], out);
                put_text(why, out);
            }
            ZygoteNews::Exited { worker, pid, status } => put_words(&[6, worker, pid, status], out),
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let (kind, worker, pid, status) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
        match kind {
            1 => Ok(ZygoteNews::App(r.rest())),
            2 => Ok(ZygoteNews::Loaded),
            3 => Ok(ZygoteNews::LoadFailed(text(r.rest())?)),
            4 => Ok(ZygoteNews::Forked { worker, pid }),
            5 => Ok(ZygoteNews::ForkFailed { worker, why: text(r.rest())? }),
            6 => Ok(ZygoteNews::Exited { worker, pid, status }),
            7 => Ok(ZygoteNews::Holds(text(r.rest())?)),
            _ => Err(WireError("unknown news of a zygote")),
        }
    }
}

impl WorkerOrder {
    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            WorkerOrder::Stop { last } => put_words(&[1, last.into(), 0, 0], out),
            WorkerOrder::Inspect { number, what: Inspection::Stacks { millis, interval_us } } => {
                put_words(&[2, number, millis, interval_us], out);
            }
            WorkerOrder::Inspect { number, what: Inspection::Objects { millis } } => {
                put_words(&[3, number, millis, 0], out);
            }
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let (kind, number, millis, interval_us) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
        match kind {
            1 => Ok(WorkerOrder::Stop { last: number != 0 }),
            2 => Ok(WorkerOrder::Inspect { number, what: Inspection::Stacks { millis, interval_us } }),
            3 => Ok(WorkerOrder::Inspect { number, what: Inspection::Objects { millis } }),
            _ => Err(WireError("unknown order to a worker")),
        }
    }
}

impl<'a> WorkerNews<'a> {
    /// Appends it to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            WorkerNews::Ready => put_words(&[1, 0], out),
            WorkerNews::StartFailed(why) => {
                put_words(&[2, 0], out);
                put_text(why, out);
            }
            WorkerNews::Log { level, text } => {
                put_words(&[3, level], out);
                put_text(text, out);
            }
            WorkerNews::Report { number, piece, last } => {
                put_words(&[if last { 5 } else { 4 }, number], out);
                out.extend_from_slice(piece);
            }
            WorkerNews::Heap { collections, micros, bytes } => {
                put_words(&[7, collections, micros, bytes as u32, (bytes >> 32) as u32], out);
            }
            WorkerNews::NoReport { number, why } => {
                put_words(&[6, number], out);
                put_text(why, out);
            }
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let (kind, word) = (r.u32()?, r.u32()?);
        match kind {
            1 => Ok(WorkerNews::Ready),
            2 => Ok(WorkerNews::StartFailed(text(r.rest())?)),
            3 => Ok(WorkerNews::Log { level: word, text: text(r.rest())? }),
            4 | 5 => Ok(WorkerNews::Report { number: word, piece: r.rest(), last: kind == 5 }),
            6 => Ok(WorkerNews::NoReport { number: word, why: text(r.rest())? }),
            7 => Ok(WorkerNews::Heap { collections: word, micros: r.u32()?, bytes: r.u64()? }),
            _ => Err(WireError("unknown news of a worker")),
        }
    }
}

/// Longest text of a message; the rest of a longer one is left out.
const LONGEST_TEXT: usize = 32 << 10;

fn put_words(words: &[u32], out: &mut Vec<u8>) {
    for &word in words {
        put_u32(out, word);
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&text.as_bytes()[..end]);
}

fn text(bytes: &[u8]) -> Result<&str, WireError> {
    std::str::from_utf8(bytes).map_err(|_| WireError("a text is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoded;

    #[test]
    fn all_messages_round_trip() {
        let (worker, generation, pid, status) = (7, 3, u32::MAX, 9);
        for order in [
            ZygoteOrder::Fork { worker, generation, timers: false, pool: 3 },
            ZygoteOrder::Become { worker, generation, timers: true, pool: 0 },
            ZygoteOrder::Quit { last: false },
            ZygoteOrder::Quit { last: true },
            ZygoteOrder::State,
        ] {
            assert_eq!(ZygoteOrder::decode(&encoded(|o| order.encode(o))), Ok(order));
        }
        for news in [
            ZygoteNews::App(b"{\"\0"),
            ZygoteNews::Loaded,
            ZygoteNews::LoadFailed("é"),
            ZygoteNews::Forked { worker, pid },
            ZygoteNews::ForkFailed { worker, why: "" },
            ZygoteNews::Exited { worker, pid, status },
        ] {
            assert_eq!(ZygoteNews::decode(&encoded(|o| news.encode(o))), Ok(news));
        }
        for order in [
            WorkerOrder::Stop { last: false },
            WorkerOrder::Stop { last: true },
            WorkerOrder::Inspect { number: 1, what: Inspection::Stacks { millis: 10_000, interval_us: 10_000 } },
            WorkerOrder::Inspect { number: u32::MAX, what: Inspection::Objects { millis: 7 } },
        ] {
            assert_eq!(WorkerOrder::decode(&encoded(|o| order.encode(o))), Ok(order));
        }
        for news in [
            WorkerNews::Ready,
            WorkerNews::StartFailed("x"),
            WorkerNews::Log { level: 2, text: "y" },
            WorkerNews::Report { number: 3, piece: b"{\"\xc3", last: false },
            WorkerNews::Report { number: 3, piece: b"", last: true },
            WorkerNews::NoReport { number: 4, why: "busy" },
            WorkerNews::Heap { collections: 5, micros: u32::MAX, bytes: 7 << 33 },
        ] {
            assert_eq!(WorkerNews::decode(&encoded(|o| news.encode(o))), Ok(news));
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "é".repeat(LONGEST_TEXT) + "x";
        let bytes = encoded(|o| WorkerNews::StartFailed(&format!("a{long}")).encode(o));
        assert!(matches!(WorkerNews::decode(&bytes), Ok(WorkerNews::StartFailed(t)) if t.len() == LONGEST_TEXT - 1));
    }

    #[test]
    fn nonsense_is_an_error() {
        for bytes in [&b""[..], &[9; 3], &[9; 16], &[0; 64]] {
            assert!(ZygoteOrder::decode(bytes).is_err() && WorkerOrder::decode(bytes).is_err());
            assert!(ZygoteNews::decode(bytes).is_err() && WorkerNews::decode(bytes).is_err());
        }
    }
}

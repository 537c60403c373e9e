//! One event of the log, and how bad it is.

use std::time::SystemTime;

/// Before each call of a traceback in a record's text, after the message. R's side has the same: `R/failure.R`.
pub const CALL: char = '\u{1f}';

/// One event.
#[derive(Debug)]
pub struct Record {
    pub at: SystemTime,
    pub level: Level,
    /// records before it that were not written
    pub dropped: u64,
    /// the message, of one line or several, and the calls that led to it, each after a [`CALL`]
    pub text: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// news
    Info,
    /// a client did something wrong
    Warn,
    /// a handler or the server did
    Error,
}

impl Level {
    /// By the number that others give it: 0 news, 1 a client's fault, 2 and above a handler's or the server's.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Level::Info,
            1 => Level::Warn,
            _ => Level::Error,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

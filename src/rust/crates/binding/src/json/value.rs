//! A JSON value that was read, and why there is none.

use std::fmt;

/// The field whose value is a date, to MongoDB and to jsonlite.
pub(super) const DATE: &str = "$date";

/// Why a text was refused. The message is fit for the client: it shows nothing of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonError {
    /// what is wrong, without a full stop
    pub message: String,
    /// where, in bytes from the start; where that is known
    pub offset: Option<usize>,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at byte {offset}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for JsonError {}

impl JsonError {
    /// An error of no particular place.
    pub(super) fn new(message: impl Into<String>) -> Self {
        JsonError { message: message.into(), offset: None }
    }
}

/// One JSON value. Strings without escapes point into the text, all else into the arena.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'b> {
    Null,
    Bool(bool),
    Int(i32),
    Double(f64),
    String(&'b str),
    Array(&'b [Value<'b>]),
    Object(&'b Object<'b>),
}

/// The members of an object, in the order of the text, repeats and all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Object<'b> {
    pub keys: &'b [&'b str],
    pub values: &'b [Value<'b>],
}

/// What was counted while reading.
#[derive(Default, Debug)]
pub(super) struct Counts {
    /// values of all kinds
    pub values: usize,
    /// there is a key `$date`
    pub dates: bool,
}

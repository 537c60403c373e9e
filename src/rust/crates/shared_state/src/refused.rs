//! Why a value is not kept.

use std::fmt;
use std::io;

/// See the module. Nothing has changed then.
#[derive(Debug)]
pub enum Refused {
    /// there are as many entries as there may be
    Entries(u64),
    /// all entries together would take more bytes than they may
    Bytes(u64),
    /// the value takes this many bytes, and may take that many
    Value(u64, u64),
    /// what is there is no number that can be added to
    NotANumber,
    /// the system has no memory
    System(io::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Entries(most) => {
                write!(f, "the state has {most} entries, as many as it may: over `max_state_entries` = {most}")
            }
            Refused::Bytes(most) => {
                write!(f, "the state would take more than {most} bytes: over `max_state` = {most}")
            }
            Refused::Value(len, most) => {
                write!(f, "the value takes {len} bytes, and may take {most}: over `max_state_value` = {most}")
            }
            Refused::NotANumber => f.write_str("the value is not a single number"),
            Refused::System(e) => write!(f, "the system has no memory for the state: {e}"),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(e: io::Error) -> Self {
        Refused::System(e)
    }
}

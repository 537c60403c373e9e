//! What keeps a server from starting.

use std::io;

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// the settings or routes are wrong
    Config(String),
    /// the address cannot be bound
    Listen(String),
    /// the system lacks something
    System(io::Error),
}

impl From<io::Error> for StartError {
    fn from(e: io::Error) -> Self {
        StartError::System(e)
    }
}

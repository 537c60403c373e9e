//! How the program ends when it does not end in peace. `docs/command-line.md` has the table.

use engine::StartError;
use supervisor::Failure;

/// The exit code of a program that has done what it was told to.
pub const SUCCESS: u8 = 0;

/// Exit codes other than [`SUCCESS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// the app cannot be loaded, or its first workers cannot start
    App = 1,
    /// the options are wrong; clap's own errors have the same
    Usage = 2,
    /// the address cannot be listened on
    Address = 3,
    /// the app's file cannot be read, or there is no R
    Missing = 4,
    /// the system lacks something: memory, processes, descriptors
    System = 5,
}

/// Why the program ends.
#[derive(Debug)]
pub struct Error {
    /// for the shell
    pub code: Code,
    /// for a person
    pub message: String,
}

impl Error {
    /// With a text.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into() }
    }
}

impl From<StartError> for Error {
    fn from(e: StartError) -> Self {
        match e {
            StartError::Config(e) => Error::new(Code::Usage, e),
            StartError::Listen(e) => Error::new(Code::Address, e),
            StartError::System(e) => Error::new(Code::System, e.to_string()),
        }
    }
}

impl From<Failure> for Code {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Load | Failure::WorkerStart => Code::App,
            Failure::Listen => Code::Address,
            Failure::System => Code::System,
        }
    }
}

//! How the commands `status`, `reload` and `stop` reach a server of the program that runs: a socket for each, in a
//! folder that belongs to the user. A server whose socket nobody listens on has ended, however it did.
//!
//! One line asks and one line of JSON answers. In reading order: `place` (the folder), `listener` (the server's side),
//! `client` (the commands' side). What a server says, `serve` knows.

mod client;
mod listener;
mod place;

pub(crate) use client::{find, Found, Wanted};
pub(crate) use listener::{Listener, Reply};

use serde::{Deserialize, Serialize};
use supervisor::WorkerStatus;

/// What a server is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// how it is: a [`Status`]
    Status,
    /// to load its app anew: a [`Reloaded`] when that has happened
    Reload,
    /// to end as SIGTERM ends it, or at once: an [`Ending`]; then the connection stays open until the process has ended
    Stop { now: bool },
}

impl Request {
    const ALL: [(Request, &'static str); 4] = [
        (Request::Status, "status"),
        (Request::Reload, "reload"),
        (Request::Stop { now: false }, "stop"),
        (Request::Stop { now: true }, "stop now"),
    ];

    fn word(self) -> &'static str {
        Request::ALL.iter().find(|(request, _)| *request == self).map_or("", |(_, word)| word)
    }

    fn read(line: &str) -> Option<Request> {
        Request::ALL.iter().find(|(_, word)| *word == line).map(|(request, _)| *request)
    }
}

/// How a server is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    /// of the program
    pub(crate) version: String,
    /// its process, as it sees itself
    pub(crate) pid: u32,
    /// its app: a path, or a call
    pub(crate) file: String,
    /// where it is reached; none while its first workers start
    pub(crate) url: Option<String>,
    /// loadings of the app that came to serve
    pub(crate) generation: u32,
    /// seconds since it was started
    pub(crate) age: f64,
    /// connections that are open
    pub(crate) connections: usize,
    /// requests that wait for a worker
    pub(crate) waiting: usize,
    /// the oldest first
    pub(crate) workers: Vec<WorkerStatus>,
}

/// The app was loaded anew; or the text says why it was not.
pub(crate) type Reloaded = Result<u32, String>;

/// It ends, within so many seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// as long as requests in flight may take; 0 when it ends at once
    pub(crate) within: f64,
}

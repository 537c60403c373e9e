//! Where processes that have loaded the app come from.

use std::ffi::OsString;
use std::os::fd::OwnedFd;

/// What a zygote is made of.
#[derive(Debug)]
pub enum Source {
    /// a program that is started, with its control channel as standard input, as often as needed
    Command {
        /// the program
        program: OsString,
        /// its arguments
        args: Vec<OsString>,
        /// variables added to the environment
        env: Vec<(OsString, OsString)>,
    },
    /// a zygote that the R session has forked; when it dies, the session has to fork another
    Zygote {
        /// the server's end of its control channel
        channel: OwnedFd,
        /// its process
        pid: i32,
    },
}

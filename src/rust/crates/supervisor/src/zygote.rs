//! The server's side of a zygote: a process that has loaded the app and forks workers.

use crate::loader::Loader;
use crate::os::Process;
use std::time::{Duration, Instant};

/// How long the hooks of an app may take that did not come to serve.
const HOOKS: Duration = Duration::from_secs(2);

/// A zygote that was started or adopted.
#[derive(Debug)]
pub struct Zygote {
    /// it
    pub process: Process,
    /// its control channel
    pub loader: Loader,
    /// the generation whose workers it forks
    pub generation: u32,
    /// when it is killed: it has not loaded the app by then, has closed its channel, or was told to end
    pub deadline: Option<Instant>,
    /// whether it is to end
    pub leaving: bool,
    /// when it was started
    pub since: Instant,
}

impl Zygote {
    /// Asks it to end by `deadline`. `last`: the server ends with it, and it runs the app's stop hooks.
    pub fn quit(&mut self, deadline: Instant, last: bool) {
        self.leaving = true;
        self.deadline = Some(deadline);
        self.loader.quit(last);
    }

    /// Ends it: in peace when it listens, since it may have hooks to run, and at once while it loads.
    pub fn give_up(&mut self, now: Instant, last: bool) {
        if self.loader.loaded {
            self.quit(now + HOOKS, last);
        } else {
            self.kill();
        }
    }

    /// Ends it and all that it has started.
    pub fn kill(&mut self) {
        self.leaving = true;
        self.deadline = None;
        self.process.kill();
    }
}

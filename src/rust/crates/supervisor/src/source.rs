//! Where processes that have loaded the app come from.

use shared_state::Table;
use shm::Channel;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::loader::Loader;
use crate::os::Process;
use crate::scratch::Scratch;

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

/// A program that can be started again and again.
#[derive(Clone, Debug)]
pub struct Launch {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
}

impl Launch {
    /// What a [`Source::Command`] says, with further variables.
    pub fn new(
        program: OsString,
        args: Vec<OsString>,
        mut env: Vec<(OsString, OsString)>,
        further: Vec<(OsString, OsString)>,
    ) -> Self {
        env.extend(further);
        Launch { program, args, env }
    }

    /// Starts it, as the leader of a group of its own so that Ctrl-C at the terminal is only for the server. It asks
    /// the system to be killed with the thread that calls this, until it watches its control channel. Its temporary
    /// files are in `scratch`, if there is one; `state` is what dr_state() has.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&self, scratch: Option<Scratch>, state: &Table) -> io::Result<(Loader, Process)> {
        let (ours, theirs) = Channel::pair()?;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .envs(scratch.iter().map(|scratch| ("TMPDIR", scratch.path())))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .process_group(0)
            .spawn()
            .map_err(|e| io::Error::new(e.kind(), format!("cannot start {}: {e}", self.program.to_string_lossy())))?;
        // it has not been waited for, so its id is still its own
        let loader = Loader::new(ours, scratch);
        match loader.lend_state(state).and_then(|()| Process::open(child.id() as i32)) {
            Ok(process) => Ok((loader, process)),
            Err(e) => {
                // errors mean that it has ended
                let _ = child.kill();
                let _ = child.wait();
                Err(io::Error::new(e.kind(), format!("cannot watch a process: {e}")))
            }
        }
    }
}

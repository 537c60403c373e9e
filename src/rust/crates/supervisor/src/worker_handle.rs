//! A process that serves requests, as the server sees it.
//!
//! Starting -> Serving -> Retiring -> Stopping, in this order; some are left out, and it may end in any of them.

use crate::asker::UnderWay;
use crate::board::Note;
use crate::loader::{receive, Loader};
use crate::os::Process;
use crate::policy::Wear;
use engine::{WorkerState, WorkerStats};
use shm::{Channel, ServerEnd};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;
use wire::control::WorkerOrder;

/// One worker.
#[derive(Debug)]
pub struct WorkerHandle {
    /// the app that it runs
    pub generation: u32,
    /// which of its pools it is in
    pub pool: u8,
    /// by which routes name that; empty where they name none
    pub pool_name: String,
    /// known when it was forked
    pub pid: Option<i32>,
    /// the same, unless it had ended before it could be looked at
    pub process: Option<Process>,
    /// of a worker that is a fresh process: the channel over which it is told to become a worker
    pub loader: Option<Loader>,
    /// its control channel; none yet while it is a process that loads the app
    pub channel: Option<Channel>,
    /// whether there may be more to read from it
    pub open: bool,
    /// the server's end of its link, until the engine gets it
    pub end: Option<ServerEnd>,
    /// the same of its second link, if it has C handlers
    pub c_end: Option<ServerEnd>,
    /// whether it has the timers that were set while the app was loaded
    pub timers: bool,
    /// it said so; it serves when its process is known, too
    pub ready: bool,
    /// where it is in its life
    pub phase: Phase,
    /// when the present phase, or the wait for the end of its process, is over
    pub deadline: Option<Instant>,
    /// when it was started; when it was ready, once it is
    pub since: Instant,
    /// counted by the engine
    pub stats: Arc<WorkerStats>,
    /// the bounds of its life, once it is ready
    pub wear: Option<Wear>,
    /// what it said, or what was found, about a failure
    pub failure: Option<String>,
    /// the engine has killed it, as it did not answer
    pub hung: bool,
    /// why the server has ended it by a signal
    pub ended_because: Option<&'static str>,
    /// what it was asked to look at, until it has reported
    pub inspection: Option<UnderWay>,
}

/// Where a worker is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// it is made, loads, or runs `on_worker_start`
    Starting,
    /// it takes requests
    Serving,
    /// it takes no more requests; those that it has go on
    Retiring,
    /// it was told to end
    Stopping(Pressed),
}

/// How hard a worker was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// by a message
    Asked,
    /// by SIGTERM
    Terminated,
    /// by SIGKILL
    Killed,
}

impl WorkerHandle {
    /// One that was just ordered.
    pub fn new(generation: u32, pool: u8, now: Instant, deadline: Instant) -> Self {
        WorkerHandle {
            generation,
            pool,
            pool_name: String::new(),
            pid: None,
            process: None,
            loader: None,
            channel: None,
            open: true,
            end: None,
            c_end: None,
            timers: false,
            ready: false,
            phase: Phase::Starting,
            deadline: Some(deadline),
            since: now,
            stats: Arc::default(),
            wear: None,
            failure: None,
            hung: false,
            ended_because: None,
            inspection: None,
        }
    }

    /// Whether it serves, or will.
    pub fn is_staff(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Serving)
    }

    /// Whether its end is wanted.
    pub fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping(_))
    }

    /// How it is called in the log.
    pub fn name(&self) -> String {
        let pool = if self.pool_name.is_empty() { String::new() } else { format!(" ({})", self.pool_name) };
        self.pid.map_or_else(|| format!("a worker{pool}"), |pid| format!("worker {pid}{pool}"))
    }

    /// For the board, once it has a process.
    pub fn note(&self) -> Option<Note> {
        let state = match self.phase {
            Phase::Starting => WorkerState::Starting,
            Phase::Serving => WorkerState::Idle,
            Phase::Retiring | Phase::Stopping(_) => WorkerState::Retiring,
        };
        let (process, stats) = (self.process.clone()?, self.stats.clone());
        let (generation, pool, since) = (self.generation, self.pool_name.clone(), self.since);
        Some(Note { process, generation, pool, state, stats, since })
    }

    /// Asks it to end by `deadline`. `last`: the server ends with it, and it runs the stop hooks of the app that it has
    /// loaded.
    pub fn stop(&mut self, deadline: Instant, last: bool) {
        self.phase = Phase::Stopping(Pressed::Asked);
        self.deadline = Some(deadline);
        let mut message = Vec::new();
        WorkerOrder::Stop { last }.encode(&mut message);
        let sent = self.channel.as_ref().is_some_and(|channel| channel.send(&message, &[]).is_ok());
        if !sent {
            self.deadline = Some(self.since);
        }
    }

    /// Has the system end it by `deadline`.
    pub fn terminate(&mut self, deadline: Instant, why: &'static str) {
        self.ended_because.get_or_insert(why);
        self.phase = Phase::Stopping(Pressed::Terminated);
        self.deadline = Some(deadline);
        if let Some(process) = &self.process {
            process.terminate();
        }
    }

    /// Ends it and all that it has started. The log says why, unless it has been told to end for another reason before.
    pub fn kill(&mut self, why: &'static str) {
        self.ended_because.get_or_insert(why);
        self.phase = Phase::Stopping(Pressed::Killed);
        self.deadline = None;
        // one whose process is not known yet ends when it finds its channel closed
        self.channel = None;
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// The next message of its control channel; `false` when there is none now.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> bool {
        self.channel.as_ref().is_some_and(|channel| receive(channel, &mut self.open, message))
    }

    /// The control channel, as long as there may be something to read.
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.channel.as_ref().filter(|_| self.open).map(AsFd::as_fd)
    }
}

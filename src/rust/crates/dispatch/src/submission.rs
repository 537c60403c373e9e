//! What the dispatcher is given by I/O threads: requests, and news of their clients.

use crate::crew::Crew;
use crate::outcome::Outcome;
use crate::owner::Owner;
use crate::runs::{Of, Runs};
use admission::NEVER;
use bytes::Bytes;
use shm::RequestId;
use std::net::SocketAddr;
use tokio::sync::oneshot;

/// Where a request comes from: those that wait take turns by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// names the client, by its address
    pub client: u64,
    /// names the connection that it comes on
    pub connection: u64,
}

/// Where a request is to go, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Submission {
    /// names it in the log
    pub request: u64,
    /// whose turn it waits for
    pub from: Origin,
    /// the app that routed it
    pub generation: u32,
    /// which of the app's pools has its handler's workers, see [`crate::Seat`]
    pub pool: u8,
    /// the route's target
    pub route: u32,
    /// what runs its handler, in a worker process: R, or C, inline or in a pool
    pub runs: Runs,
    /// ms, from when it came
    pub timeout: u64,
    /// the timeout is its handler's alone, from when a worker has it: no client waits for an answer
    pub times_handler: bool,
    /// whether its handler is interrupted when its client goes
    pub ends_with_client: bool,
    /// whether its ticket tells of what its handler says for its client meanwhile: [`Outcome::Notice`]
    pub takes_notices: bool,
    /// whether it takes a place in the queue, which may be full; what does not is bounded in another way
    pub counts: bool,
    /// the peer, if that is a process of this machine and no proxy for another client
    pub peer: Option<SocketAddr>,
    /// the connection that it opens, where that stays with the worker that it goes to: see `sessions`
    pub opens: Option<u64>,
    /// whether others of its route go with it that wait when it is handed to a worker
    pub batch: Option<Batch>,
    /// the one worker that it may go to: without it, its outcome is [`Outcome::Stale`]
    pub owner: Option<Owner>,
}

impl Submission {
    pub(crate) fn crew(&self) -> Crew {
        Crew { generation: self.generation, pool: self.pool }
    }

    /// What no client has asked for: it takes no place in the queue, and as long as it takes.
    pub fn of_server(from: Origin, generation: u32, pool: u8, route: u32) -> Self {
        Submission {
            request: 0,
            from,
            generation,
            pool,
            route,
            runs: Runs::R,
            timeout: NEVER,
            times_handler: false,
            ends_with_client: false,
            takes_notices: false,
            counts: false,
            peer: None,
            opens: None,
            batch: None,
            owner: None,
        }
    }
}

/// How many requests of a route a worker takes at a time, where it takes several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// most of them
    pub most: usize,
    /// most bytes of their messages together; the first may have more
    pub bytes: usize,
    /// how long the first waits for others, in ms, whether a worker is free or not
    pub wait: u64,
}

/// From an I/O thread to the dispatcher of another.
pub(crate) enum Post {
    /// a request
    Request {
        /// the sender's name for it
        number: u64,
        /// the queue is full: only in the place of another
        is_over: bool,
        /// where it goes
        submission: Submission,
        /// for the worker
        message: Vec<u8>,
        /// the way back to the waiting task
        client: oneshot::Sender<Word>,
    },
    /// its client has gone
    Abandon(u64),
    /// it is not wanted any more if it has not begun
    Withdraw(u64),
    /// a worker's command is answered
    Answer {
        /// the worker that waits for it
        worker: u32,
        /// in which of its lanes
        of: Of,
        /// for the worker
        message: Vec<u8>,
    },
    /// the client of a streamed body has taken pieces worth `bytes` bytes
    Taken {
        /// the worker that streams
        worker: u32,
        /// in which of its lanes
        of: Of,
        /// which of its requests
        id: RequestId,
        /// as `wire` counts them
        bytes: usize,
    },
    /// the client no longer reads a streamed body, which may have ended
    Left {
        /// the worker that streams
        worker: u32,
        /// in which of its lanes
        of: Of,
        /// which of its requests
        id: RequestId,
    },
}

/// What the task of a request is told by the dispatcher of another thread.
pub(crate) enum Word {
    /// the last word
    Outcome(Outcome),
    /// links for its client, and the way by which the next word comes
    Notice(Bytes, oneshot::Receiver<Word>),
}

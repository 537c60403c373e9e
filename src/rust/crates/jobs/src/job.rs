//! What a job is, and what can become of it. Times are in ms since 1970, spans in ms.

use crate::id::JobId;

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// it may be begun
    Waiting = 0,
    /// a worker has it
    Running = 1,
    /// it has a result
    Done = 2,
    /// it has come to no result, and is not tried again
    Failed = 3,
    /// it was not wanted any more
    Cancelled = 4,
    /// it may be begun later
    Scheduled = 5,
}

impl State {
    /// All of them.
    pub const ALL: [State; 6] =
        [State::Waiting, State::Running, State::Done, State::Failed, State::Cancelled, State::Scheduled];

    /// As clients are told.
    pub fn name(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
            State::Scheduled => "scheduled",
        }
    }

    /// The state of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether it stays so.
    pub fn is_over(self) -> bool {
        matches!(self, State::Done | State::Failed | State::Cancelled)
    }

    pub(crate) fn of_number(number: i64) -> State {
        Self::ALL.into_iter().find(|state| *state as i64 == number).unwrap_or(State::Failed)
    }
}

/// What is accepted.
#[derive(Debug, Clone, Default)]
pub struct NewJob {
    /// which handler runs it
    pub kind: String,
    /// what that is given
    pub request: Vec<u8>,
    /// a long body of it, aside
    pub body: Option<Vec<u8>>,
    /// where a job of the kind has this key, that is meant: a client that asks again gets the same one
    pub key: Option<String>,
    /// those with more go first
    pub priority: i32,
    /// not before this time
    pub due: Option<u64>,
}

/// What came of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// it is kept
    New(JobId),
    /// this job has its key
    Existing(JobId),
    /// there is no room for it
    Full(Full),
}

/// Which of its bounds a store has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// that of unfinished jobs
    Jobs,
    /// that of bytes
    Bytes,
}

/// How much a store takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// most jobs that are not over
    pub unfinished: u64,
    /// most bytes of all that is kept, with requests and results, when another job is accepted
    pub bytes: u64,
}

/// How many attempts at a kind of job may begin.
#[derive(Debug, Clone)]
pub struct Room {
    /// which
    pub kind: String,
    /// how many
    pub free: usize,
}

/// A job that is to be run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// which job
    pub id: JobId,
    /// its kind
    pub kind: String,
    /// which attempt at it, from 1: an end that names an earlier one is not believed
    pub attempt: u32,
    /// what was accepted
    pub request: Vec<u8>,
    /// a long body of that
    pub body: Option<Vec<u8>>,
}

/// What a kind of job is to be treated by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// how often a job that has failed is tried again
    pub retries: u32,
    /// before the first such attempt; twice as long before each further one
    pub backoff: u64,
    /// how long a job that is over can be asked for
    pub keep: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// with a result
    Done(Outcome),
    /// without
    Failed {
        /// for who asks
        error: String,
        /// whether another attempt may do better
        may_retry: bool,
    },
    /// the process that ran it has died
    Lost {
        /// for who asks
        error: String,
    },
    /// it was not run, or is to be run by another server: no attempt that counts
    Back {
        /// when it may be begun again
        delay: u64,
    },
}

/// A result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// status of the response that it is
    pub status: u16,
    /// its content type, if it has one
    pub content_type: Option<String>,
    /// its body
    pub body: Vec<u8>,
}

/// Whether an end was believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// the job is in this state now
    As(State),
    /// it is not the latest attempt, or the job is over
    Stale,
}

/// What came of cancelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// it will not be run
    Now,
    /// a worker has it, whose attempt, of this number, counts for nothing any more
    Running(u32),
    /// it was over, in this state
    Over(State),
}

/// How far a computation is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// how much is done
    pub done: f64,
    /// of how much
    pub total: Option<f64>,
    /// what is being done
    pub message: Option<String>,
}

/// What is told of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// its name
    pub id: JobId,
    /// its kind
    pub kind: String,
    /// how far it is
    pub state: State,
    /// how many attempts at it have begun
    pub attempt: u32,
    /// those with more go first
    pub priority: i32,
    /// when it was accepted
    pub created: u64,
    /// when it may be begun
    pub due: u64,
    /// when the latest attempt began
    pub began: Option<u64>,
    /// when it was over
    pub ended: Option<u64>,
    /// why the latest attempt came to nothing
    pub error: Option<String>,
    /// what the running attempt has said of itself
    pub progress: Option<Progress>,
    /// the key that it was accepted with
    pub key: Option<String>,
}

//! What is told of each worker.

use serde::{Deserialize, Serialize};

/// One worker, as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// its process
    pub pid: i32,
    /// whether the process is there
    pub alive: bool,
    /// what it does
    pub state: WorkerState,
    /// the generation of the app that it runs
    pub generation: u32,
    /// requests that it answered
    pub requests: u64,
    /// those among them that it failed
    pub errors: u64,
    /// requests that promises of its handlers will answer
    #[serde(default)]
    pub promises: u64,
    /// the part of its age that it was busy, 0 to 1
    pub busy: f64,
    /// its memory in bytes: what it shares counts by its share (PSS), or in full where the system does not tell
    pub memory: u64,
    /// seconds since it was ready
    pub age: f64,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerState {
    /// it gets ready
    Starting,
    /// it waits for requests
    Idle,
    /// it runs a request
    Busy,
    /// it gets no more requests and ends
    Retiring,
}

impl WorkerState {
    /// The word for it, as in `dr_status()`.
    pub fn name(self) -> &'static str {
        match self {
            WorkerState::Starting => "starting",
            WorkerState::Idle => "idle",
            WorkerState::Busy => "busy",
            WorkerState::Retiring => "retiring",
        }
    }
}

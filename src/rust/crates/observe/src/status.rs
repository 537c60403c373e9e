//! What is told of each worker: by `dr_status()`, `drover status`, the dashboard and metrics.

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
    /// the pool of workers that it is in; empty for that of routes that name none
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pool: String,
    /// requests that it answered
    pub requests: u64,
    /// those among them that it failed
    pub errors: u64,
    /// requests that promises of its handlers will answer
    #[serde(default)]
    pub promises: u64,
    /// the part of its age that it was busy, 0 to 1
    pub busy: f64,
    /// its memory in bytes: what it shares counts by its share (PSS), or in full where the system does not tell, and
    /// where it is asked for each second
    pub memory: u64,
    /// bytes that it has allocated, as it said last; 0 when that is not known
    #[serde(default)]
    pub heap: u64,
    /// seconds since it was ready
    pub age: f64,
    /// the requests whose handlers run there
    #[serde(default)]
    pub runs: Vec<RunningRequest>,
    /// the visitors' sessions that it has
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionStatus>,
}

/// A visitor's session in a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// the address of the visitor
    pub client: String,
    /// seconds since it began
    pub age: f64,
    /// seconds since the visitor has said something
    pub idle: f64,
}

impl WorkerStatus {
    /// What it runs as a text: `GET /slow`, several separated by commas; `None` for nothing.
    pub fn shown_runs(&self) -> Option<String> {
        let shown: Vec<String> = self.runs.iter().map(RunningRequest::shown).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

impl RunningRequest {
    /// Method and path, or the route when its client has left.
    pub fn shown(&self) -> String {
        if self.method.is_empty() {
            self.route.clone()
        } else {
            format!("{} {}", self.method, self.path)
        }
    }
}

/// A request whose handler runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningRequest {
    /// its id, as the log has it
    pub id: String,
    /// as its client sent it; empty when the client has left
    pub method: String,
    /// the same of the path, without the query
    pub path: String,
    /// the pattern of its route; empty where that is not known any more
    pub route: String,
    /// for how long, in seconds
    pub seconds: f64,
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
    /// All of them.
    pub const ALL: [WorkerState; 4] =
        [WorkerState::Starting, WorkerState::Idle, WorkerState::Busy, WorkerState::Retiring];

    /// The same of a worker that has been busy since then, by the engine's clock; 0 for not at all.
    pub fn with(self, busy_since_ms: u64) -> Self {
        if self == WorkerState::Idle && busy_since_ms > 0 {
            WorkerState::Busy
        } else {
            self
        }
    }

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

//! How a server is at a moment: the one thing that `drover status`, its `--watch` and the dashboard show, each in its
//! own form. Neighbours: `gauge` (which takes it), `edge/dashboard` (which sends it).

use crate::jobs::JobCounts;
use dispatch::Running;
use observe::metrics::Figures;
use observe::{RecentError, RunningRequest, SessionStatus, WorkerStatus};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// of an app that is loaded when it is asked for, while it is not there: `asleep`, `starting` or `failed`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// connections that are open
    pub connections: usize,
    /// connections that were closed at once, as their address, or all in handshakes, had too many
    pub refused: u64,
    /// requests that wait for a worker
    pub waiting: usize,
    /// most that may
    #[serde(default)]
    pub max_queue: usize,
    /// entries of `dr_state()`
    #[serde(default)]
    pub state_entries: u64,
    /// bytes that they take
    #[serde(default)]
    pub state_bytes: u64,
    /// jobs, in each state
    #[serde(default, skip_serializing_if = "JobCounts::is_empty")]
    pub jobs: JobCounts,
    /// the oldest first
    pub workers: Vec<WorkerStatus>,
    /// what was counted, if anything is
    #[serde(default)]
    pub figures: Option<Figures>,
    /// the latest errors of the log, the oldest of them first
    #[serde(default)]
    pub errors: Vec<RecentError>,
    /// ids of the failed requests that are kept and can be played again
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replayable: Vec<String>,
}

/// Errors that are told of.
pub(crate) const MOST_ERRORS: usize = 10;

impl Snapshot {
    /// Notes what runs at the workers that run it; `route` gives the pattern of a generation's route.
    pub(crate) fn runs(&mut self, running: Vec<Running>, route: impl Fn(u32, u32) -> String) {
        for request in running {
            let Some(worker) = self.worker(request.pid) else { continue };
            let (method, path) = request.asked.unwrap_or_default();
            worker.runs.push(RunningRequest {
                id: format!("{:016x}", request.request),
                method,
                path,
                route: route(request.generation, request.route),
                seconds: request.took.as_secs_f64(),
            });
        }
    }

    /// Notes visitors' sessions at the workers that have them.
    pub(crate) fn visits(&mut self, sessions: Vec<(Option<i32>, SessionStatus)>) {
        for (pid, session) in sessions {
            if let Some(worker) = self.worker(pid) {
                worker.sessions.push(session);
            }
        }
    }

    /// The worker of this process; `None` for the session that serves, which is the only one that there is.
    fn worker(&mut self, pid: Option<i32>) -> Option<&mut WorkerStatus> {
        self.workers.iter_mut().find(|worker| pid.is_none_or(|pid| worker.pid == pid))
    }
}

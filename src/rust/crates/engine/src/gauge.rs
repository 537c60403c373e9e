//! How much is going on in a server, for whoever asks from another thread. Neighbours: `server`, which has one;
//! `snapshot`, which is what it takes.

use crate::failed::{FailedLine, FailedRequest, FailedRequests};
use crate::jobs::{JobCounts, Jobs, JobsOperator};
use crate::pool::Pool;
use crate::snapshot::{Snapshot, MOST_ERRORS};
use crate::websockets::WebSockets;
use dispatch::Running;
use observe::metrics::Metrics;
use observe::WorkerStatus;
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// See the module.
#[derive(Clone)]
pub struct Gauge {
    http: Arc<httpd::Shared>,
    pool: Pool,
    metrics: Option<Arc<Metrics>>,
    failed: Option<Arc<FailedRequests>>,
    jobs: Arc<Jobs>,
    websockets: Arc<WebSockets>,
}

/// How long the dispatcher may take to say what runs: its thread waits for nothing, but others may have it.
const PATIENCE: Duration = Duration::from_millis(500);

impl Gauge {
    pub(crate) fn new(
        http: Arc<httpd::Shared>,
        pool: Pool,
        metrics: Option<Arc<Metrics>>,
        failed: Option<Arc<FailedRequests>>,
        jobs: Arc<Jobs>,
        websockets: Arc<WebSockets>,
    ) -> Self {
        Gauge { http, pool, metrics, failed, jobs, websockets }
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.http.open()
    }

    /// Connections that were closed at once, as there was no place for their clients.
    pub fn refused(&self) -> u64 {
        self.http.refused()
    }

    /// A line about each failed request that is kept, the latest first; `None` when none are kept.
    pub fn failed(&self) -> Option<Vec<FailedLine>> {
        self.failed.as_ref().map(|failed| failed.lines())
    }

    /// The failed request with this id, if it is kept.
    pub fn failed_request(&self, id: u64) -> Option<FailedRequest> {
        self.failed.as_ref()?.get(id)
    }

    /// What its operator asks of its jobs.
    pub fn jobs(&self) -> JobsOperator {
        JobsOperator::new(self.jobs.clone(), self.pool.clone())
    }

    /// Requests that wait for a worker.
    pub fn waiting(&self) -> usize {
        self.pool.waiting()
    }

    /// How the server is, with these workers. Waits for a moment: not for I/O threads, which have
    /// [`Gauge::snapshot_later`].
    pub fn snapshot(&self, workers: Vec<WorkerStatus>) -> Snapshot {
        let (reply, running) = sync_channel(1);
        self.pool.running(move |running| drop(reply.send(running)));
        let jobs = self.jobs.counts_within(PATIENCE).all();
        self.snapshot_of(workers, running.recv_timeout(PATIENCE).unwrap_or_default(), jobs)
    }

    /// The same, without anybody waiting: with the workers that metrics know.
    pub(crate) async fn snapshot_later(&self) -> Snapshot {
        let (reply, running) = oneshot::channel();
        self.pool.running(move |running| drop(reply.send(running)));
        let workers = self.metrics.as_ref().map(|metrics| metrics.workers.now()).unwrap_or_default();
        let jobs = self.jobs.counts().await.all();
        self.snapshot_of(workers, running.await.unwrap_or_default(), jobs)
    }

    fn snapshot_of(&self, workers: Vec<WorkerStatus>, running: Vec<Running>, jobs: JobCounts) -> Snapshot {
        let (state_entries, state_bytes) = shared_state::counts();
        let mut snapshot = Snapshot {
            state_entries,
            state_bytes,
            jobs,
            connections: self.connections(),
            refused: self.refused(),
            waiting: self.waiting(),
            max_queue: self.http.limits.max_queue,
            workers,
            figures: self.metrics.as_ref().map(|metrics| metrics.figures()),
            errors: self.http.log.recent_errors(MOST_ERRORS),
            replayable: self.failed.as_ref().map(|failed| failed.ids()).unwrap_or_default(),
        };
        snapshot.runs(running, |generation, route| self.pool.pattern(generation, route));
        snapshot.visits(self.websockets.sessions());
        snapshot
    }
}

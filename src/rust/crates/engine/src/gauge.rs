//! How much is going on in a server, for whoever asks from another thread. Neighbours: `server`, which has one;
//! `snapshot`, which is what it takes.

use crate::failed::{FailedLine, FailedRequest};
use crate::jobs::{JobCounts, JobsOperator};
use crate::observed::{state_of, Observed};
use crate::snapshot::{Snapshot, MOST_ERRORS};
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
    metrics: Option<Arc<Metrics>>,
    /// the only one, or of all that the server has
    apps: Vec<Observed>,
}

/// How long the dispatcher may take to say what runs: its thread waits for nothing, but others may have it.
const PATIENCE: Duration = Duration::from_millis(500);

impl Gauge {
    pub(crate) fn new(http: Arc<httpd::Shared>, metrics: Option<Arc<Metrics>>, apps: Vec<Observed>) -> Self {
        Gauge { http, metrics, apps }
    }

    /// The app that is looked at, where it is one.
    fn one(&self) -> Option<&Observed> {
        self.apps.first().filter(|_| self.apps.len() == 1)
    }

    /// Whether nothing of the app runs, until it is asked for.
    pub fn is_asleep(&self) -> bool {
        self.one().is_some_and(|app| app.pool.presence().is_asleep())
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
        self.one()?.failed.as_ref().map(|failed| failed.lines())
    }

    /// The failed request with this id, if it is kept.
    pub fn failed_request(&self, id: u64) -> Option<FailedRequest> {
        self.one()?.failed.as_ref()?.get(id)
    }

    /// What its operator asks of its jobs; `None` of several apps.
    pub fn jobs(&self) -> Option<JobsOperator> {
        self.one().map(|app| JobsOperator::new(app.jobs.clone(), app.pool.clone()))
    }

    /// Requests that wait for a worker.
    pub fn waiting(&self) -> usize {
        self.apps.iter().map(|app| app.pool.waiting()).sum()
    }

    /// How the server is, with these workers. Waits for a moment: not for I/O threads, which have
    /// [`Gauge::snapshot_later`].
    pub fn snapshot(&self, workers: Vec<WorkerStatus>) -> Snapshot {
        let mut looks = Vec::new();
        for app in &self.apps {
            let (reply, running) = sync_channel(1);
            app.pool.running(move |running| drop(reply.send(running)));
            let jobs = app.jobs.counts_within(PATIENCE).all();
            looks.push(Look { running: running.recv_timeout(PATIENCE).unwrap_or_default(), jobs });
        }
        self.snapshot_of(workers, looks)
    }

    /// The same, without anybody waiting: with the workers that metrics know.
    pub(crate) async fn snapshot_later(&self) -> Snapshot {
        let workers = self.metrics.as_ref().map(|metrics| metrics.workers.now()).unwrap_or_default();
        let mut looks = Vec::new();
        for app in &self.apps {
            let (reply, running) = oneshot::channel();
            app.pool.running(move |running| drop(reply.send(running)));
            let jobs = app.jobs.counts().await.all();
            looks.push(Look { running: running.await.unwrap_or_default(), jobs });
        }
        self.snapshot_of(workers, looks)
    }

    /// `looks`: at each app, in their order.
    fn snapshot_of(&self, workers: Vec<WorkerStatus>, looks: Vec<Look>) -> Snapshot {
        let (state_entries, state_bytes) = state_of(&self.apps);
        let one = self.one();
        let mut snapshot = Snapshot {
            app: one.and_then(|app| app.pool.presence().word()).map(str::to_owned),
            state_entries,
            state_bytes,
            jobs: looks.iter().map(|look| look.jobs).sum(),
            connections: self.connections(),
            refused: self.refused(),
            waiting: self.waiting(),
            max_queue: self.http.limits.max_queue,
            workers,
            figures: self.metrics.as_ref().map(|metrics| metrics.figures()),
            errors: self.http.log.recent_errors(MOST_ERRORS),
            replayable: one.and_then(|app| app.failed.as_ref()).map(|failed| failed.ids()).unwrap_or_default(),
        };
        for (app, look) in self.apps.iter().zip(looks) {
            snapshot.runs(look.running, |generation, route| app.pool.pattern(generation, route));
            snapshot.visits(app.websockets.sessions());
        }
        snapshot
    }
}

/// What was seen of an app.
struct Look {
    running: Vec<Running>,
    jobs: JobCounts,
}

//! Jobs: requests that are answered at once with a place to ask, and run later, as any other, by workers that have
//! nothing else to do. What outlives the server is the crate `jobs`; here is what clients ask ([`Jobs::answer`]), the
//! app ([`enqueue()`], [`ask()`]) and whoever runs the server ([`JobsOperator`]), and what begins attempts ([`run`]).

mod accept;
mod ask;
mod asked;
mod attempt;
mod changes;
mod counts;
mod enqueue;
mod events;
mod operator;
mod outcome;
mod pages;
mod route;
mod runner;
mod schedule;
mod shown;
mod wanted;

pub use ask::ask;
pub use counts::JobCounts;
pub use enqueue::enqueue;
pub use operator::{JobAct, JobList, JobsOperator, JobsWanted};
pub use route::{secrets, JobRoute};
pub use runner::run;
pub use schedule::check_cron;
pub use shown::{JobLine, JobProgress};

use crate::config::{JobPart, Settings};
use crate::view::View;
use ::jobs::{now, Bounds, Cancelled, Desk, Full, JobId, Place, Store, StoreError};
use changes::Changes;
use counts::{Attempts, Counted};
use http::StatusCode;
use httpd::{Failure, Response};
use observe::{Level, Log};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, Notify};
use wanted::Wanted;

/// A response that waits for the store.
pub type Answering = Pin<Box<dyn Future<Output = Responded> + Send>>;

type Responded = Result<Response, Failure>;

/// What is said of a job that is none, or is not for the one who asks.
const NONE: &str = "there is no such job, or not any more";

/// How long a server that ends is waited for: it has the file until then.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the module.
pub struct Jobs {
    /// opened when the server starts, or, in memory, with the first job: most apps have none
    desk: OnceLock<Desk>,
    bounds: Bounds,
    /// most that run at once, see [`Settings::jobs_at_once`]
    at_once: usize,
    /// where the bodies of attempts wait for their workers
    folder: PathBuf,
    log: Log,
    /// attempts that run here
    under_way: Mutex<HashMap<JobId, UnderWay>>,
    /// attempts that were cancelled before they were among these
    missed: Mutex<HashSet<(JobId, u32)>>,
    /// there may be something to begin
    wake: Notify,
    /// how many there are, as it was a moment ago
    counted: Arc<Mutex<Counted>>,
    /// attempts that have ended here
    attempts: Mutex<Attempts>,
    /// jobs of which something is different now
    changes: Changes,
    /// no attempt begins any more
    ends: AtomicBool,
    /// what the app wants goes to the thread that has the queue. Not by its runtime, which has what has this.
    wanted: OnceLock<UnboundedSender<Wanted>>,
}

struct UnderWay {
    kind: String,
    /// which one: after a job was cancelled and tried again, the one before may still be ending
    attempt: u32,
    /// its job is not wanted any more
    cancel: oneshot::Sender<()>,
}

impl Jobs {
    /// With a store in a file, if the settings name one.
    ///
    /// # Errors
    /// A text that names the file, and says why it cannot be opened.
    pub fn open(settings: &Settings, log: &Log) -> Result<Self, String> {
        let jobs = Jobs {
            desk: OnceLock::new(),
            bounds: Bounds { unfinished: settings.max_jobs, bytes: settings.max_jobs_size as u64 },
            at_once: settings.jobs_at_once,
            folder: settings.upload_path.clone(),
            log: log.clone(),
            under_way: Mutex::default(),
            missed: Mutex::default(),
            wake: Notify::new(),
            counted: Arc::default(),
            attempts: Mutex::default(),
            changes: Changes::new(),
            ends: AtomicBool::new(false),
            wanted: OnceLock::new(),
        };
        if let Some(path) = &settings.jobs_store {
            let desk = Desk::open(&Place::File(path.clone()), jobs.bounds, PATIENCE);
            let _ = jobs.desk.set(desk.map_err(|e| format!("{}: {e}", path.display()))?);
            jobs.wake.notify_one();
        }
        Ok(jobs)
    }

    /// The answer to a request that is about jobs.
    pub fn answer(self: &Arc<Self>, job: &JobRoute, view: &View<'_, '_>) -> Answering {
        match job.part {
            JobPart::Accept => accept::answer(self.clone(), job, view),
            JobPart::Show => pages::show(self.clone(), job, view),
            JobPart::Result => pages::result(self.clone(), job, view),
            JobPart::Cancel => pages::cancel(self.clone(), job, view),
        }
    }

    /// From now on no attempt begins, and no client waits for the end of a job. Attempts that run go on, until the
    /// server ends.
    pub fn drain(&self) {
        self.ends.store(true, Relaxed);
        self.changes.end();
    }

    /// Whether none runs.
    pub fn are_at_rest(&self) -> bool {
        self.under_way().is_empty()
    }

    /// The store, which is opened now if it is one in memory.
    fn desk(&self) -> Result<&Desk, StoreError> {
        if let Some(desk) = self.desk.get() {
            return Ok(desk);
        }
        let desk = Desk::open(&Place::Memory, self.bounds, Duration::ZERO)?;
        Ok(self.desk.get_or_init(|| desk))
    }

    /// Has the store do this, for a client.
    async fn ask<T, F>(&self, act: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnMut(&mut Store) -> Result<T, StoreError> + Send + 'static,
    {
        let asked = async { self.desk()?.ask(act).await };
        asked.await.map_err(|e| self.failed(&e))
    }

    /// Has a job not run any more, and interrupts the attempt that does. `None` when there is no such job. One that is
    /// over stays as it is.
    async fn cancel(&self, id: JobId, keep: u64) -> Result<Option<Cancelled>, StoreError> {
        let cancelled = self.desk()?.ask(move |store| store.cancel(id, keep, now())).await?;
        if let Some(Cancelled::Running(attempt)) = cancelled {
            if !self.interrupt(id, attempt) {
                self.missed().insert((id, attempt));
            }
        }
        self.changed(id);
        Ok(cancelled)
    }

    /// Has an attempt end. `false` when it is not under way: it has not begun, or has just ended.
    fn interrupt(&self, id: JobId, attempt: u32) -> bool {
        match self.left(id, attempt) {
            // one that has just ended does not hear it
            Some(under_way) => under_way.cancel.send(()).is_ok(),
            None => false,
        }
    }

    /// An attempt is under way no more.
    fn left(&self, id: JobId, attempt: u32) -> Option<UnderWay> {
        let mut under_way = self.under_way();
        let is_it = under_way.get(&id).is_some_and(|one| one.attempt == attempt);
        if is_it {
            under_way.remove(&id)
        } else {
            None
        }
    }

    fn missed(&self) -> MutexGuard<'_, HashSet<(JobId, u32)>> {
        locked(&self.missed)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<JobId, UnderWay>> {
        locked(&self.under_way)
    }

    /// Something is different now of a job: those that wait for it look again, and there may be another to begin.
    fn changed(&self, id: JobId) {
        self.changes.say(id);
        self.wake.notify_one();
    }

    /// Why there is no room for another job, the setting that says so, and what that is.
    fn said(&self, full: Full) -> (&'static str, &'static str, u64) {
        match full {
            Full::Jobs => ("too many jobs wait", "max_jobs", self.bounds.unfinished),
            Full::Bytes => ("jobs take too much room", "max_jobs_size", self.bounds.bytes),
        }
    }

    /// What a client is told of the store's failure, which is in the log.
    fn failed(&self, e: &StoreError) -> Failure {
        self.log.line(Level::Error, &format!("the store of jobs: {e}"));
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "jobs cannot be read or written now")
    }
}

/// What a client is told of a job that is none.
fn nothing() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, NONE)
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // no code panics while holding one of these locks
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

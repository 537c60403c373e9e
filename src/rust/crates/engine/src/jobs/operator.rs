//! What whoever runs the server asks of its jobs: those of all kinds, whichever policies are around their paths.
//! Neighbour: `pages`, what clients ask.

use super::counts::{Counts, JobCounts};
use super::shown::JobLine;
use super::{Jobs, NONE};
use crate::pool::Pool;
use ::jobs::{now, Answer, Cancelled, JobId, State, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long a cancelled job of a kind that the app does not have any more can be asked for, in ms: a day, the default.
const KEEP: u64 = 24 * 3_600_000;

/// See the module. Its answers may be awaited by any runtime.
#[derive(Clone)]
pub struct JobsOperator {
    jobs: Arc<Jobs>,
    pool: Pool,
}

/// What may be done to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAct {
    /// it runs once more, as if it were new, when it has failed or was cancelled
    Retry,
    /// it does not run any more, and is interrupted if it does
    Cancel,
}

impl JobAct {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            JobAct::Retry => "retry",
            JobAct::Cancel => "cancel",
        }
    }

    /// The one with this word.
    pub fn of(word: &str) -> Option<Self> {
        [JobAct::Retry, JobAct::Cancel].into_iter().find(|act| act.word() == word)
    }
}

/// Which jobs are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsWanted {
    /// of this kind only
    pub kind: Option<String>,
    /// in this state only
    pub state: Option<State>,
    /// how many of these: the latest
    pub most: usize,
}

/// Jobs, the latest first, and how many there are in all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// those that are wanted
    pub jobs: Vec<JobLine>,
    /// of all jobs
    pub counts: JobCounts,
}

impl JobsWanted {
    fn list(&self, store: &Store) -> Result<Vec<JobLine>, StoreError> {
        let jobs = store.list(self.kind.as_deref(), self.state, self.most)?;
        Ok(jobs.into_iter().map(JobLine::from).collect())
    }
}

impl JobsOperator {
    pub(crate) fn new(jobs: Arc<Jobs>, pool: Pool) -> Self {
        JobsOperator { jobs, pool }
    }

    /// The jobs that are wanted, and the counts of all.
    ///
    /// # Errors
    /// Why the store cannot be read; as for all of these.
    pub async fn list(self, wanted: JobsWanted) -> Result<JobList, String> {
        let Some(desk) = self.jobs.desk.get() else { return Ok(JobList::default()) };
        let list = desk.ask(move |store| Ok(JobList { jobs: wanted.list(store)?, counts: Counts::of(store)?.all() }));
        list.await.map_err(said)
    }

    /// The jobs that are wanted, for a thread that is none of a runtime: it waits.
    ///
    /// # Errors
    /// See [`JobsOperator::list`].
    pub fn list_now(&self, wanted: JobsWanted) -> Result<Vec<JobLine>, String> {
        self.lines(wanted).map_or(Ok(Vec::new()), |lines| lines.wait().map_err(said))
    }

    /// The latest jobs, for those that look on; none where they cannot be read.
    pub(crate) async fn latest(self, most: usize) -> Vec<JobLine> {
        match self.lines(JobsWanted { kind: None, state: None, most }) {
            Some(lines) => lines.await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    fn lines(&self, wanted: JobsWanted) -> Option<Answer<Vec<JobLine>>> {
        Some(self.jobs.desk.get()?.ask(move |store| wanted.list(store)))
    }

    /// The job with this id, if there is one.
    ///
    /// # Errors
    /// See [`JobsOperator::list`].
    pub async fn find(self, id: JobId) -> Result<Option<JobLine>, String> {
        let Some(desk) = self.jobs.desk.get() else { return Ok(None) };
        let job = desk.ask(move |store| store.find(id)).await.map_err(said)?;
        Ok(job.map(JobLine::from))
    }

    /// Has this done to the job with this id.
    ///
    /// # Errors
    /// Why it is not: there is none, or it is in another state; also that of [`JobsOperator::list`].
    pub async fn act(self, act: JobAct, id: JobId) -> Result<(), String> {
        match act {
            JobAct::Retry => self.retry(id).await,
            JobAct::Cancel => self.cancel(id).await,
        }
    }

    async fn retry(self, id: JobId) -> Result<(), String> {
        let desk = self.jobs.desk.get().ok_or(NONE)?;
        let state = desk.ask(move |store| {
            let Some(job) = store.find(id)? else { return Ok(None) };
            Ok(Some(if store.retry(id, now())? { None } else { Some(job.state) }))
        });
        match state.await.map_err(said)? {
            None => Err(NONE.to_owned()),
            Some(Some(state)) => Err(format!("it is {}: only failed and cancelled jobs can be retried", state.name())),
            Some(None) => {
                self.jobs.changed(id);
                Ok(())
            }
        }
    }

    async fn cancel(self, id: JobId) -> Result<(), String> {
        let desk = self.jobs.desk.get().ok_or(NONE)?;
        let job = desk.ask(move |store| store.find(id)).await.map_err(said)?.ok_or(NONE)?;
        let app = self.pool.app(0);
        let rules = app.kinds_of_jobs().find(|(_, of)| of.kind == job.kind).map(|(_, of)| of.rules);
        match self.jobs.cancel(id, rules.map_or(KEEP, |rules| rules.keep)).await.map_err(said)? {
            None => Err(NONE.to_owned()),
            Some(Cancelled::Over(state)) => Err(format!("it is {} already", state.name())),
            Some(Cancelled::Now | Cancelled::Running(_)) => Ok(()),
        }
    }
}

/// Of a failure of the store.
pub(super) fn said(e: StoreError) -> String {
    format!("the store of jobs: {e}")
}

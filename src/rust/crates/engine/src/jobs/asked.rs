//! A job that a client asks for.

use super::changes::Listener;
use super::{shown, JobRoute, Jobs};
use crate::view::View;
use ::jobs::{Job, JobId};
use http::StatusCode;
use httpd::Failure;
use std::sync::Arc;

/// A job that a request names, of the kind that its route is of.
pub struct Asked {
    pub jobs: Arc<Jobs>,
    id: Option<JobId>,
    kind: String,
    place: String,
}

impl Asked {
    pub fn new(jobs: Arc<Jobs>, job: &JobRoute, view: &View<'_, '_>, below: &str) -> Self {
        let id = view.params.last().and_then(|id| JobId::parse(id));
        Asked { jobs, id, kind: job.kind.clone(), place: shown::place_of(view, below) }
    }

    /// The job. One of another kind is none: other policies may be around it.
    pub async fn find(&self) -> Result<Job, Failure> {
        let nothing = || Failure::new(StatusCode::NOT_FOUND, "there is no such job, or not any more");
        let id = self.id.ok_or_else(nothing)?;
        let desk = self.jobs.desk().map_err(|e| self.jobs.failed(&e))?;
        let found = desk.ask(move |store| store.find(id)).await.map_err(|e| self.jobs.failed(&e))?;
        found.filter(|job| job.kind == self.kind).ok_or_else(nothing)
    }

    /// Hears of the job from now on.
    pub fn listen(&self, id: JobId) -> Listener {
        self.jobs.changes.listen(id)
    }

    /// The address of the job, for its client.
    pub fn place(&self) -> &str {
        &self.place
    }
}

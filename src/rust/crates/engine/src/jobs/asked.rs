//! A job that a client asks for.

use super::changes::Listener;
use super::{nothing, shown, JobRoute, Jobs};
use crate::view::View;
use ::jobs::{Job, JobId};
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
        let id = self.id.ok_or_else(nothing)?;
        let found = self.jobs.ask(move |store| store.find(id)).await?;
        found.filter(|job| job.kind == self.kind).ok_or_else(nothing)
    }

    /// The job, and what happens to it from then on.
    pub async fn follow(&self) -> Result<(Job, Listener), Failure> {
        // before the look, so that no change falls between
        let listener = self.jobs.changes.listen(self.id.ok_or_else(nothing)?);
        Ok((self.find().await?, listener))
    }

    /// The address of the job, for its client.
    pub fn place(&self) -> &str {
        &self.place
    }
}

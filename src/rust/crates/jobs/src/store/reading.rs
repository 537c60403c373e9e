//! What is told of jobs.

use super::Store;
use crate::error::StoreError;
use crate::id::JobId;
use crate::job::{Job, Outcome, State};
use rusqlite::{params, OptionalExtension as _, Row};
use std::collections::BTreeMap;

/// The columns that [`job`] reads.
const COLUMNS: &str = "id, kind, state, attempt, priority, created, due, began, ended, error, key";

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let time = |at: usize| row.get::<_, i64>(at).map(|ms| ms as u64);
    Ok(Job {
        id: JobId::from_bytes(row.get(0)?),
        kind: row.get(1)?,
        state: State::of_number(row.get(2)?),
        attempt: row.get(3)?,
        priority: row.get(4)?,
        created: time(5)?,
        due: time(6)?,
        began: row.get::<_, Option<i64>>(7)?.map(|ms| ms as u64),
        ended: row.get::<_, Option<i64>>(8)?.map(|ms| ms as u64),
        error: row.get(9)?,
        progress: None,
        key: row.get(10)?,
    })
}

impl Store {
    /// A job, unless it was forgotten.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn find(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE id = ?"))?;
        let found = found.query_row(params![id.bytes()], job).optional()?;
        Ok(found.map(|job| self.with_progress(job)))
    }

    /// The job of a kind that has this key, unless it was forgotten.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn find_keyed(&self, kind: &str, key: &str) -> Result<Option<Job>, StoreError> {
        let mut found = self.db.prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE kind = ? AND key = ?"))?;
        let found = found.query_row(params![kind, key], job).optional()?;
        Ok(found.map(|job| self.with_progress(job)))
    }

    /// What a job has come to.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn result(&self, id: JobId) -> Result<Option<Outcome>, StoreError> {
        let found = "SELECT status, content_type, body FROM results JOIN jobs USING (number) WHERE id = ?";
        let row = self.db.prepare_cached(found)?.query_row(params![id.bytes()], |row| {
            Ok(Outcome { status: row.get(0)?, content_type: row.get(1)?, body: row.get(2)? })
        });
        Ok(row.optional()?)
    }

    /// Up to `most` jobs, the latest first: of a kind, in a state, where these are given.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self, kind: Option<&str>, state: Option<State>, most: usize) -> Result<Vec<Job>, StoreError> {
        let listed = format!(
            "SELECT {COLUMNS} FROM jobs WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR state = ?2)
             ORDER BY number DESC LIMIT ?3"
        );
        let mut listed = self.db.prepare_cached(&listed)?;
        let state = state.map(|state| state as i64);
        let jobs = listed.query_map(params![kind, state, most as i64], job)?;
        jobs.map(|job| Ok(self.with_progress(job?))).collect()
    }

    /// How many jobs there are of each kind, by their states.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn counts(&self) -> Result<BTreeMap<String, Vec<(State, u64)>>, StoreError> {
        let mut counted = self.db.prepare_cached("SELECT kind, state, count(*) FROM jobs GROUP BY kind, state")?;
        let rows = counted.query_map((), |row| {
            Ok((row.get::<_, String>(0)?, State::of_number(row.get(1)?), row.get::<_, i64>(2)? as u64))
        })?;
        let mut counts = BTreeMap::<String, Vec<(State, u64)>>::new();
        for row in rows {
            let (kind, state, n) = row?;
            counts.entry(kind).or_default().push((state, n));
        }
        Ok(counts)
    }

    fn with_progress(&self, job: Job) -> Job {
        let progress = self.progress.get(&job.id).cloned();
        Job { progress, ..job }
    }
}

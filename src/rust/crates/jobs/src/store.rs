//! The store: each function is one step in the life of a job. Steps are made within a transaction of the caller's,
//! [`Store::at_once`].

mod ends;
mod opening;
mod reading;
mod schedule;

pub use opening::Place;

use crate::error::StoreError;
use crate::id::JobId;
use crate::job::{Accepted, Attempt, Bounds, Cancelled, Full, NewJob, Progress, Room, State};
use rusqlite::{params, Connection, OptionalExtension as _};
use std::collections::HashMap;

/// See the module.
pub struct Store {
    db: Connection,
    /// jobs that are not over
    unfinished: u64,
    /// bytes of all jobs, when the transaction began, and of those that it has accepted
    used: u64,
    bounds: Bounds,
    /// of attempts that run: it ends with them, and costs no write
    progress: HashMap<JobId, Progress>,
}

/// What steps in the life of a job depend on.
struct Known {
    /// its name in the file
    number: i64,
    state: State,
    /// the latest
    attempt: u32,
}

impl Store {
    /// Makes steps in one transaction: all of them are kept, or none.
    ///
    /// # Errors
    /// The first one's error, or that of the disk.
    pub fn at_once<T>(&mut self, steps: impl FnOnce(&mut Store) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        self.used = self.size()?;
        let made = steps(self);
        let kept = match &made {
            Ok(_) => self.db.execute_batch("COMMIT").map_err(StoreError::from),
            Err(_) => Ok(()),
        };
        if made.is_err() || kept.is_err() {
            // a disk that is full may have rolled it back already
            let _ = self.db.execute_batch("ROLLBACK");
            self.count()?;
        }
        kept.and(made)
    }

    /// Jobs that are not over.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Bytes that jobs take, of the memory or the file: the system may have more of it, which the next ones get.
    fn size(&self) -> Result<u64, StoreError> {
        let sizes = "SELECT (page_count - freelist_count) * page_size
                     FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        Ok(self.db.prepare_cached(sizes)?.query_row((), |row| row.get::<_, i64>(0))? as u64)
    }

    fn count(&mut self) -> Result<(), StoreError> {
        let unfinished: i64 =
            self.db.query_row("SELECT count(*) FROM jobs WHERE forget IS NULL", (), |row| row.get(0))?;
        self.unfinished = unfinished as u64;
        Ok(())
    }

    /// Accepts a job.
    ///
    /// # Errors
    /// When it could not be written, or the system has no random bytes.
    pub fn accept(&mut self, job: &NewJob, now: u64) -> Result<Accepted, StoreError> {
        if let Some(key) = &job.key {
            let same = "SELECT id FROM jobs WHERE kind = ? AND key = ?";
            let mut same = self.db.prepare_cached(same)?;
            if let Some(id) = same.query_row(params![job.kind, key], |row| row.get(0)).optional()? {
                return Ok(Accepted::Existing(JobId::from_bytes(id)));
            }
        }
        if self.unfinished >= self.bounds.unfinished {
            return Ok(Accepted::Full(Full::Jobs));
        }
        let len = job.request.len() + job.body.as_ref().map_or(0, Vec::len);
        if self.used + len as u64 > self.bounds.bytes {
            return Ok(Accepted::Full(Full::Bytes));
        }
        self.used += len as u64;
        self.add(job, now).map(Accepted::New)
    }

    fn add(&mut self, job: &NewJob, now: u64) -> Result<JobId, StoreError> {
        let id = JobId::new().ok_or_else(|| StoreError("the system has no random bytes to give".to_owned()))?;
        let due = job.due.filter(|due| *due > now);
        let state = if due.is_some() { State::Scheduled } else { State::Waiting };
        self.db
            .prepare_cached(
                "INSERT INTO jobs (id, kind, state, priority, due, key, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                id.bytes(),
                job.kind,
                state as i64,
                job.priority,
                due.unwrap_or(now) as i64,
                job.key,
                now as i64
            ])?;
        self.db
            .prepare_cached("INSERT INTO requests (number, request, body) VALUES (last_insert_rowid(), ?, ?)")?
            .execute(params![job.request, job.body])?;
        self.unfinished += 1;
        Ok(id)
    }

    /// Begins attempts, at most `most` in all: of what waits those with the highest priority, and of these the oldest.
    ///
    /// # Errors
    /// When they could not be written.
    pub fn claim(&mut self, rooms: &[Room], most: usize, now: u64) -> Result<Vec<Attempt>, StoreError> {
        self.db
            .prepare_cached("UPDATE jobs SET state = 0 WHERE state = 5 AND due <= ?")?
            .execute(params![now as i64])?;
        let mut first: Vec<(i64, i64)> = Vec::new();
        for room in rooms {
            let free = room.free.min(most) as i64;
            let waiting =
                "SELECT priority, number FROM jobs WHERE state = 0 AND kind = ? ORDER BY priority DESC, number LIMIT ?";
            let mut waiting = self.db.prepare_cached(waiting)?;
            let rows = waiting.query_map(params![room.kind, free], |row| Ok((-row.get::<_, i64>(0)?, row.get(1)?)))?;
            first.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        first.sort_unstable();
        first.truncate(most);
        first.into_iter().map(|(_, number)| self.begin(number, now)).collect()
    }

    fn begin(&mut self, number: i64, now: u64) -> Result<Attempt, StoreError> {
        let begun = "UPDATE jobs SET state = 1, attempt = attempt + 1, began = ? WHERE number = ?
                     RETURNING id, kind, attempt";
        let (id, kind, attempt) = self.db.prepare_cached(begun)?.query_row(params![now as i64, number], |row| {
            Ok((JobId::from_bytes(row.get(0)?), row.get(1)?, row.get(2)?))
        })?;
        let asked = "SELECT request, body FROM requests WHERE number = ?";
        let (request, body) =
            self.db.prepare_cached(asked)?.query_row(params![number], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Attempt { id, kind, attempt, request, body })
    }

    /// When the next job may be begun that may not yet.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_due(&self) -> Result<Option<u64>, StoreError> {
        let next = "SELECT min(due) FROM jobs WHERE state = 5";
        let due: Option<i64> = self.db.prepare_cached(next)?.query_row((), |row| row.get(0))?;
        Ok(due.map(|due| due as u64))
    }

    /// Notes how far an attempt is. Whether it is the one that runs.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn progress(&mut self, id: JobId, attempt: u32, progress: Progress) -> Result<bool, StoreError> {
        let known = self.state(id)?;
        let runs = known.is_some_and(|job| job.state == State::Running && job.attempt == attempt);
        if runs {
            self.progress.insert(id, progress);
        }
        Ok(runs)
    }

    /// Has a job not run any more. An attempt that runs counts for nothing.
    ///
    /// # Errors
    /// When that could not be written.
    pub fn cancel(&mut self, id: JobId, keep: u64, now: u64) -> Result<Option<Cancelled>, StoreError> {
        let Some(Known { number, state, attempt }) = self.state(id)? else { return Ok(None) };
        if state.is_over() {
            return Ok(Some(Cancelled::Over(state)));
        }
        self.finish(number, State::Cancelled, None, now, keep)?;
        self.progress.remove(&id);
        Ok(Some(if state == State::Running { Cancelled::Running(attempt) } else { Cancelled::Now }))
    }

    /// Has a job run that has failed or was cancelled, as if it were new. Whether there is one.
    ///
    /// # Errors
    /// When that could not be written.
    pub fn retry(&mut self, id: JobId, now: u64) -> Result<bool, StoreError> {
        let Some(Known { number, state: State::Failed | State::Cancelled, .. }) = self.state(id)? else {
            return Ok(false);
        };
        let again = "UPDATE jobs SET state = 0, due = ?, failures = 0, losses = 0, ended = NULL, forget = NULL,
                     error = NULL WHERE number = ?";
        self.db.prepare_cached(again)?.execute(params![now as i64, number])?;
        self.unfinished += 1;
        Ok(true)
    }

    /// Forgets a job that is over. Whether there is one.
    ///
    /// # Errors
    /// When that could not be written.
    pub fn remove(&mut self, id: JobId) -> Result<bool, StoreError> {
        let gone = "DELETE FROM jobs WHERE id = ? AND forget IS NOT NULL";
        Ok(self.db.prepare_cached(gone)?.execute(params![id.bytes()])? == 1)
    }

    /// Forgets some of the jobs that have been over for long enough. How many.
    ///
    /// # Errors
    /// When that could not be written.
    pub fn forget(&mut self, now: u64) -> Result<usize, StoreError> {
        let old = "DELETE FROM jobs WHERE number IN (SELECT number FROM jobs WHERE forget <= ? LIMIT 1000)";
        Ok(self.db.prepare_cached(old)?.execute(params![now as i64])?)
    }

    /// How a job is.
    fn state(&self, id: JobId) -> Result<Option<Known>, StoreError> {
        let mut found = self.db.prepare_cached("SELECT number, state, attempt FROM jobs WHERE id = ?")?;
        let row = found.query_row(params![id.bytes()], |row| {
            Ok(Known { number: row.get(0)?, state: State::of_number(row.get(1)?), attempt: row.get(2)? })
        });
        Ok(row.optional()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{End, Kept, Outcome, Rules};
    use std::time::Duration;

    #[test]
    fn a_full_disk_takes_no_job_and_loses_none() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::File(folder.path().join("jobs"));
        let bounds = Bounds { unfinished: 1000, bytes: u64::MAX };
        let mut store = Store::open(&place, bounds, Duration::ZERO).unwrap();
        let job = NewJob { kind: "k".to_owned(), request: vec![7; 100_000], ..NewJob::default() };
        let most = |store: &Store, pages: i64| {
            let set = store.db.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0));
            assert!(set.is_ok(), "{set:?}");
        };
        let pages: i64 = store.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        most(&store, pages + 100);
        let mut accepted = Vec::new();
        let full = loop {
            match store.at_once(|store| store.accept(&job, 1)) {
                Ok(Accepted::New(id)) => accepted.push(id),
                other => break other,
            }
        };
        assert!(full.unwrap_err().to_string().contains("full"));
        assert_eq!((accepted.len(), store.unfinished()), (4, 4));
        // those that are there go on, as far as there is room
        let rooms = [Room { kind: "k".to_owned(), free: 1 }];
        let first = store.at_once(|store| store.claim(&rooms, 1, 2)).unwrap().remove(0);
        let rules = Rules { retries: 0, backoff: 0, keep: 1000 };
        let long = End::Done(Outcome { status: 200, content_type: None, body: vec![1; 200_000] });
        assert!(store.at_once(|store| store.end(first.id, first.attempt, &long, &rules, 3)).is_err());
        assert_eq!(store.unfinished(), 4);
        most(&store, pages + 1000);
        let kept = store.at_once(|store| store.end(first.id, first.attempt, &long, &rules, 4)).unwrap();
        assert_eq!(kept, Kept::As(State::Done));
        assert!(matches!(store.at_once(|store| store.accept(&job, 5)), Ok(Accepted::New(_))));
        drop(store);
        let store = Store::open(&place, bounds, Duration::ZERO).unwrap();
        assert_eq!(store.unfinished(), 4);
        assert!(accepted.iter().all(|id| store.find(*id).unwrap().is_some()));
    }
}

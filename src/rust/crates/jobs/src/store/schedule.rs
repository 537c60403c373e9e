//! Jobs by the clock: one for each turn. A turn is the time at which it begins, in ms since 1970: it is the same for a
//! server that starts anew, and later than those of a schedule that the kind had before.

use super::Store;
use crate::error::StoreError;
use crate::id::JobId;
use crate::job::NewJob;
use rusqlite::{params, OptionalExtension as _};

/// What the keys of such jobs begin with: no client's does.
const KEY: &str = "turn ";

impl Store {
    /// Adds the job of a turn, unless it was added before; or one of an earlier turn is not over, which is then that of
    /// this one as well. Turns that have passed without a server are one. The first turn of a kind that is new is over.
    ///
    /// # Errors
    /// When that could not be written.
    pub fn take_turn(&mut self, job: &NewJob, turn: u64, now: u64) -> Result<Option<JobId>, StoreError> {
        let kept = "SELECT turn FROM schedules WHERE kind = ?";
        let last: Option<i64> =
            self.db.prepare_cached(kept)?.query_row(params![job.kind], |row| row.get(0)).optional()?;
        if last.is_some_and(|last| last as u64 >= turn) {
            return Ok(None);
        }
        let noted = "INSERT INTO schedules (kind, turn) VALUES (?1, ?2) ON CONFLICT (kind) DO UPDATE SET turn = ?2";
        self.db.prepare_cached(noted)?.execute(params![job.kind, turn as i64])?;
        if last.is_none() || self.has_turn(&job.kind)? {
            return Ok(None);
        }
        self.add(&NewJob { key: Some(format!("{KEY}{turn}")), ..job.clone() }, now).map(Some)
    }

    /// Whether a job of a turn of this kind is not over.
    fn has_turn(&self, kind: &str) -> Result<bool, StoreError> {
        let found = "SELECT 1 FROM jobs WHERE kind = ? AND key GLOB ? AND forget IS NULL";
        Ok(self.db.prepare_cached(found)?.exists(params![kind, format!("{KEY}*")])?)
    }
}

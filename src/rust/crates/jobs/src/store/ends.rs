//! Attempts end, and jobs with them.

use super::Store;
use crate::clock::now;
use crate::error::StoreError;
use crate::id::JobId;
use crate::job::{End, Kept, Outcome, Rules, State};
use rusqlite::{params, OptionalExtension as _};

/// How often a job may take its process, or the server, along before it is not tried again: it may be what kills them.
const MOST_LOSSES: u32 = 3;

/// No longer between two attempts, in ms.
const LONGEST_BACKOFF: u64 = 3_600_000;

/// How long jobs that have taken servers along can be asked for, in ms: their kind's rules are not known when a store
/// is opened.
const KEEP_LOST: u64 = 24 * 3_600_000;

/// Of an attempt that has ended.
struct Ending {
    number: i64,
    failures: u32,
    losses: u32,
}

impl Store {
    /// An attempt has ended. Only the latest one of a job that runs is believed.
    ///
    /// # Errors
    /// When that could not be written.
    pub fn end(&mut self, id: JobId, attempt: u32, end: &End, rules: &Rules, now: u64) -> Result<Kept, StoreError> {
        let runs = "SELECT number, failures, losses FROM jobs WHERE id = ? AND state = 1 AND attempt = ?";
        let ending = self.db.prepare_cached(runs)?.query_row(params![id.bytes(), attempt], |row| {
            Ok(Ending { number: row.get(0)?, failures: row.get(1)?, losses: row.get(2)? })
        });
        let Some(ending) = ending.optional()? else { return Ok(Kept::Stale) };
        self.progress.remove(&id);
        let number = ending.number;
        let state = match end {
            End::Done(outcome) => {
                self.put_result(number, outcome)?;
                self.finish(number, State::Done, None, now, rules.keep)?;
                State::Done
            }
            End::Failed { error, may_retry } if *may_retry && ending.failures < rules.retries => {
                let delay = rules.backoff.saturating_mul(1 << ending.failures.min(30)).min(LONGEST_BACKOFF);
                self.again(&Ending { failures: ending.failures + 1, ..ending }, Some(error), now, delay)?
            }
            End::Failed { error, .. } => {
                self.finish(number, State::Failed, Some(error), now, rules.keep)?;
                State::Failed
            }
            End::Lost { error } => self.lost(ending, error, now, rules.keep)?,
            End::Back { delay } => self.again(&ending, None, now, *delay)?,
        };
        Ok(Kept::As(state))
    }

    fn put_result(&mut self, number: i64, outcome: &Outcome) -> Result<(), StoreError> {
        let put = "INSERT INTO results (number, status, content_type, body) VALUES (?, ?, ?, ?)";
        let Outcome { status, content_type, body } = outcome;
        self.db.prepare_cached(put)?.execute(params![number, status, content_type, body])?;
        // what has failed may be tried again by its operator; this is not
        self.db.prepare_cached("DELETE FROM requests WHERE number = ?")?.execute(params![number])?;
        Ok(())
    }

    /// It is over.
    pub(super) fn finish(
        &mut self,
        number: i64,
        state: State,
        error: Option<&str>,
        now: u64,
        keep: u64,
    ) -> Result<(), StoreError> {
        let over = "UPDATE jobs SET state = ?, error = ?, ended = ?, forget = ? WHERE number = ?";
        let forget = now.saturating_add(keep).min(i64::MAX as u64) as i64;
        self.db.prepare_cached(over)?.execute(params![state as i64, error, now as i64, forget, number])?;
        self.unfinished = self.unfinished.saturating_sub(1);
        Ok(())
    }

    /// Its process has ended.
    fn lost(&mut self, ending: Ending, error: &str, now: u64, keep: u64) -> Result<State, StoreError> {
        if ending.losses + 1 >= MOST_LOSSES {
            self.finish(ending.number, State::Failed, Some(error), now, keep)?;
            return Ok(State::Failed);
        }
        self.again(&Ending { losses: ending.losses + 1, ..ending }, Some(error), now, 0)
    }

    /// It waits for another attempt.
    fn again(&mut self, ending: &Ending, error: Option<&str>, now: u64, delay: u64) -> Result<State, StoreError> {
        let state = if delay == 0 { State::Waiting } else { State::Scheduled };
        let due = now.saturating_add(delay) as i64;
        let again = "UPDATE jobs SET state = ?, due = ?, failures = ?, losses = ?, error = ? WHERE number = ?";
        let Ending { number, failures, losses } = ending;
        self.db.prepare_cached(again)?.execute(params![state as i64, due, failures, losses, error, number])?;
        Ok(state)
    }

    /// The attempts of a server that has ended are lost.
    pub(super) fn take_over(&mut self) -> Result<(), StoreError> {
        let running = "SELECT number, failures, losses FROM jobs WHERE state = 1";
        let mut running = self.db.prepare(running)?;
        let rows = running
            .query_map((), |row| Ok(Ending { number: row.get(0)?, failures: row.get(1)?, losses: row.get(2)? }))?;
        let endings = rows.collect::<Result<Vec<_>, _>>()?;
        drop(running);
        for ending in endings {
            self.lost(ending, "the server ended while it ran", now(), KEEP_LOST)?;
        }
        Ok(())
    }
}

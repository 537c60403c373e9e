//! Requests of a lane that are over their time.

use super::{Held, Lane};
use shm::RequestId;

impl Lane {
    /// A request whose handler is over its deadline; one that streams has none.
    pub(crate) fn first_late(&self, now: u64) -> Option<RequestId> {
        let is_late = |held: &&Held| !held.later && held.stream.is_none() && now >= held.request.deadline;
        self.all().filter(is_late).map(|held| held.request.id).find(|id| self.has_begun(*id))
    }

    /// Forgets requests to be answered later that were not by their deadline: they may never be. A reply that comes
    /// after all is dropped, as its id is not used again. `true` if there were any.
    pub(crate) fn forget_late(&mut self, now: u64) -> bool {
        if self.awaited == 0 {
            return false;
        }
        let late = |held: &&Held| held.is_awaited() && now >= held.request.deadline;
        let late: Vec<_> = self.all().filter(late).map(|held| held.request.id).collect();
        for &id in &late {
            self.free(id);
        }
        !late.is_empty()
    }

    /// Marks what runs long after its deadline as stuck. The last of those that are newly so, by its name in the log.
    pub(crate) fn mark_stuck(&mut self, now: u64) -> Option<u64> {
        let over = |held: &&mut Held| !held.later && !held.stuck && now >= held.due;
        let mark = |held: &mut Held| {
            held.stuck = true;
            held.request.request
        };
        self.held.iter_mut().flatten().filter(over).map(mark).last()
    }

    /// Whether anything that it has can still become late.
    pub(crate) fn has_deadlines(&self) -> bool {
        self.r.as_ref().is_some_and(|r| r.unresponsive_at != u64::MAX)
            || self.all().any(|held| held.due != u64::MAX && !held.stuck)
    }

    /// Whether handlers that are stuck are all that it has.
    pub(crate) fn is_only_stuck(&self) -> bool {
        self.len > 0 && self.all().all(|held| held.stuck)
    }
}

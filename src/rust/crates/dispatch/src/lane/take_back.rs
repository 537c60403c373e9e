//! Requests that a lane was given ahead and has not begun, taken back: another worker may be free for them.

use super::Lane;
use crate::assigned::Assigned;
use crate::runs::Runs;
use shm::RequestId;
use std::time::{Duration, Instant};

impl Lane {
    /// What was handed ahead and has not begun, all but `keep` of it: taken back, oldest first. But for what no other
    /// worker may have.
    pub(crate) fn revoke_unbegun(&mut self, keep: usize) -> Vec<Assigned> {
        self.revoke_unbegun_if(keep, |_| true)
    }

    fn revoke_unbegun_if(&mut self, keep: usize, may_go: impl Fn(&Assigned) -> bool) -> Vec<Assigned> {
        let mut unbegun: Vec<(u64, RequestId)> = self
            .all()
            .filter(|h| !h.request.is_bound && !self.has_begun(h.request.id) && may_go(&h.request))
            .map(|h| (h.turn, h.request.id))
            .collect();
        unbegun.sort_unstable_by_key(|&(turn, _)| turn);
        let mut taken = Vec::new();
        // from the end, so that the worker does not race us to each of them
        for &(_, id) in unbegun.iter().skip(keep).rev() {
            taken.extend(self.revoke(id));
        }
        taken.reverse();
        taken
    }

    /// Whether something waits here behind others, or may: R has other things to do between requests.
    pub(crate) fn has_ahead(&self) -> bool {
        self.main.n > self.width
            || (self.inline.n > 0 && self.running() > 1)
            || (self.main.n > 0 && self.works_between())
    }

    /// What waits here behind what R does between requests, taken back: when that has taken longer than `slow`, or than
    /// `unknown` where there is no more than the time to tell. For a lane of R.
    pub(crate) fn take_back_from_between(&mut self, now: Instant, slow: Duration, unknown: Duration) -> Vec<Assigned> {
        let slow = self.time_to_begin(if self.works_between() { slow } else { unknown });
        if self.stalled(now, slow) == 0 {
            return Vec::new();
        }
        let taken = self.revoke_unbegun(0);
        if !taken.is_empty() {
            self.r.iter_mut().for_each(|r| r.misses(now));
        }
        taken
    }

    /// What waits here behind handlers that have been at it for longer than `slow`, taken back.
    pub(crate) fn take_back(&mut self, now: Instant, slow: Duration) -> Vec<Assigned> {
        if self.inline.n > 0 && self.inline.quiet_for(now) > slow && self.runs_inline() {
            return self.revoke_unbegun(0);
        }
        if self.main.n > self.width && self.main.quiet_for(now) > slow {
            let begun =
                self.all().filter(|h| h.runs != Runs::Inline && !h.later && self.has_begun(h.request.id)).count();
            // what begins along with a request does not wait behind it
            let keep = self.width.saturating_sub(begun) + self.inline.n;
            return self.revoke_unbegun_if(keep, |request| !request.is_along);
        }
        Vec::new()
    }

    /// What R has to come back from between requests.
    pub(crate) fn time_to_begin(&self, slow: Duration) -> Duration {
        self.r.as_ref().map_or(slow, |r| r.time_to_begin(slow))
    }

    /// Takes a request back. `None` when it has begun.
    pub(crate) fn revoke(&mut self, id: RequestId) -> Option<Assigned> {
        self.held_mut(id)?;
        if !self.link.revoke(id) {
            return None;
        }
        self.take(id).map(|held| held.request)
    }
}

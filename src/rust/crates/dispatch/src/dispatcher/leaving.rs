//! Requests whose answer is not wanted any more, or only if they have begun.

use super::Dispatcher;
use crate::outcome::Outcome;
use crate::request::{Key, Place, Waiter};
use crate::runs::Of;
use crate::submission::Submission;
use exchange::now;

impl Dispatcher {
    /// The client has gone: a request that waits is taken back, one that runs is interrupted if that is wanted.
    pub(crate) fn abandon(&mut self, key: Key) {
        // so that what runs is known
        self.drain();
        let interrupts = self.entries.get(key).is_some_and(|entry| entry.submission.ends_with_client);
        self.leave(key, now(), interrupts);
        if let Some(entry) = self.entries.remove(key) {
            if !matches!(entry.waiter, Waiter::Answered(_)) {
                self.tasks.end_with(key);
                self.is_out_no_more(entry.submission.counts, entry.promised);
            }
        }
    }

    /// The answer is not wanted any more. Wherever the request is, it is taken back if it has not begun; if it has, it
    /// is interrupted when `interrupts`, and otherwise at its deadline.
    pub(crate) fn leave(&mut self, key: Key, now: u64, interrupts: bool) {
        if self.recall(key) {
            return;
        }
        let Some(entry) = self.entries.get(key) else { return };
        let Place::Lane(at, of, id) = entry.place else { return };
        let deadline = entry.deadline();
        let due = deadline.max(now) + self.kill_after;
        let Some(worker) = self.workers.get_mut(at) else { return };
        let Some(lane) = worker.lane_mut(of) else { return };
        if of == Of::C || lane.streams(id) {
            lane.cancel(id, due);
        } else if lane.leave(id) {
            worker.count_in_flight();
            self.freed(at, of);
        } else if interrupts {
            worker.interrupt(id, due, now >= deadline);
        }
    }

    /// The request is taken back from wherever it is. `false` when it has begun, and `true` when it is over.
    fn recall(&mut self, key: Key) -> bool {
        let Some(entry) = self.entries.get(key) else { return true };
        if matches!(entry.waiter, Waiter::Answered(_)) {
            return true;
        }
        let submission = entry.submission;
        match entry.place {
            Place::Queue => self.forget(key, submission),
            Place::Lane(at, of, id) => {
                let Some(worker) = self.workers.get_mut(at) else { return true };
                if worker.lane_mut(of).and_then(|lane| lane.revoke(id)).is_none() {
                    return false;
                }
                worker.count_in_flight();
                self.freed(at, of);
            }
        }
        true
    }

    /// A request waits no more. What is behind it may have a place at a worker, though this one had none.
    pub(super) fn forget(&mut self, key: Key, submission: Submission) {
        if submission.owner.is_some() {
            self.workers.iter_mut().for_each(|(_, worker)| worker.bound.retain(|&bound| bound != key));
            return;
        }
        self.generations.iter_mut().for_each(|g| g.forget(submission.from, key));
        self.count_waiting();
        if let Some(g) = self.index(submission.crew()) {
            self.pump(g, self.line(&submission));
        }
    }

    /// The request is not wanted if it has not begun: then it has no place in the queue any more. If it has, it goes on
    /// as before.
    pub(crate) fn withdraw(&mut self, key: Key) {
        // so that what runs is known
        self.drain();
        if self.recall(key) {
            self.settle(key, Outcome::Full);
        }
    }
}

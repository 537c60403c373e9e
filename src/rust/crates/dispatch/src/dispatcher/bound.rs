//! Requests that one worker only may have: what is kept of their connection is there.
//!
//! C handlers have theirs at once, as they are quick. R's wait here until R is free for them, and take turns with the
//! requests that any worker may have: so their time begins when they do, and neither keeps the others waiting.

use super::requests::Choice;
use super::Dispatcher;
use crate::choose::has_time;
use crate::outcome::Outcome;
use crate::owner::Owner;
use crate::request::{Key, Waiter};
use crate::runs::Runs;
use crate::submission::Submission;
use crate::wakes::watch;

impl Dispatcher {
    /// Hands a request to the one worker that may have it. What happens on a connection is bounded in another way than
    /// by places in the queue, and a request of a client has one.
    pub(super) fn hand_to(&mut self, key: Key, submission: Submission, owner: Owner) {
        let at = self.workers.iter().find(|(_, worker)| worker.owner() == owner).map(|(at, _)| at);
        let lane = at.and_then(|at| self.workers[at].lane(submission.runs.into()).map(|lane| (at, lane)));
        match lane {
            Some((at, _)) if submission.runs == Runs::R => {
                self.workers[at].bound.push_back(key);
                self.pump_bound(at);
                watch();
            }
            Some((at, lane)) if lane.link.has_room() => {
                let expected = self.expected(submission);
                self.hand_and_ring(key, Choice { at, expected, along: false });
            }
            Some(_) => self.settle(key, Outcome::Full),
            None => self.settle(key, Outcome::Stale),
        }
    }

    fn expected(&self, submission: Submission) -> Option<u32> {
        self.index(submission.crew()).and_then(|g| self.generations[g].paces.expected(submission.route))
    }

    /// Hands R of this worker what waits for it alone, as long as it has time for that.
    pub(super) fn pump_bound(&mut self, at: usize) {
        while let Some(key) = self.workers.get(at).and_then(|worker| worker.bound.front().copied()) {
            let live = self.entries.get(key).filter(|entry| !matches!(entry.waiter, Waiter::Answered(_)));
            if let Some(submission) = live.map(|entry| entry.submission) {
                let expected = self.expected(submission);
                if !has_time(&self.workers[at], expected) {
                    return;
                }
                self.hand(key, Choice { at, expected, along: false });
            }
            self.workers[at].bound.pop_front();
        }
    }

    /// R of this worker may be free: what waits for it alone, and what waits for any worker, in turn.
    pub(super) fn pump_in_turn(&mut self, at: usize, g: usize) {
        let worker = &mut self.workers[at];
        worker.bound_is_next = !worker.bound_is_next;
        let bound_is_next = worker.bound_is_next;
        if bound_is_next {
            self.pump_bound(at);
        }
        self.pump_r(g);
        if !bound_is_next {
            self.pump_bound(at);
        }
    }

    /// What waits for a worker that has left.
    pub(super) fn settle_bound(&mut self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.settle(key, Outcome::Stale));
    }
}

//! Requests of a route that a worker takes several at a time: those that wait when it becomes free go along with the
//! first. The worker sees them all at once, and takes what it sees. Neighbours: `requests`, which hands the first;
//! `worker`, the crate, which takes them.

use super::requests::Choice;
use super::Dispatcher;
use crate::generation::Line;
use crate::request::{Key, Waiter};
use crate::submission::{Batch, Origin};
use std::sync::atomic::Ordering::Relaxed;

impl Dispatcher {
    /// Hands a request, which does not wait any more, with others of its route to a worker that has nothing to do.
    pub(super) fn hand_batch(&mut self, g: usize, first: Key, choice: Choice, batch: Batch) {
        let Some(entry) = self.entries.get(first) else { return };
        let (runs, route, len) = (entry.submission.runs, entry.submission.route, entry.message.len());
        let Some(lane) = self.workers[choice.at].lane_mut(runs.into()) else { return };
        let most = batch.most.min(lane.room()).saturating_sub(1);
        lane.link.hold();
        self.hand(first, choice);
        let (mut bytes, mut n) = (len, 1);
        for (from, key) in self.generations[g].waiting(Line::Of(runs)).all() {
            if n > most {
                break;
            }
            let Some(entry) = self.entries.get(key) else { continue };
            let is_like_it = entry.submission.route == route && !matches!(entry.waiter, Waiter::Answered(_));
            if !is_like_it || bytes + entry.message.len() > batch.bytes {
                continue;
            }
            let has_room = |lane: &mut crate::lane::Lane| lane.link.has_room();
            if !self.workers[choice.at].lane_mut(runs.into()).is_some_and(has_room) {
                break;
            }
            bytes += entry.message.len();
            n += 1;
            self.take_along(g, from, key, choice);
        }
        if let Some(lane) = self.workers[choice.at].lane_mut(runs.into()) {
            lane.link.publish();
        }
        self.shared.batches.fetch_add(1, Relaxed);
        self.shared.batched.fetch_add(n as u64, Relaxed);
    }

    fn take_along(&mut self, g: usize, from: Origin, key: Key, choice: Choice) {
        let Some(runs) = self.entries.get(key).map(|entry| entry.submission.runs) else { return };
        self.generations[g].waiting(Line::Of(runs)).forget(from, key);
        self.hand(key, Choice { along: true, ..choice });
    }
}

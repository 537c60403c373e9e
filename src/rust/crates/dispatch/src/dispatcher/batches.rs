//! Requests of a route that a worker takes several at a time: those that wait when it becomes free go along with the
//! first. The worker sees them all at once, and takes what it sees. Where the route says so, the first waits for others
//! before it stands in line. Neighbours: `requests`, which hands the first; `worker`, the crate, which takes them.

use super::requests::Choice;
use super::Dispatcher;
use crate::generation::Line;
use crate::request::{Key, Waiter};
use crate::submission::Batch;
use crate::wakes::watch;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

impl Dispatcher {
    /// Has a request wait for others of its route, until there are as many as a batch may have, or the first has waited
    /// for long enough.
    pub(super) fn gather(&mut self, g: usize, key: Key, batch: Batch) {
        let Some(entry) = self.entries.get(key) else { return };
        let (from, route) = (entry.submission.from, entry.submission.route);
        if self.generations[g].gather(route, from, key) >= batch.most {
            self.line_up(g, route);
        }
        self.count_waiting();
        watch();
    }

    /// Has those that were gathered of a route stand in line, and a worker that is free take them.
    fn line_up(&mut self, g: usize, route: u32) {
        let mut stand_in = None;
        for (from, key) in self.generations[g].gathered(route) {
            let Some(submission) = self.entries.get(key).map(|entry| entry.submission) else { continue };
            let line = self.line(&submission);
            self.generations[g].waiting(line).push(from, key);
            stand_in = Some(line);
        }
        if let Some(line) = stand_in {
            self.pump(g, line);
        }
    }

    /// Does so with those of which the first has waited for long enough at `now`. How long until the next one has.
    pub(crate) fn line_up_due(&mut self, now: u64) -> Option<Duration> {
        let mut next: Option<u64> = None;
        for g in 0..self.generations.len() {
            let mut until = BTreeMap::<u32, u64>::new();
            for (route, key) in self.generations[g].gathering() {
                let Some(entry) = self.entries.get(key) else { continue };
                let due = entry.since + entry.submission.batch.map_or(0, |batch| batch.wait);
                until.entry(route).and_modify(|first| *first = due.min(*first)).or_insert(due);
            }
            for (route, due) in until {
                if due <= now {
                    self.line_up(g, route);
                } else {
                    next = Some(next.map_or(due, |first| first.min(due)));
                }
            }
        }
        next.map(|next| Duration::from_millis(next - now))
    }

    /// Hands a request, which does not wait any more, with others of its route to a worker that has nothing to do.
    pub(super) fn hand_batch(&mut self, g: usize, line: Line, first: Key, choice: Choice, batch: Batch) {
        let Some(entry) = self.entries.get(first) else { return };
        let (runs, route, len) = (entry.submission.runs, entry.submission.route, entry.message.len());
        let Some(lane) = self.workers[choice.at].lane_mut(runs.into()) else { return };
        let most = batch.most.min(lane.room()).saturating_sub(1);
        lane.link.hold();
        self.hand(first, choice);
        let (mut bytes, mut n) = (len, 1);
        for (from, key) in self.generations[g].waiting(line).all() {
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
            self.generations[g].waiting(line).forget(from, key);
            self.hand(key, Choice { along: true, ..choice });
        }
        if let Some(lane) = self.workers[choice.at].lane_mut(runs.into()) {
            lane.link.publish();
        }
        self.shared.batches.fetch_add(1, Relaxed);
        self.shared.batched.fetch_add(n as u64, Relaxed);
    }
}

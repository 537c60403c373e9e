//! The way of a request: it waits, gets a worker, and has an outcome, which its client collects.

use super::Dispatcher;
use crate::assigned::Assigned;
use crate::choose::choose;
use crate::crew::Crew;
use crate::generation::{Generation, Line};
use crate::outcome::Outcome;
use crate::pace::Paces;
use crate::pool::NOBODY;
use crate::request::{Key, Place, Waiter};
use crate::runs::Runs;
use crate::submission::{Submission, Word};
use crate::wakes::watch;
use bytes::Bytes;
use exchange::now;
use std::mem;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use tokio::sync::oneshot;
use wire::Notice;

/// Ring a worker's bell after this many requests, even in the middle of a turn, so that it works alongside.
const RING_AFTER: u32 = 64;

/// Which worker a request gets, and how many microseconds it is expected to take there.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub at: usize,
    pub expected: Option<u32>,
    /// with the request before it, of the same batch
    pub along: bool,
}

impl Dispatcher {
    /// Takes a request of this thread, whose message `encode` writes. It counts as outstanding already.
    pub(crate) fn submit(&mut self, submission: Submission, encode: impl FnOnce(&mut Vec<u8>)) -> Key {
        let mut message = self.entries.buffer();
        encode(&mut message);
        self.enter(submission, message, Waiter::Here(None))
    }

    pub(super) fn enter(&mut self, submission: Submission, message: Vec<u8>, waiter: Waiter) -> Key {
        let key = self.entries.add(submission, message, now(), waiter);
        if let Some(owner) = submission.owner {
            self.hand_to(key, submission, owner);
            return key;
        }
        let Some(g) = self.index(submission.crew()).filter(|&g| !self.generations[g].closing) else {
            self.settle(key, Outcome::Stale);
            return key;
        };
        if let Some(batch) = submission.batch.filter(|batch| batch.wait > 0) {
            self.gather(g, key, batch);
            return key;
        }
        let line = self.line(&submission);
        let first = self.generations[g].waiting(line).is_empty();
        match if first { self.worker_for(g, line, submission) } else { None } {
            Some(choice) => {
                self.has_its_turn(g, line);
                self.hand_and_ring(key, choice);
            }
            None => {
                self.generations[g].waiting(line).push(submission.from, key);
                self.count_waiting();
                watch();
            }
        }
        key
    }

    pub(super) fn hand_and_ring(&mut self, key: Key, choice: Choice) {
        self.hand(key, choice);
        if self.workers[choice.at].unrung() >= RING_AFTER {
            self.ring();
            self.drain();
        }
    }

    /// Where the generation and pool of these workers is among those that there are.
    pub(super) fn index(&self, crew: Crew) -> Option<usize> {
        self.generations.iter().position(|g| g.crew == crew)
    }

    pub(super) fn worker_for(&self, g: usize, line: Line, submission: Submission) -> Option<Choice> {
        let generation = &self.generations[g];
        let expected = generation.paces.expected(submission.route);
        if line == Line::Of(Runs::R) && self.long_ones_are_many(g) {
            return None;
        }
        // what is handed ahead would begin without those that wait by then
        let goes_ahead = submission.opens.is_none() && submission.batch.is_none();
        let cost = self.costs(&submission);
        let at = choose(&self.workers, generation.crew, submission.runs, expected.filter(|_| goes_ahead), cost)?;
        Some(Choice { at, expected, along: false })
    }

    pub(super) fn hand(&mut self, key: Key, Choice { at, expected, along }: Choice) {
        let has_choice = self.has_choice();
        let Some(entry) = self.entries.get(key) else { return };
        if entry.submission.times_handler {
            entry.handed = now();
        }
        self.turn += 1;
        let worker = &mut self.workers[at];
        worker.last_turn = self.turn;
        let (route, runs, deadline) = (entry.submission.route, entry.submission.runs, entry.deadline());
        let name = entry.submission.request;
        if let Some(connection) = entry.submission.opens {
            self.commands.takes(worker.owner(), connection);
        }
        let is_bound = entry.submission.owner.is_some() || matches!(entry.waiter, Waiter::Nobody);
        let request = |id| Assigned { id, request: name, key, route, expected, deadline, is_bound, is_along: along };
        let crew = worker.crew;
        // only workers that have one are chosen
        let Some(lane) = worker.lane_mut(runs.into()) else { return };
        if let Some(id) = lane.assign(&entry.message, runs, self.kill_after, request) {
            entry.place = Place::Lane(at, runs.into(), id);
        }
        // R that sleeps begins, or is seen not to by `expire`: a clock for each request would cost too much
        if lane.has_ahead() || (has_choice && !lane.sleeps() && lane.has_begun_nothing()) {
            watch();
        }
        worker.count_in_flight();
        if expected.is_none() {
            self.paces(crew, |paces| paces.begins(route));
        }
    }

    /// Notes something of how long routes take that have these workers.
    pub(super) fn paces(&mut self, crew: Crew, note: impl FnOnce(&mut Paces)) {
        if let Some(g) = self.index(crew) {
            note(&mut self.generations[g].paces);
        }
    }

    /// Hands out what waits for these handlers, as long as there is a worker for it.
    pub(super) fn pump(&mut self, g: usize, line: Line) {
        if self.generations[g].waiting(line).is_empty() {
            return;
        }
        while let Some(key) = self.generations[g].waiting(line).front() {
            let live = self.entries.get(key).filter(|e| !matches!(e.waiter, Waiter::Answered(_)));
            if let Some(submission) = live.map(|e| e.submission) {
                let Some(choice) = self.worker_for(g, line, submission) else { break };
                self.has_its_turn(g, line);
                if let Some(batch) = submission.batch {
                    self.generations[g].waiting(line).pop();
                    self.hand_batch(g, line, key, choice, batch);
                    continue;
                }
                self.hand(key, choice);
            }
            self.generations[g].waiting(line).pop();
        }
        self.count_waiting();
    }

    /// The same for all that waits.
    pub(crate) fn pump_all(&mut self, g: usize) {
        self.pump_r(g);
        self.pump(g, Line::Of(Runs::Inline));
        self.pump(g, Line::Of(Runs::Pool));
        let crew = self.generations[g].crew;
        let of_it = self.workers.iter().filter(|(_, worker)| worker.crew == crew).map(|(at, _)| at);
        of_it.collect::<Vec<_>>().into_iter().for_each(|at| self.pump_bound(at));
    }

    pub(super) fn count_waiting(&self) {
        let waiting = self.generations.iter().map(Generation::waits).sum();
        self.shared.waiting.store(waiting, Relaxed);
        if waiting == 0 {
            self.shared.longest.store(NOBODY, Relaxed);
        }
    }

    /// Puts requests that a worker gave back before all that wait.
    pub(crate) fn requeue(&mut self, back: &[Assigned]) {
        for assigned in back.iter().rev() {
            let Some(entry) = self.entries.get(assigned.key) else { continue };
            entry.place = Place::Queue;
            let submission = entry.submission;
            if let Some(connection) = submission.opens {
                self.commands.gives_back(connection);
            }
            let line = self.line(&submission);
            if let Some(g) = self.index(submission.crew()) {
                self.generations[g].waiting(line).give_back(assigned.key);
            }
        }
        self.count_waiting();
        watch();
    }

    /// Gives a request its outcome, and wakes the task that waits for it.
    pub(crate) fn settle(&mut self, key: Key, outcome: Outcome) {
        let Some(entry) = self.entries.get(key) else { return };
        let (counts, promised) = (entry.submission.counts, entry.promised);
        match mem::replace(&mut entry.waiter, Waiter::Here(None)) {
            Waiter::Here(waker) => {
                entry.waiter = Waiter::Answered(outcome);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            Waiter::Elsewhere(number, client) => {
                // a client that has gone has posted so, too
                let _ = client.send(Word::Outcome(outcome));
                self.numbers.remove(&number);
                self.entries.remove(key);
            }
            Waiter::Worker(asker) => {
                self.entries.remove(key);
                self.task_came(key, &asker, outcome);
            }
            Waiter::Nobody => drop(self.entries.remove(key)),
            answered @ Waiter::Answered(_) => {
                entry.waiter = answered;
                return;
            }
        }
        self.tasks.end_with(key);
        self.is_out_no_more(counts, promised);
    }

    /// Tells the client of a request what its handler, which goes on, has said for it. Where nobody waits for that, it
    /// is dropped.
    pub(super) fn notice(&mut self, key: Key, notice: Bytes) {
        let Some(entry) = self.entries.get(key).filter(|entry| entry.submission.takes_notices) else { return };
        match &mut entry.waiter {
            Waiter::Here(waker) => {
                match entry.notices.last_mut() {
                    Some(last) if Notice::is_progress(last) && Notice::is_progress(&notice) => *last = notice,
                    _ => entry.notices.push(notice),
                }
                if let Some(waker) = waker {
                    waker.wake_by_ref();
                }
            }
            Waiter::Elsewhere(_, client) => {
                let (next, rest) = oneshot::channel();
                // a client that has gone has posted so, too
                let _ = mem::replace(client, next).send(Word::Notice(notice, rest));
            }
            // too late, as once the head of a stream was sent; or there is no client
            Waiter::Answered(_) | Waiter::Worker(_) | Waiter::Nobody => {}
        }
    }

    /// What came of a request of this thread, once; before it what was said for its client.
    pub(crate) fn collect(&mut self, key: Key, waker: &Waker) -> Option<Outcome> {
        let entry = self.entries.get(key)?;
        if !entry.notices.is_empty() {
            return Some(Outcome::Notice(entry.notices.remove(0)));
        }
        match &mut entry.waiter {
            Waiter::Here(waiting) => {
                if !waiting.as_ref().is_some_and(|w| w.will_wake(waker)) {
                    *waiting = Some(waker.clone());
                }
                None
            }
            Waiter::Answered(_) => match self.entries.remove(key)?.waiter {
                Waiter::Answered(outcome) => Some(outcome),
                _ => None,
            },
            Waiter::Elsewhere(..) | Waiter::Worker(_) | Waiter::Nobody => None,
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Dispatcher {
    /// Whether something waits that a worker could have now. Never after a turn.
    pub(crate) fn stalls(&mut self) -> bool {
        let mut fronts = Vec::new();
        for (g, generation) in self.generations.iter_mut().enumerate() {
            let first = |line| Some((g, line, generation.waiting(line).front()?));
            fronts.extend(Line::ALL.into_iter().filter_map(first));
        }
        fronts.into_iter().any(|(g, line, key)| {
            let submission = self.entries.get(key).map(|entry| entry.submission);
            submission.is_some_and(|submission| self.worker_for(g, line, submission).is_some())
        })
    }
}

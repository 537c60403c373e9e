//! Looks after what is out: requests behind a slow one are taken back, clients that have waited too long are told so,
//! and workers that do not answer are interrupted and killed.

use crate::choose::SLOW;
use crate::dispatcher::Dispatcher;
use crate::lane::Lane;
use crate::outcome::Outcome;
use crate::pool::PoolEvent;
use crate::request::{Entry, Key, Place};
use crate::runs::{Of, Runs};
use crate::wakes::watch;
use crate::worker::Worker;
use exchange::now;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// With a worker idle, requests behind a slow one are noticed within this.
const SOON: Duration = Duration::from_millis(1);
/// With none idle nothing can be done for them but to start one. A worker that has not begun with what it was given for
/// so long is at something else.
const LATER: Duration = Duration::from_millis(5);
/// The same where those that are free have promises or streams under way, which they are to go back to: a worker that
/// only takes its time to wake is the better one.
const MUCH_LATER: Duration = Duration::from_millis(100);

impl Dispatcher {
    /// One look; how long until the next one, or `None` when there is nothing more to look after.
    pub(crate) fn look(&mut self) -> Option<Duration> {
        self.take_back(Instant::now());
        let due = self.line_up_due(now());
        // no request may wait while a worker is free, even if that was never reported
        (0..self.generations.len()).for_each(|g| self.pump_all(g));
        self.tell_pressure();
        let waits = self.generations.iter().any(|g| g.in_line() > 0);
        let sent_ahead = self.workers.iter().any(|(_, s)| s.has_ahead() || s.has_backlog());
        let next = if waits || sent_ahead {
            let idle = self.workers.iter().any(|(_, s)| s.is_idle());
            Some(if idle { SOON } else { LATER })
        } else {
            (self.has_choice() && self.workers.iter().any(|(_, s)| s.has_begun_nothing())).then_some(LATER)
        };
        next.into_iter().chain(due).min()
    }

    /// Whether a request may go to another worker, even one yet to be started.
    pub(crate) fn has_choice(&self) -> bool {
        self.workers.len() > 1 || self.shared.may_grow()
    }

    /// Takes back what waits behind a slow request, for other workers.
    pub(crate) fn take_back(&mut self, now: Instant) {
        if !self.workers.iter().any(|(_, s)| s.has_ahead() || s.has_begun_nothing()) {
            return;
        }
        for g in 0..self.generations.len() {
            let crew = self.generations[g].crew;
            let is_of_it = |worker: &Worker| worker.crew == crew;
            let mut taken = Vec::new();
            for (of, runs) in [(Of::R, Runs::R), (Of::C, Runs::Pool)] {
                let is_spare = |worker: &Worker| worker.open(runs).is_some_and(|lane| lane.running() < lane.width);
                let spare = self.workers.iter().any(|(_, worker)| is_of_it(worker) && is_spare(worker));
                let slow = if spare { SLOW } else { LATER };
                let is_free = |worker: &Worker| is_spare(worker) && !worker.works_between();
                let free = self.workers.iter().any(|(_, worker)| is_of_it(worker) && is_free(worker));
                let unknown = if free { LATER } else { MUCH_LATER };
                for (_, worker) in self.workers.iter_mut().filter(|(_, worker)| is_of_it(worker)) {
                    let may_wait = |lane: &&mut Lane| lane.has_ahead() || lane.has_begun_nothing();
                    if let Some(lane) = worker.lane_mut(of).filter(may_wait) {
                        taken.extend(lane.take_back(now, slow));
                        if of == Of::R && spare {
                            taken.extend(lane.take_back_from_between(now, slow, unknown));
                        }
                        worker.count_in_flight();
                    }
                }
            }
            if !taken.is_empty() {
                self.requeue(&taken);
                self.pump_all(g);
            }
        }
    }

    fn tell_pressure(&mut self) {
        let current = (0..self.generations.len()).filter(|&g| !self.generations[g].closing);
        for g in current.collect::<Vec<_>>() {
            self.tell_pressure_of(g);
        }
    }

    fn tell_pressure_of(&mut self, g: usize) {
        let crew = self.generations[g].crew;
        let pool = crew.pool;
        if self.wants_express(g, now(), LATER, Instant::now()) {
            let _ = self.shared.events.send(PoolEvent::ShortWaits(pool));
        }
        if !self.shared.of(pool).growable.load(Relaxed) {
            return;
        }
        let current = &self.generations[g];
        let waiting = current.in_line();
        let entries = &mut self.entries;
        let since = current.oldest().filter_map(|key| Some(entries.get(key)?.since)).min();
        let waited_ms = since.map_or(0, |since| now().saturating_sub(since));
        // a request that waits for an R busy between requests stays there while no other worker is free: it counts
        let clock = Instant::now();
        let of_it = || self.workers.iter().filter(|(_, w)| w.crew == crew);
        let (lanes, ready) = (of_it().filter_map(|(_, w)| w.lane(Of::R)), of_it().count());
        let stalled: usize = lanes.map(|lane| lane.stalled(clock, LATER)).sum();
        if stalled > 0 || (waiting > 0 && waited_ms >= LATER.as_millis() as u64) {
            let _ = self.shared.events.send(PoolEvent::Pressure { pool, waiting: waiting + stalled, waited_ms, ready });
        }
    }

    /// Tells clients that have waited too long so, and ends what runs too long. `true` while any request is out that
    /// has a deadline.
    pub(crate) fn expire(&mut self) -> bool {
        // what a worker has said without ringing for it
        self.drain();
        if self.has_choice() && self.workers.iter().any(|(_, worker)| worker.has_begun_nothing()) {
            watch();
        }
        let now = now();
        let over: Vec<(Key, Outcome)> = self
            .entries
            .unanswered()
            .filter_map(|(key, e)| {
                let late = e.late(now, self.queue_timeout, || self.begun_by(e).is_some())?;
                Some((key, Outcome::Late(late, self.begun_by(e).and_then(Worker::pid))))
            })
            .collect();
        for (key, outcome) in over {
            self.leave(key, now, true);
            self.settle(key, outcome);
        }
        self.settle_own(now);
        self.enforce(now);
        self.release_retired();
        !self.entries.is_empty() || self.workers.iter().any(|(_, s)| s.has_deadlines())
    }

    /// The worker that has begun with it.
    pub(crate) fn begun_by(&self, entry: &Entry) -> Option<&Worker> {
        let Place::Lane(at, of, id) = entry.place else { return None };
        self.workers.get(at).filter(|worker| worker.lane(of).is_some_and(|lane| lane.has_begun(id)))
    }

    /// Interrupts what is over its deadline, and kills what did not heed that.
    fn enforce(&mut self, now: u64) {
        let mut has_room = false;
        for (_, worker) in self.workers.iter_mut() {
            has_room |= worker.forget_late(now);
            if let Some(request) = worker.lane_mut(Of::C).and_then(|lane| lane.mark_stuck(now)) {
                let _ = self.shared.events.send(PoolEvent::Blocked { worker: worker.worker, request });
            }
            let may_be_killed = worker.pid().is_some() && !worker.killed;
            let unresponsive =
                worker.lane_mut(Of::R).and_then(|lane| lane.is_unresponsive(now).then(|| lane.last_left()));
            if let Some(left_by) = unresponsive.filter(|_| may_be_killed) {
                let _ = self.shared.events.send(PoolEvent::Unresponsive { worker: worker.worker, left_by });
                worker.kill();
            }
            match worker.interrupted {
                Some(i) if now >= i.kill_at && !worker.killed => {
                    // reported first, so that the supervisor, which sees the worker end, knows why
                    let _ = self.shared.events.send(PoolEvent::Stuck { worker: worker.worker, request: i.request });
                    worker.kill();
                }
                Some(_) => {}
                None => {
                    if let Some(late) = worker.lane(Of::R).and_then(|lane| lane.first_late(now)) {
                        worker.interrupt(late, now + self.kill_after, true);
                    }
                }
            }
        }
        if has_room {
            (0..self.generations.len()).for_each(|g| self.pump_all(g));
        }
    }
}

//! Looks after what is out: requests behind a slow one are taken back, clients that have waited too long are told so, and
//! workers that do not answer are interrupted and killed.

use crate::choose::SLOW;
use crate::dispatcher::Dispatcher;
use crate::outcome::Outcome;
use crate::pool::PoolEvent;
use crate::request::{Key, Place};
use admission::Patience;
use exchange::now;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// With a worker idle, requests behind a slow one are noticed within this.
const SOON: Duration = Duration::from_millis(1);
/// With none idle nothing can be done for them but to start one.
const LATER: Duration = Duration::from_millis(5);

impl Dispatcher {
    /// One look; how long until the next one, or `None` when there is nothing more to look after.
    pub(crate) fn look(&mut self) -> Option<Duration> {
        self.take_back();
        self.tell_pressure();
        let waits = self.generations.iter().any(|g| g.waits() > 0);
        let handed_ahead = self.seats.iter().any(|(_, s)| s.has_ahead());
        if !waits && !handed_ahead {
            return None;
        }
        let idle = self.seats.iter().any(|(_, s)| s.is_idle());
        Some(if idle { SOON } else { LATER })
    }

    /// Takes back what waits behind a slow request, for other workers.
    pub(crate) fn take_back(&mut self) {
        if !self.seats.iter().any(|(_, s)| s.has_ahead()) {
            return;
        }
        let now = Instant::now();
        for g in 0..self.generations.len() {
            let generation = self.generations[g].id;
            let idle = self.seats.iter().any(|(_, s)| s.generation == generation && s.is_idle() && s.is_open());
            let slow = if idle { SLOW } else { LATER };
            let mut taken = Vec::new();
            let mut of_c = Vec::new();
            for (_, seat) in self.seats.iter_mut().filter(|(_, s)| s.generation == generation) {
                if seat.assigned().len() > 1 && seat.running_for(now) > slow {
                    // from the end, so that the worker does not race us to each of them
                    for at in (1..seat.assigned().len()).rev() {
                        taken.extend(seat.revoke(at));
                    }
                }
                if let Some(c) = seat.c.as_mut().filter(|c| c.has_ahead()) {
                    of_c.extend(c.take_back(now, LATER));
                    seat.count_in_flight();
                }
            }
            taken.reverse();
            taken.extend(of_c);
            if !taken.is_empty() {
                self.requeue(&taken);
                self.pump_all(g);
            }
        }
    }

    fn tell_pressure(&mut self) {
        if !self.shared.growable.load(Relaxed) {
            return;
        }
        let Some(current) = self.generations.iter().find(|g| !g.closing) else { return };
        let waiting = current.waits();
        let entries = &mut self.entries;
        let Some(since) = current.fronts().filter_map(|key| Some(entries.get(key)?.since)).min() else { return };
        let waited_ms = now().saturating_sub(since);
        if waited_ms >= LATER.as_millis() as u64 {
            let _ = self.shared.events.send(PoolEvent::Pressure { waiting, waited_ms });
        }
    }

    /// Tells clients that have waited too long so, and ends what runs too long. `true` while any request is out that has a deadline.
    pub(crate) fn expire(&mut self) -> bool {
        let now = now();
        let over: Vec<(Key, Outcome)> = self
            .entries
            .unanswered()
            .filter_map(|(key, e)| {
                let waited = now.saturating_sub(e.since);
                let begun = || match e.place {
                    Place::Queue => false,
                    Place::Seat(at, id) => self.seats.get(at).is_some_and(|s| s.has_begun(id)),
                    Place::C(at, id) => self.seats.get(at).and_then(|s| s.c.as_ref()).is_some_and(|c| c.has_begun(id)),
                };
                let patience = Patience { in_queue: self.queue_timeout, in_all: e.submission.timeout };
                patience.late(waited, begun).map(|late| (key, Outcome::Late(late)))
            })
            .collect();
        for (key, outcome) in over {
            self.leave(key, now, true);
            self.settle(key, outcome);
        }
        self.enforce(now);
        self.let_go();
        !self.entries.is_empty() || self.seats.iter().any(|(_, s)| s.has_deadlines())
    }

    /// Interrupts what is over its deadline, and kills what did not heed that.
    fn enforce(&mut self, now: u64) {
        for (_, seat) in self.seats.iter_mut() {
            seat.forget_late(now);
            if seat.c.as_mut().is_some_and(|c| c.expire(now)) {
                let _ = self.shared.events.send(PoolEvent::Blocked(seat.worker));
            }
            match seat.interrupted {
                Some(i) if now >= i.kill_at && !seat.killed => {
                    // told first, so that whoever sees its end knows why
                    let _ = self.shared.events.send(PoolEvent::Stuck(seat.worker));
                    seat.kill();
                }
                Some(_) => {}
                None => {
                    let front = seat.assigned().front().copied();
                    if let Some(late) = front.filter(|a| now >= a.deadline && seat.has_begun(a.id)) {
                        seat.interrupt(late.id, now + self.kill_after, true);
                    }
                }
            }
        }
    }
}

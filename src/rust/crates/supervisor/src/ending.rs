//! How everything ends: in peace, at once, or because it could not start. In this order: requests, workers, zygotes.
//! The app's stop hooks run in the process that ends last: the zygote, or the last of the workers that have loaded the
//! app by themselves.

use crate::stage::{Stage, LAST_GRACE};
use crate::supervisor::Supervisor;
use crate::worker_handle::Phase;
use crate::{Event, Failure};
use std::time::{Duration, Instant};

/// How often to ask whether the last request has been answered.
const DRAINING: Duration = Duration::from_millis(10);
/// How long killed processes are waited for. One that hangs in the kernel is left to it.
const KILLING: Duration = Duration::from_secs(5);

impl Supervisor {
    /// The first generation has taken over.
    pub(crate) fn open(&mut self, now: Instant) {
        match self.server.listen() {
            Ok(()) => {
                self.stage = Stage::Serving;
                self.reports.notify(Event::Listening(self.server.addresses().to_vec()));
            }
            Err(e) => self.fail(Failure::Listen, e, now),
        }
    }

    /// It cannot be started.
    pub(crate) fn fail(&mut self, kind: Failure, message: String, now: Instant) {
        self.staff.kill("the server cannot start");
        for zygote in self.zygotes.values_mut() {
            zygote.give_up(now, true);
        }
        self.stage = Stage::Killing(now + KILLING, Event::Failed { kind, message });
    }

    /// Ends in peace, or at once when asked again.
    pub(crate) fn stop(&mut self, graceful_timeout: Option<f64>, now: Instant) {
        match self.stage {
            Stage::Serving => {}
            Stage::Killing(..) | Stage::Over(_) => return,
            _ => return self.stop_now(now),
        }
        let seconds = graceful_timeout.unwrap_or(self.options.graceful_timeout);
        self.server.leave();
        self.stage = Stage::Leaving(Self::after(now, self.options.drain_delay), seconds);
        self.look_at_ending(now);
        self.generations.take_waiting();
        if let Some(number) = self.generations.preparing() {
            self.generation_failed(number, Failure::Load, "the server stops".to_owned(), now);
        }
        self.rests_for_good(now);
    }

    /// Ends at once.
    pub(crate) fn stop_now(&mut self, now: Instant) {
        if matches!(self.stage, Stage::Over(_)) {
            return;
        }
        self.staff.kill("the server ends at once");
        for zygote in self.zygotes.values_mut() {
            zygote.kill();
        }
        let last = match std::mem::replace(&mut self.stage, Stage::Starting) {
            Stage::Killing(_, event) => event,
            _ => Event::Stopped,
        };
        self.stage = Stage::Killing(now + KILLING, last);
    }

    /// All workers are to end, but for the last one.
    fn dismiss(&mut self, deadline: Instant) {
        let last = self.last_worker();
        for (id, worker) in self.staff.iter_mut() {
            match worker.phase {
                Phase::Starting => worker.kill("the server ends"),
                Phase::Serving | Phase::Retiring if Some(id) != last => worker.stop(deadline, false),
                Phase::Serving | Phase::Retiring | Phase::Stopping(_) => {}
            }
        }
    }

    /// Of workers that have loaded the app by themselves, the one that is to run its stop hooks when the others are
    /// gone.
    fn last_worker(&self) -> Option<u32> {
        let current = self.generations.current()?;
        let spawns = self.generations.get(current)?.spawns;
        let mut serving = self.staff.of(current).filter(|(_, worker)| worker.phase == Phase::Serving);
        serving.next().filter(|_| spawns).map(|(id, _)| id)
    }

    fn dismiss_last(&mut self, deadline: Instant) {
        let last = self.last_worker();
        let only = self.staff.processes() == 1;
        if let Some(worker) = last.filter(|_| only).and_then(|id| self.staff.get_mut(id)) {
            worker.stop(deadline, true);
        }
    }

    /// When the clock must be looked at next.
    pub(crate) fn ending_due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Leaving(until, _) => Some(until),
            Stage::Draining(until) => Some(until.min(Instant::now() + DRAINING)),
            Stage::Killing(until, _) => Some(until),
            _ => None,
        }
    }

    /// Goes on to the next step when the present one is done.
    pub(crate) fn look_at_ending(&mut self, now: Instant) {
        if let Stage::Leaving(until, seconds) = self.stage {
            if now >= until {
                self.server.drain();
                self.stage = Stage::Draining(Self::after(now, seconds));
            }
        }
        if let Stage::Draining(until) = self.stage {
            if self.server.is_drained() || now >= until {
                self.stage = Stage::Dismissing(until);
                self.dismiss(until.max(now + LAST_GRACE));
            }
        }
        if let Stage::Dismissing(until) = self.stage {
            self.dismiss_last(until.max(now + LAST_GRACE));
        }
        // a worker that was never forked is not waited for: it would be the zygote's, which goes next
        let gone = self.staff.processes() == 0;
        if let Stage::Dismissing(until) = self.stage {
            if gone {
                self.stage = Stage::Closing;
                for zygote in self.zygotes.values_mut() {
                    let last = self.generations.is_current(zygote.generation);
                    match zygote.loader.loaded {
                        true => zygote.quit(until.max(now + LAST_GRACE), last),
                        false => zygote.kill(),
                    }
                }
            }
        }
        let all_gone = gone && self.zygotes.is_empty();
        match &mut self.stage {
            Stage::Closing if all_gone => self.stage = Stage::Over(Event::Stopped),
            Stage::Killing(until, event) if all_gone || now >= *until => {
                let event = std::mem::replace(event, Event::Stopped);
                self.stage = Stage::Over(event);
            }
            _ => {}
        }
    }

    /// What is to be told last, when everything has ended.
    pub(crate) fn is_over(&self) -> Option<Event> {
        match &self.stage {
            Stage::Over(event) => Some(event.clone()),
            _ => None,
        }
    }
}

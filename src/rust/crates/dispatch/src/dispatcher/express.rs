//! Short requests pass long ones. A request that takes milliseconds would else wait for seconds where all workers are
//! at long ones.
//!
//! Those that take far less time than others of the app (`pace`) have a line of their own before R. A worker that
//! becomes free has the next of either line in turn: so a short one passes all the long ones that wait, but for one,
//! and long ones have every second turn at least. While all workers are at long ones nothing becomes free: then the
//! supervisor starts one worker more, the express worker, and from then on long requests have one worker less than
//! there are. Which one that is may change: it is not one process, but a number.

use super::Dispatcher;
use crate::generation::Line;
use crate::load::Load;
use crate::pool::Express;
use crate::runs::{Of, Runs};
use crate::submission::Submission;
use crate::worker::Worker;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What has not taken as long may soon be over: that all workers are at such is no reason to start another.
const WORTH: Duration = Duration::from_millis(50);
/// The same of what was expected to be short: a machine that is busy with something else has short ones take long.
const UNEXPECTED: Duration = Duration::from_millis(500);

impl Dispatcher {
    /// Whether a request for R is one of those that pass others.
    pub(super) fn is_short(&self, submission: &Submission) -> bool {
        let is_short = |g: usize| self.generations[g].paces.is_short(submission.route);
        self.shared.express(submission.pool) != Express::Off && self.index(submission.crew()).is_some_and(is_short)
    }

    /// Hands out what waits for R, of either line in turn.
    pub(super) fn pump_r(&mut self, g: usize) {
        let mut lines = [Line::Of(Runs::R), Line::Short];
        if self.generations[g].short_is_next {
            lines.reverse();
        }
        lines.into_iter().for_each(|line| self.pump(g, line));
        self.pump(g, Line::Session);
    }

    /// Whether long requests have all the workers that they may have.
    pub(super) fn long_ones_are_many(&self, g: usize) -> bool {
        match self.shared.express(self.generations[g].crew.pool) {
            Express::Beside(most) => {
                let (short, clock) = (self.generations[g].paces.most(), Instant::now());
                let is_long = |load: &Load| load.micros > short.into() || load.quiet_for(clock) > micros(short);
                self.workers_at(g, is_long).0 >= most
            }
            Express::Off | Express::Turns | Express::Possible => false,
        }
    }

    /// How many workers this request may not have, as they are for short ones.
    pub(crate) fn kept_from(&self, submission: &Submission) -> usize {
        let of_it = |worker: &Worker| worker.crew == submission.crew() && !worker.retiring;
        match self.shared.express(submission.pool) {
            Express::Beside(most) if self.line(submission) == Line::Of(Runs::R) => {
                self.workers.iter().filter(|(_, worker)| of_it(worker)).count().saturating_sub(most)
            }
            _ => 0,
        }
    }

    /// How many workers of a crew are at requests that are such, and how many there are.
    fn workers_at(&self, g: usize, such: impl Fn(&Load) -> bool) -> (usize, usize) {
        let crew = self.generations[g].crew;
        let of_it = self.workers.iter().filter(|(_, worker)| worker.crew == crew && !worker.retiring);
        let loads = of_it.filter_map(|(_, worker)| Some(worker.lane(Of::R)?.load(Runs::R)));
        loads.fold((0, 0), |(at, all), load| (at + usize::from(load.n > 0 && such(load)), all + 1))
    }

    /// A request of this line is about to be handed to a worker: the other line is next. Counted, if it has one because
    /// long ones may not have it.
    pub(super) fn has_its_turn(&mut self, g: usize, line: Line) {
        if line == Line::Short && self.long_ones_are_many(g) {
            self.shared.of(self.generations[g].crew.pool).passed.fetch_add(1, Relaxed);
        }
        match line {
            Line::Short => self.generations[g].short_is_next = false,
            Line::Of(Runs::R) => self.generations[g].short_is_next = true,
            Line::Of(_) | Line::Session => {}
        }
    }

    /// Whether a short request has waited for so long at `now`, in ms, while all workers have been at long ones for a
    /// while by this clock. What they are expected to take is not enough: of handlers that were never called it is not
    /// known.
    pub(crate) fn wants_express(&mut self, g: usize, now: u64, waited: Duration, clock: Instant) -> bool {
        if self.shared.express(self.generations[g].crew.pool) != Express::Possible {
            return false;
        }
        let (waiting, entries) = (self.generations[g].waiting(Line::Short), &mut self.entries);
        let first = waiting.oldest().filter_map(|key| Some(entries.get(key)?.since)).min();
        let has_waited = first.is_some_and(|since| now.saturating_sub(since) >= waited.as_millis() as u64);
        has_waited && {
            let short = self.generations[g].paces.most();
            let least = WORTH.max(2 * micros(short));
            let is_long = |load: &Load| {
                let took = load.quiet_for(clock);
                took > UNEXPECTED || (took > least && load.micros > short.into())
            };
            let (at_long, all) = self.workers_at(g, is_long);
            all > 0 && at_long == all
        }
    }
}

fn micros(number: u32) -> Duration {
    Duration::from_micros(number.into())
}

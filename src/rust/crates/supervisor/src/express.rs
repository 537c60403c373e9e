//! The express worker: one more than there should be, for short requests that wait while all others are at long ones. How
//! requests are kept from it is the dispatcher's to know; how long it stays, that of `policy`.

use crate::supervisor::Supervisor;
use engine::Express;
use std::time::Instant;

impl Supervisor {
    /// A short request waits while all workers are at long ones.
    pub(crate) fn short_waits(&mut self, now: Instant) {
        // told once more before this was known
        if !self.may_have_express() {
            return;
        }
        let workers = self.recycling.target();
        self.recycling.express().begin(self.server.pool().passed(), now);
        let have = if workers == 1 { "the only worker has" } else { "all workers have" };
        self.reports.info(&format!("one worker more, for short requests: {have} long ones (express)"));
    }

    /// Whether there may be one that is not there: it is a fork, and all that the app keeps is in several processes
    /// anyway.
    fn may_have_express(&mut self) -> bool {
        let current = self.generations.current().and_then(|number| self.generations.get(number));
        let forks = current.is_some_and(|generation| !generation.spawns);
        let room = self.staff_of_current().count() < self.most_workers();
        self.options.express
            && self.stage.is_serving()
            && forks
            && room
            && !self.recycling.sessions().are_apart()
            && !self.recycling.express().is_there()
    }

    /// What the dispatcher is to know; `may_grow` says whether there may be more workers for requests of any kind.
    pub(crate) fn tell_of_express(&mut self, may_grow: bool) {
        if self.recycling.sessions().are_apart() {
            self.recycling.express().end();
        }
        let for_long = self.recycling.without_express(self.recycling.target());
        // where there is one for each that waits, a short one gets one, too
        let others_come = may_grow && !self.options.is_auto();
        let express = if !self.options.express {
            Express::Off
        } else if self.recycling.express().is_there() {
            Express::Beside(for_long.max(1))
        } else if self.may_have_express() && !others_come {
            Express::Possible
        } else {
            Express::Turns
        };
        self.server.pool().set_express(express);
    }

    /// Ends the one that none has needed for a while.
    pub(crate) fn look_at_express(&mut self, now: Instant) {
        let passed = self.server.pool().passed();
        if self.recycling.express().is_unused(passed, now) {
            self.recycling.express().end();
            let seconds = self.options.max_age;
            self.reports.info(&format!("no short request has needed the express worker for {seconds} s"));
        }
    }
}

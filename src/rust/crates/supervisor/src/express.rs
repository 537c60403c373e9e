//! The express worker: one more than there should be, for short requests that wait while all others are at long ones.
//! How requests are kept from it is the dispatcher's to know; how long it stays, that of `policy`.

use crate::pools::MAIN;
use crate::supervisor::Supervisor;
use engine::Express;
use std::time::Instant;

impl Supervisor {
    /// A short request waits while all workers of a pool are at long ones.
    pub(crate) fn short_waits(&mut self, pool: u8, now: Instant) {
        // told once more before this was known
        if !self.may_have_express(pool) {
            return;
        }
        let passed = self.server.pool().passed(pool);
        self.pools.main_mut().recycling.express().begin(passed, now);
        self.reports.info("one worker more, for short requests: all workers have long ones (express)");
    }

    /// Whether there may be one that is not there: it is a fork, and all that the app keeps is in several processes
    /// anyway. Pools that routes name have as many workers as was said: each may hold what is dear.
    fn may_have_express(&self, pool: u8) -> bool {
        let current = self.generations.current().and_then(|number| self.generations.get(number));
        let forks = current.is_some_and(|generation| !generation.spawns);
        let room = self.staff_of_current().count() < self.most_workers();
        let main = &self.pools.main().recycling;
        pool == MAIN
            && self.options.express
            && self.options.n_max != 1
            && self.stage.is_serving()
            && forks
            && room
            && !main.sessions().are_apart()
            && !main.has_express()
    }

    /// What the dispatcher is to know; `may_grow` says whether there may be more workers for requests of any kind.
    pub(crate) fn tell_of_express(&mut self, number: u8, may_grow: bool) {
        let may_have = self.may_have_express(number);
        let Some(pool) = self.pools.get_mut(number) else { return };
        if pool.recycling.sessions().are_apart() {
            pool.recycling.express().end();
        }
        // where there is one for each that waits, a short one gets one, too
        let others_come = may_grow && !pool.options.is_auto();
        let express = if !pool.options.express {
            Express::Off
        } else if pool.recycling.has_express() {
            Express::Beside(pool.recycling.without_express(pool.recycling.target()).max(1))
        } else if may_have && !others_come {
            Express::Possible
        } else {
            Express::Turns
        };
        self.server.pool().set_express(number, express);
    }

    /// Ends the one that none has needed for a while.
    pub(crate) fn look_at_express(&mut self, now: Instant) {
        let passed = self.server.pool().passed(MAIN);
        let express = self.pools.main_mut().recycling.express();
        if express.is_unused(passed, now) {
            express.end();
            let seconds = self.options.max_age;
            self.reports.info(&format!("no short request has needed the express worker for {seconds} s"));
        }
    }
}

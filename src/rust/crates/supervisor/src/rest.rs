//! An app that is loaded when it is asked for: at the start, where it needs no worker then (`n_min` = 0); after it had
//! none for want of requests; and after it could not be loaded. Meanwhile neither a zygote nor a worker takes memory.
//!
//! Requests wait in the engine, which says that there are some (`PoolEvent::Wanted`). It still has the routes of the
//! last generation: what needs no worker wakes nothing.

use crate::options::LONGEST;
use crate::source::Launch;
use crate::supervisor::Supervisor;
use crate::Source;
use std::time::{Duration, Instant};

/// How long the first failure is followed by a wait, which doubles with each further one; and the longest.
const FIRST: Duration = Duration::from_millis(500);
const LAST: Duration = Duration::from_secs(60);
/// How often it doubles at most: then it is longer than the longest.
const DOUBLED: u32 = 10;

impl Supervisor {
    /// The first thing that it does.
    pub(crate) fn begin(&mut self, source: Source) {
        match (self.options.n_min, source) {
            (0, Source::Command { program, args, env }) => {
                self.launch = Some(Launch::new(program, args, env, self.variables.clone()));
                self.open(Instant::now());
            }
            (n_min, source) => self.prepare(source, n_min.max(1)),
        }
    }

    /// A request waits for the app, or for a worker where there is none.
    pub(crate) fn wanted(&mut self) {
        let is_there = self.generations.current().is_some() || self.generations.preparing().is_some();
        if is_there || !self.stage.is_serving() || !self.options.loads_on_request() {
            return;
        }
        let Some(launch) = self.launch.clone() else { return };
        self.server.pool().starts();
        self.load(launch, self.workers_for_takeover());
    }

    /// The app could not be loaded, and there is none from before: whoever waits for it is told so. It is tried again
    /// after a while; where it needs no worker by itself, when it is asked for then.
    pub(crate) fn rests_after_failure(&mut self, why: &str, now: Instant) {
        let wait = FIRST.saturating_mul(1 << self.failed_loads.min(DOUBLED)).min(LAST);
        self.failed_loads += 1;
        self.retry = Some(now + wait);
        self.reports.error(&format!("the app cannot be loaded: {why}"));
        self.server.pool().has_failed(now + wait);
    }

    fn look_at_retry(&mut self, now: Instant) {
        if self.retry.is_none_or(|at| at > now) {
            return;
        }
        self.retry = None;
        // what was asked for meanwhile, as by a reload, is on its way or there
        if self.generations.current().is_some() || self.generations.preparing().is_some() {
            return;
        }
        if self.options.n_min == 0 {
            self.server.pool().sleeps();
        } else {
            self.wanted();
        }
    }

    /// All is about to end: nobody waits for an app that is not there.
    pub(crate) fn rests_for_good(&self, now: Instant) {
        if self.options.loads_on_request() && self.generations.current().is_none() {
            self.ends_for_good(now);
        }
    }

    /// Nobody waits for this app any more.
    pub(crate) fn ends_for_good(&self, now: Instant) {
        self.server.pool().has_failed(Self::after(now, LONGEST));
    }

    /// An app that has had no worker left for want of requests has no zygote either.
    pub(crate) fn look_at_rest(&mut self, now: Instant) {
        self.look_at_retry(now);
        let is_unused = self.pools.rest() && self.staff.iter().next().is_none();
        let is_calm = self.stage.is_serving() && self.generations.preparing().is_none();
        if self.options.n_min > 0 || !is_unused || !is_calm || self.launch.is_none() {
            return;
        }
        let Some(number) = self.generations.rest() else { return };
        self.server.pool().sleeps();
        for zygote in self.zygotes.values_mut().filter(|zygote| zygote.generation == number) {
            // its stop hooks run: nothing of the app goes on
            zygote.quit(Self::after(now, self.options.graceful_timeout), true);
        }
        let seconds = self.options.max_age;
        self.reports.info(&format!("the app rests until it is asked for: not needed for {seconds} s"));
    }

    /// Whether the worker that is to end is the last that will be, and has loaded the app by itself: then the stop
    /// hooks are its to run.
    pub(crate) fn is_last_before_rest(&self, id: u32) -> bool {
        let Some(current) = self.generations.current() else { return false };
        let spawns = self.generations.get(current).is_some_and(|generation| generation.spawns);
        spawns && self.pools.rest() && self.staff.iter().all(|(other, _)| other == id)
    }

    /// The app serves: failures of the past count no more.
    pub(crate) fn has_recovered(&mut self) {
        (self.failed_loads, self.retry) = (0, None);
    }

    /// An app with jobs or timers does what nobody asks for: one worker stays.
    pub(crate) fn may_not_rest(&mut self, number: u32, now: Instant) {
        let app = self.generations.get(number).and_then(|generation| generation.app.as_ref());
        if self.options.n_min > 0 || !app.is_some_and(engine::AppConfig::acts_by_itself) {
            return;
        }
        let n_max = self.options.n_max;
        self.reports.info("the app has jobs or timers: one worker stays");
        self.scale("", 1, n_max, now);
    }
}

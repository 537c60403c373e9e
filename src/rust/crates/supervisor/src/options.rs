//! How many workers there are, how long each lives, and how they start. The names are those of the arguments in R.

use serde::Deserialize;

/// Times in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolOptions {
    /// fewest workers; 0 for an app that is loaded when a request asks for it, and not kept without
    pub n_min: usize,
    /// most workers; one more for a moment, when a worker is replaced; [`AUTO`]
    pub n_max: usize,
    /// how many sessions of visitors a worker is given, where an app has such and its workers are forked: then there
    /// are workers for them beside those for requests; 0 for no such workers
    pub sessions_per_worker: usize,
    /// most workers, those with sessions among them; 0 for as many as the memory allows
    pub max_workers: usize,
    /// whether short requests pass long ones, by a worker more where all are at long ones
    pub express: bool,
    /// pools of their own, for routes that name them: `NAME=WORKERS`, or `NAME=WORKERS,max_rss=BYTES`
    pub pools: Vec<String>,
    /// how often the server looks for unused workers
    pub check_unused: f64,
    /// how long a worker may be unused before it is retired
    pub max_age: f64,
    /// a worker is replaced after about this many requests, 10 % more or less so that not all go at once; 0 for never
    pub max_requests: u64,
    /// a worker is replaced when its resident memory, in bytes, exceeds this; 0 for never
    pub max_rss: u64,
    /// a worker is replaced after this time; 0 for never
    pub max_lifetime: f64,
    /// longest time from the start of a process until it can serve: files that fetch models and read tables take
    /// minutes; 0 for no end
    pub start_timeout: f64,
    /// how long it goes on as before when it is told to end, so that balancers hear of it first
    pub drain_delay: f64,
    /// how long requests in flight, and then workers, are waited for when something ends
    pub graceful_timeout: f64,
    /// how workers come about
    pub start: Start,
    /// whether it listens, and waits for a reload, when the app cannot be loaded at the start
    pub stays: bool,
    /// whether an app that could not be loaded is tried again when a request asks for it, and the server goes on
    #[serde(skip)]
    pub revives: bool,
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions {
            n_min: 1,
            n_max: 3,
            sessions_per_worker: 1,
            max_workers: 0,
            express: true,
            pools: Vec::new(),
            check_unused: 10.0,
            max_age: 300.0,
            max_requests: 0,
            max_rss: 0,
            max_lifetime: 0.0,
            start_timeout: 300.0,
            drain_delay: 0.0,
            graceful_timeout: 30.0,
            start: Start::Auto,
            stays: false,
            revives: false,
        }
    }
}

impl PoolOptions {
    /// How many workers there are, as the option says it: `4`, `1-4` or `auto`.
    pub fn workers(&self) -> String {
        match (self.n_min, self.n_max) {
            (_, AUTO) => "auto".to_owned(),
            (min, max) if min == max => min.to_string(),
            (min, max) => format!("{min}-{max}"),
        }
    }

    /// Whether there are more workers where the others wait, and not for each request that waits.
    pub(crate) fn is_auto(&self) -> bool {
        self.n_max == AUTO
    }

    /// Whether the app may be loaded because a request asks for it.
    pub(crate) fn loads_on_request(&self) -> bool {
        self.n_min == 0 || self.revives
    }

    /// Most workers for requests, where there may be `most` in all.
    pub(crate) fn for_requests(&self, most: usize) -> usize {
        if self.is_auto() {
            most
        } else {
            self.n_max
        }
    }

    /// The same, with other bounds of how many workers there are in the pool of this name, or in that of routes without
    /// one.
    ///
    /// # Errors
    /// As for [`PoolOptions::check`].
    pub(crate) fn scaled(&self, name: &str, n_min: usize, n_max: usize) -> Result<Self, String> {
        self.with_workers(n_min, n_max).check()?;
        let mut scaled = self.clone();
        scaled.set_workers(name, n_min, n_max);
        Ok(scaled)
    }

    /// Most workers of an app whose visitors have workers of their own, or whose number follows from what they do, with
    /// so many bytes of memory that are free. One where one was asked for: then all is to be in one process.
    pub(crate) fn most_workers(&self, memory: u64) -> usize {
        if self.n_max == 1 {
            return 1;
        }
        let by_memory = (memory / 2 / A_SESSION).min(MOST_BY_MEMORY);
        let most = if self.max_workers > 0 { self.max_workers } else { by_memory as usize };
        most.max(self.n_min).max(self.n_max)
    }

    /// Whether they make sense together.
    ///
    /// # Errors
    /// A text that names what does not, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let PoolOptions { n_min, n_max, .. } = *self;
        if n_max < n_min && n_max != AUTO {
            return Err(format!("n_max must be at least n_min ({n_min}), not {n_max}"));
        }
        if n_max > MOST_WORKERS {
            return Err(format!("n_max must be at most {MOST_WORKERS}, not {n_max}"));
        }
        if self.max_workers > MOST_WORKERS {
            return Err(format!("max_workers must be at most {MOST_WORKERS}, not {}", self.max_workers));
        }
        self.check_pools()?;
        let times = [
            ("check_unused", self.check_unused, false),
            ("max_age", self.max_age, true),
            ("max_lifetime", self.max_lifetime, true),
            ("start_timeout", self.start_timeout, true),
            ("drain_delay", self.drain_delay, true),
            ("graceful_timeout", self.graceful_timeout, true),
        ];
        for (name, seconds, zero) in times {
            let fits = seconds <= LONGEST && (seconds > 0.0 || (zero && seconds == 0.0));
            if !fits {
                let least = if zero { ">= 0" } else { "> 0" };
                return Err(format!("{name} must be a number of seconds {least} and <= {LONGEST}, not {seconds}"));
            }
        }
        Ok(())
    }
}

/// How many workers run at a time: the processors that this process may use, by its affinity and its cgroup's quota.
pub fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST_WORKERS))
}

/// In the place of the most workers: as many as requests wait for, as long as workers wait for something else than a
/// processor, and there is memory for them; `max_workers` is a bound for them, too.
pub const AUTO: usize = 0;

/// More processes than any machine has use for.
const MOST_WORKERS: usize = 1024;

/// What a worker with a session is taken to need beyond what it shares with its zygote, in bytes.
const A_SESSION: u64 = 64 << 20;
/// Most workers that are started as there is memory for them, and not as they were asked for.
const MOST_BY_MEMORY: u64 = 200;

/// A year is longer than any sensible setting, and far within what a clock can hold.
pub(crate) const LONGEST: f64 = 31_536_000.0;

/// How workers come about.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// forked, unless what the app has opened while it was loaded must not be shared: then each loads the app itself
    #[default]
    Auto,
    /// forked from a zygote that has loaded the app
    Fork,
    /// each a fresh R process that loads the app itself
    Spawn,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(change: impl FnOnce(&mut PoolOptions)) -> Result<(), String> {
        let mut options = PoolOptions::default();
        change(&mut options);
        options.check()
    }

    #[test]
    fn nonsense_is_named() {
        assert_eq!(checked(|_| {}), Ok(()));
        assert_eq!(checked(|o| o.n_min = 0), Ok(()));
        assert_eq!(checked(|o| o.n_min = 9), Err("n_max must be at least n_min (9), not 3".to_owned()));
        assert_eq!(checked(|o| o.n_max = 2000), Err("n_max must be at most 1024, not 2000".to_owned()));
        assert_eq!(checked(|o| o.max_workers = 2000), Err("max_workers must be at most 1024, not 2000".to_owned()));
        assert_eq!(checked(|o| (o.max_age, o.graceful_timeout) = (0.0, 0.0)), Ok(()));
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(checked(|o| o.max_lifetime = wrong).unwrap_err().starts_with("max_lifetime must be"));
        }
        assert_eq!(checked(|o| o.start_timeout = 0.0), Ok(()), "it may take as long as it likes");
        assert!(checked(|o| o.check_unused = 0.0).is_err());
    }

    #[test]
    fn workers_for_sessions_are_as_many_as_was_said_or_as_memory_allows() {
        let most = |n_max, max_workers, memory: u64| {
            PoolOptions { n_max, max_workers, ..PoolOptions::default() }.most_workers(memory << 20)
        };
        assert_eq!([most(3, 0, 1280), most(3, 0, 64), most(3, 0, 1 << 20)], [10, 3, 200]);
        assert_eq!([most(3, 60, 64), most(8, 2, 640), most(1, 60, 640)], [60, 8, 1]);
    }
}

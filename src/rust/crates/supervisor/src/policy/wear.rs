//! When a worker has served long enough and is replaced by a fresh one, although nothing is wrong with it.

use crate::PoolOptions;
use engine::Restart;
use std::fmt;
use std::time::{Duration, Instant};

/// The bounds of one worker's life.
#[derive(Debug)]
pub struct Wear {
    requests: u64,
    rss: u64,
    ends: Option<Instant>,
}

/// Why a worker is replaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// it has served this many requests
    Requests(u64),
    /// it holds this many bytes
    Memory(u64),
    /// it has this age
    Age(Duration),
    /// it was interrupted at the deadline of a request, of this name in the log
    Late(u64),
    /// a C handler has not returned long after the deadline of its request
    Blocked(u64),
    /// the operator asked for it
    Asked,
}

impl Reason {
    /// What it counts as.
    pub fn restart(self) -> Restart {
        match self {
            Reason::Requests(_) => Restart::Requests,
            Reason::Memory(_) => Restart::Memory,
            Reason::Age(_) => Restart::Age,
            Reason::Late(_) => Restart::Late,
            Reason::Blocked(_) => Restart::Blocked,
            Reason::Asked => Restart::Asked,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Requests(n) => write!(f, "it has served {n} requests"),
            Reason::Memory(bytes) => write!(f, "it holds {:.0} MB", *bytes as f64 / 1e6),
            Reason::Age(age) => write!(f, "it is {:.0} s old", age.as_secs_f64()),
            Reason::Late(request) => write!(f, "it was interrupted in request {request:016x}"),
            Reason::Blocked(request) => write!(f, "a C handler does not return from request {request:016x}"),
            Reason::Asked => f.write_str("it was asked for"),
        }
    }
}

impl Wear {
    /// For a worker that is ready at `now`. `seed` tells workers apart: each gets a number of requests of its own.
    pub fn new(options: &PoolOptions, now: Instant, seed: u64) -> Self {
        let ends = (options.max_lifetime > 0.0).then(|| now + Duration::from_secs_f64(options.max_lifetime));
        Wear { requests: jittered(options.max_requests, seed), rss: options.max_rss, ends }
    }

    /// The requests that it may serve; 0 for any number.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// When its time is over.
    pub fn ends(&self) -> Option<Instant> {
        self.ends
    }

    /// Whether it holds too much.
    pub fn by_memory(&self, rss: u64) -> Option<Reason> {
        (self.rss > 0 && rss > self.rss).then_some(Reason::Memory(rss))
    }

    /// Whether it is too old.
    pub fn by_age(&self, now: Instant, born: Instant) -> Option<Reason> {
        self.ends.is_some_and(|ends| now >= ends).then(|| Reason::Age(now - born))
    }
}

/// Within 10 % of `n`, so that workers that started together do not end together.
fn jittered(n: u64, seed: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // the high bits of a multiplication by an odd constant are as good as random for small different seeds
    let random = (seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as f64 / f64::from(u32::MAX);
    ((n as f64 * (0.9 + 0.2 * random)).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wear(change: impl FnOnce(&mut PoolOptions)) -> Wear {
        let mut options = PoolOptions::default();
        change(&mut options);
        Wear::new(&options, Instant::now(), 7)
    }

    #[test]
    fn without_bounds_it_lasts() {
        let now = Instant::now();
        let wear = wear(|_| {});
        assert_eq!((wear.requests(), wear.ends()), (0, None));
        assert_eq!(wear.by_memory(u64::MAX), None);
        assert_eq!(wear.by_age(now + Duration::from_secs(1 << 30), now), None);
    }

    #[test]
    fn memory_and_age_have_their_bounds() {
        let now = Instant::now();
        let wear = wear(|o| (o.max_rss, o.max_lifetime) = (1000, 60.0));
        assert_eq!(wear.by_memory(1000), None);
        assert_eq!(wear.by_memory(1001), Some(Reason::Memory(1001)));
        assert_eq!(wear.by_age(now + Duration::from_secs(59), now), None);
        assert_eq!(wear.by_age(now + Duration::from_secs(61), now), Some(Reason::Age(Duration::from_secs(61))));
    }

    #[test]
    fn requests_differ_between_workers_by_a_tenth_at_most() {
        let all: Vec<u64> = (0..1000).map(|seed| jittered(1000, seed)).collect();
        assert!(all.iter().all(|n| (900..=1100).contains(n)));
        assert!(all.iter().any(|n| *n < 920) && all.iter().any(|n| *n > 1080));
        assert_ne!(all[1], all[2]);
        assert_eq!((jittered(0, 1), jittered(1, 1)), (0, 1));
    }
}

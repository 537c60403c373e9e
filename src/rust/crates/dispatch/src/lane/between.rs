//! What R has beside requests: promises, callbacks and pieces of bodies. While it is at these it looks like a worker
//! that does not begin what it was given.

use std::time::{Duration, Instant};

/// How often the time that R has to come back from between requests is doubled at most.
const MOST_DOUBLED: u32 = 6;

/// What it did not begin so long ago says nothing of what it does now.
const FORGOTTEN: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Between {
    /// most requests that it may have, promises under way among them
    pub max_async: usize,
    /// the name in the log of the last request that left R something to do between requests, if one has
    pub last_left: Option<u64>,
    /// when it counts as unresponsive, in ms: given a request, it has said nothing since, nor slept
    pub unresponsive_at: u64,
    /// how often what it was given was taken back from between requests, since it last said something, and when last
    missed: u32,
    missed_at: Instant,
    /// the last that it was given was taken back so, and it has said nothing since
    pub is_away: bool,
}

impl Between {
    pub fn new(max_async: usize) -> Self {
        Between {
            max_async,
            last_left: None,
            unresponsive_at: u64::MAX,
            missed: 0,
            missed_at: Instant::now(),
            is_away: false,
        }
    }

    /// How often in a row it did not begin what it was given.
    pub fn missed(&self) -> u32 {
        if self.missed > 0 && self.missed_at.elapsed() > FORGOTTEN {
            0
        } else {
            self.missed
        }
    }

    /// It did not begin what it was given, once more.
    pub fn misses(&mut self, now: Instant) {
        self.missed = self.missed() + 1;
        self.missed_at = now;
        self.is_away = true;
    }

    /// It has said something.
    pub fn speaks(&mut self) {
        self.unresponsive_at = u64::MAX;
        self.missed = 0;
        self.is_away = false;
    }

    /// What it has to come back within: twice as long each time. A worker that does nothing, and takes a while to wake
    /// where processors are busy, looks the same from here, and would never have a request for long enough.
    pub fn time_to_begin(&self, slow: Duration) -> Duration {
        slow * (1 << self.missed().min(MOST_DOUBLED))
    }
}

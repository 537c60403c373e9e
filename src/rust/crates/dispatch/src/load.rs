//! What is with the threads of a lane. Neighbour: `lane`.

use std::time::{Duration, Instant};

/// What is with one kind of threads.
#[derive(Debug)]
pub(crate) struct Load {
    /// requests
    pub n: usize,
    /// microseconds that they are expected to take in all
    pub micros: u64,
    /// when a thread of them was last free again, or when the first came if it was idle
    pub since: Instant,
}

/// What is expected of a request that nothing is known of, in microseconds: long.
const UNKNOWN: u32 = 1_000_000;

impl Load {
    pub fn new() -> Self {
        Load { n: 0, micros: 0, since: Instant::now() }
    }

    /// One more.
    pub fn add(&mut self, expected: Option<u32>) {
        if self.n == 0 {
            self.since = Instant::now();
        }
        self.n += 1;
        self.micros += u64::from(expected.unwrap_or(UNKNOWN));
    }

    /// One less.
    pub fn remove(&mut self, expected: Option<u32>) {
        self.n -= 1;
        self.micros = if self.n == 0 { 0 } else { self.micros.saturating_sub(u64::from(expected.unwrap_or(UNKNOWN))) };
    }

    /// For how long no thread has become free.
    pub fn quiet_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}

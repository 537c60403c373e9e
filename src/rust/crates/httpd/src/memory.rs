//! Which I/O thread checks whether memory can go back to the system. All threads share this state, so that one check
//! is enough for all of them: one every so often, and one before all sleep. Neighbours: `timeouts`, which asks here,
//! and the service, which checks.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Between two checks while any thread is awake, in ms.
const EVERY: u64 = 10_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Memory {
    /// when a thread last checked
    looked: AtomicU64,
    /// threads that do not sleep until something comes
    awake: AtomicUsize,
}

impl Memory {
    /// No thread is awake yet, and no check is due for a while.
    pub(crate) fn new(now: u64) -> Self {
        Memory { looked: AtomicU64::new(now), awake: AtomicUsize::new(0) }
    }

    /// Whether this thread is to check, at `now`: then it is the only one.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        let looked = self.looked.load(Relaxed);
        let is_due = now.saturating_sub(looked) >= EVERY;
        is_due && self.looked.compare_exchange(looked, now, Relaxed, Relaxed).is_ok()
    }

    /// This thread is awake.
    pub(crate) fn wakes(&self) {
        self.awake.fetch_add(1, Relaxed);
    }

    /// This thread is about to sleep. `true` when it is the last one awake, and has to check first.
    pub(crate) fn sleeps(&self) -> bool {
        self.awake.fetch_sub(1, Relaxed) == 1
    }

    /// How many are awake.
    #[cfg(test)]
    pub(crate) fn awake(&self) -> usize {
        self.awake.load(Relaxed)
    }
}

//! Which I/O thread looks whether memory can go back to the system. All threads have it together, so that one look is
//! enough for all of them: one every so often, and one before all sleep. Neighbours: `timeouts` (who asks), the service
//! (who looks).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Whatever happens, somebody looks after so many ms.
const EVERY: u64 = 10_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Memory {
    /// when a thread looked last
    looked: AtomicU64,
    /// threads that do not sleep until something comes
    awake: AtomicUsize,
}

impl Memory {
    /// Nobody is awake yet, and it is not due for a while.
    pub(crate) fn new(now: u64) -> Self {
        Memory { looked: AtomicU64::new(now), awake: AtomicUsize::new(0) }
    }

    /// Whether this thread is to look, at `now`: then it is the only one.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        let looked = self.looked.load(Relaxed);
        let is_due = now.saturating_sub(looked) >= EVERY;
        is_due && self.looked.compare_exchange(looked, now, Relaxed, Relaxed).is_ok()
    }

    /// This thread is awake.
    pub(crate) fn wakes(&self) {
        self.awake.fetch_add(1, Relaxed);
    }

    /// It is going to sleep. Whether it is to look before that: all others sleep, and nobody will for a while.
    pub(crate) fn sleeps(&self) -> bool {
        self.awake.fetch_sub(1, Relaxed) == 1
    }

    /// How many are awake.
    #[cfg(test)]
    pub(crate) fn awake(&self) -> usize {
        self.awake.load(Relaxed)
    }
}

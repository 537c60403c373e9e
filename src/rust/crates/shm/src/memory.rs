//! Giving memory back to the system.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A process that has grown by so many bytes may have some to give back.
const WORTH_IT: u64 = 8 << 20;

/// [`give_back`], when this process has more than it once had: now it has so many bytes in memory.
pub fn give_back_what_has_grown(bytes: u64) {
    static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);
    let least = LEAST.fetch_min(bytes, Relaxed).min(bytes);
    if bytes >= least + WORTH_IT {
        give_back();
    }
}

/// Has the allocator return the pages that it holds but nobody uses. Takes milliseconds where there are many: for
/// moments of calm.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: a function of the C library without preconditions; it takes the allocator's own locks.
        unsafe { malloc_trim(0) };
    }
}

//! Giving memory back to the system.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A process that has grown by this many bytes may have memory to give back.
const WORTH_IT: u64 = 8 << 20;

/// Calls [`give_back`] when this process, now of `bytes` in memory, has grown by `WORTH_IT` since its least.
pub fn give_back_what_has_grown(bytes: u64) {
    static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);
    let least = LEAST.fetch_min(bytes, Relaxed).min(bytes);
    if bytes >= least + WORTH_IT {
        give_back();
    }
}

/// Has the allocator return its unused pages. Takes milliseconds where there are many: for moments of calm.
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

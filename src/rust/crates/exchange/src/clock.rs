//! The clock of the server.

use rustix::time::{clock_gettime, ClockId};

/// Milliseconds on a clock that only goes forward, never 0. The clock is the kernel's coarse one, a few ms behind: it
/// costs a fifth of the exact one, and everything measured with it is a matter of a tenth of a second and more.
pub fn now() -> u64 {
    #[cfg(debug_assertions)]
    if let Some(told) = TOLD.get() {
        return told;
    }
    let t = clock_gettime(ClockId::MonotonicCoarse);
    t.tv_sec as u64 * 1000 + t.tv_nsec as u64 / 1_000_000 + 1
}

#[cfg(debug_assertions)]
thread_local! {
    static TOLD: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// From now on this is what [`now`] gives in this thread. For tests and fuzz targets, which need not wait then; the
/// builds that users have are without it. Not a feature, for which every crate above would be built once more.
#[cfg(debug_assertions)]
pub fn set_now(ms: u64) {
    TOLD.set(Some(ms));
}

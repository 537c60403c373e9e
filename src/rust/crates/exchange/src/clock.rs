//! The clock of the server.

use rustix::time::{clock_gettime, ClockId};

/// Milliseconds on a clock that only goes forward, never 0. The clock is the kernel's coarse one, a few ms behind: it costs a fifth of
/// the exact one, and everything measured with it is a matter of a tenth of a second and more.
pub fn now() -> u64 {
    let t = clock_gettime(ClockId::MonotonicCoarse);
    t.tv_sec as u64 * 1000 + t.tv_nsec as u64 / 1_000_000 + 1
}

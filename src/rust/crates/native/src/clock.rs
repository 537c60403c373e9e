//! The clock that C handlers are told times by.

use std::time::{Duration, Instant};

/// `drover_api.now_ns`
pub extern "C" fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // it counts from the start of the machine: never negative, and 584 years are enough
    (now.tv_sec as u64) * 1_000_000_000 + now.tv_nsec as u64
}

/// A moment by the clock of `now_ns()`.
pub fn instant_ns(at: Instant) -> u64 {
    let (now, clock) = (Instant::now(), now_ns());
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    clock.saturating_sub(ns(now.saturating_duration_since(at))).saturating_add(ns(at.saturating_duration_since(now)))
}

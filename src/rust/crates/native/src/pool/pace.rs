//! How long a handler is expected to take: by what it has taken lately.

use exchange::follow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A handler that takes less than this may run before the answers to earlier requests are told.
pub const QUICK: Duration = Duration::from_micros(25);

/// Nothing is known.
const UNKNOWN: u32 = u32::MAX;

/// Of one handler. Written by the threads that run it, read by those that submit; all relaxed, as it is a guess, and a
/// lost update does no harm.
pub struct Pace(AtomicU32);

impl Default for Pace {
    fn default() -> Self {
        Pace(AtomicU32::new(UNKNOWN))
    }
}

impl Pace {
    /// What the next one will take; `None` before the first, and when that is not quick.
    pub fn expected(&self) -> Option<Duration> {
        let expected = Duration::from_nanos(u64::from(self.0.load(Ordering::Relaxed)));
        (expected < QUICK).then_some(expected)
    }

    /// A call took this long.
    pub fn took(&self, took: Duration) {
        let took = u32::try_from(took.as_nanos()).unwrap_or(UNKNOWN).min(UNKNOWN - 1);
        let before = match self.0.load(Ordering::Relaxed) {
            UNKNOWN => took,
            before => before,
        };
        self.0.store(follow(before, took, 100_000).min(UNKNOWN - 1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pause_is_forgiven_and_a_slow_handler_is_not() {
        let pace = Pace::default();
        let takes = |micros, times| (0..times).for_each(|_| pace.took(Duration::from_micros(micros)));
        assert_eq!(pace.expected(), None);
        takes(3, 1);
        assert_eq!(pace.expected(), Some(Duration::from_micros(3)));
        takes(5_000, 1);
        assert!(pace.expected().is_some());
        takes(5_000, 1);
        assert_eq!(pace.expected(), None);
        takes(3, 100);
        assert!(pace.expected().is_some());
        takes(10_000_000, 100);
        assert_eq!(pace.expected(), None);
    }
}

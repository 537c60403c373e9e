//! When to ring for a reply.
//!
//! A ring costs a system call here and a wake-up there, so replies to quick handlers are better told several at a time.
//! But a reply must never wait for a slow handler behind it. So it is rung for at once, unless the next request is here
//! already and its route has lately been quick. A route that was slow once counts as slow for the next thousand
//! requests or so.

use std::time::{Duration, Instant};

/// A handler that takes less than this may run before the replies to earlier ones are told.
const QUICK: Duration = Duration::from_micros(25);
/// But no more than this many.
const MOST: u32 = 64;

/// How long the handlers of each route have lately taken at most, and which replies have not been told.
#[derive(Debug, Default)]
pub(crate) struct Notifying {
    /// for each route, the longest run of its handler, decaying by 1 % a request; `None` before the first
    longest: Vec<Option<Duration>>,
    began: Option<(usize, Instant)>,
    /// how long it had taken when it had its answer
    took: Option<Duration>,
    unnotified: u32,
}

impl Notifying {
    fn index(route: u32) -> usize {
        // the not-found handler, u32::MAX, comes first
        route.wrapping_add(1) as usize
    }

    /// A handler of `route` begins.
    pub(crate) fn begin(&mut self, route: u32) {
        let index = Self::index(route);
        if index >= self.longest.len() {
            self.longest.resize(index + 1, None);
        }
        self.began = Some((index, Instant::now()));
        self.took = None;
    }

    /// The handler that began has returned. How long it took.
    pub(crate) fn end(&mut self) -> Duration {
        let Some((index, began)) = self.began.take() else { return Duration::MAX };
        let took = self.took.unwrap_or_else(|| began.elapsed());
        let before = self.longest[index].unwrap_or_default();
        self.longest[index] = Some(took.max(before - before / 100));
        took
    }

    /// The handler that began last has its answer: how long that took; 0 when none runs.
    pub(crate) fn answered(&mut self) -> Duration {
        let took = self.began.map(|(_, began)| began.elapsed());
        self.took = took;
        took.unwrap_or_default()
    }

    /// A reply is in the ring, not rung for.
    pub(crate) fn replied(&mut self) {
        self.unnotified += 1;
    }

    /// Whether replies are to be rung for before a handler of `route` begins.
    pub(crate) fn must_notify_before(&self, route: u32) -> bool {
        self.unnotified > 0 && (!self.is_quick(Self::index(route)) || self.unnotified >= MOST)
    }

    /// Whether what is said now can wait for the reply of the handler that runs. If that is not as quick as it was
    /// lately, the server finds it when it next looks at the clock, within some 25 ms.
    pub(crate) fn can_wait(&self) -> bool {
        self.began.is_some_and(|(index, _)| self.is_quick(index)) && self.unnotified < MOST
    }

    fn is_quick(&self, index: usize) -> bool {
        self.longest.get(index).copied().flatten().is_some_and(|longest| longest < QUICK)
    }

    /// All replies have been rung for.
    pub(crate) fn notified(&mut self) {
        self.unnotified = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handler of route 0 that takes no time, however long this thread has to wait for a processor meanwhile.
    fn run_quickly(notifying: &mut Notifying) {
        notifying.begin(0);
        notifying.took = Some(Duration::ZERO);
        notifying.end();
    }

    #[test]
    fn nobody_waits_for_a_route_that_is_slow_or_unknown() {
        let mut notifying = Notifying::default();
        notifying.replied();
        assert!(notifying.must_notify_before(0), "unknown");
        run_quickly(&mut notifying);
        assert!(!notifying.must_notify_before(0), "quick");
        notifying.begin(0);
        // longer than what is quick
        std::thread::sleep(Duration::from_millis(1));
        notifying.end();
        assert!(notifying.must_notify_before(0), "slow");
        (0..2000).for_each(|_| run_quickly(&mut notifying));
        assert!(!notifying.must_notify_before(0), "quick again");
        for _ in 0..MOST {
            notifying.replied();
        }
        assert!(notifying.must_notify_before(0), "many wait");
        notifying.notified();
        assert!(!notifying.must_notify_before(1) && !notifying.must_notify_before(u32::MAX), "none waits");
    }

    #[test]
    fn what_a_handler_says_waits_for_its_reply_when_that_is_soon() {
        let mut notifying = Notifying::default();
        assert!(!notifying.can_wait(), "no handler runs");
        notifying.begin(0);
        assert!(!notifying.can_wait(), "unknown");
        notifying.took = Some(Duration::ZERO);
        notifying.end();
        notifying.begin(0);
        assert!(notifying.can_wait());
        // longer than what is quick
        std::thread::sleep(Duration::from_millis(1));
        notifying.end();
        notifying.begin(0);
        assert!(!notifying.can_wait(), "slow");
    }
}

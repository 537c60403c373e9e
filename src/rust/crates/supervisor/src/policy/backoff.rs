//! When the next process may be started after others have come to grief, and how often that is told.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Failures are counted over this time, and forgotten after as long without any. As long passes between two log lines.
const WINDOW: Duration = Duration::from_secs(10);
/// A process that lived for longer than this was no part of a loop: it did not die of its start.
const LONG_LIFE: Duration = Duration::from_secs(1);
/// The first wait, which doubles each time, and the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Counts failures and says how long to wait. The first `tolerated - 1` within [`WINDOW`] cost no wait.
#[derive(Debug)]
pub struct Backoff {
    tolerated: usize,
    recent: VecDeque<Instant>,
    wait: Duration,
    until: Option<Instant>,
    reported: Option<Instant>,
}

/// What follows from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setback {
    /// how long nothing is started; zero for no wait
    pub wait: Duration,
    /// failures within the last ten seconds
    pub failures: usize,
    /// whether to log it: a wait that has not been told for a while
    pub is_news: bool,
}

impl Backoff {
    /// For workers that end: five within ten seconds are a crash loop.
    pub fn of_deaths() -> Self {
        Backoff::after(5)
    }

    /// For processes that cannot be made: each failure is followed by a wait.
    pub fn of_forks() -> Self {
        Backoff::after(1)
    }

    /// For zygotes that end: the first is replaced at once.
    pub fn of_zygotes() -> Self {
        Backoff::after(2)
    }

    fn after(tolerated: usize) -> Self {
        Backoff { tolerated, recent: VecDeque::new(), wait: Duration::ZERO, until: None, reported: None }
    }

    /// A process has come to grief after it had `lived` for so long, zero when it never came to do its work.
    pub fn failure(&mut self, now: Instant, lived: Duration) -> Setback {
        let calm = self.recent.back().is_some_and(|&last| now - last >= WINDOW);
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|&first| now - first >= WINDOW) {
            self.recent.pop_front();
        }
        // the waits alone make failures rare: that there are few of them says nothing about processes that die at once
        let sound = lived >= LONG_LIFE && self.recent.len() < self.tolerated;
        if calm || sound {
            self.wait = Duration::ZERO;
            self.until = None;
        }
        let waits_already = self.until.is_some_and(|until| now < until);
        if !waits_already {
            self.wait = match self.wait {
                Duration::ZERO if self.recent.len() < self.tolerated => Duration::ZERO,
                Duration::ZERO => FIRST,
                wait => (2 * wait).min(LONGEST),
            };
            self.until = (!self.wait.is_zero()).then(|| now + self.wait);
        }
        let is_news = !self.wait.is_zero() && self.reported.is_none_or(|reported| now - reported >= WINDOW);
        if is_news {
            self.reported = Some(now);
        }
        Setback { wait: self.wait, failures: self.recent.len(), is_news }
    }

    /// The time before which nothing is to be started, when that is still to come.
    pub fn blocked_until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|&until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn few_deaths_cost_no_wait() {
        let start = Instant::now();
        let mut backoff = Backoff::of_deaths();
        for i in 0..4 {
            assert_eq!(backoff.failure(start + ms(i), ms(0)).wait, ms(0));
        }
        // the first ones are out of the window by now
        assert_eq!(backoff.failure(start + ms(10_001), ms(0)), Setback { wait: ms(0), failures: 3, is_news: false });
        assert_eq!(backoff.blocked_until(start + ms(10_001)), None);
    }

    #[test]
    fn a_crash_loop_waits_longer_each_time_and_says_so_once_in_ten_seconds() {
        let start = Instant::now();
        let mut backoff = Backoff::of_deaths();
        let mut now = start;
        let mut waits = Vec::new();
        let mut reported = Vec::new();
        for _ in 0..14 {
            let setback = backoff.failure(now, ms(1));
            waits.push(setback.wait.as_millis());
            if setback.is_news {
                reported.push((now - start).as_secs());
            }
            // each dies as soon as it was started
            now = backoff.blocked_until(now).unwrap_or(now) + ms(1);
        }
        assert_eq!(waits, [0, 0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
        assert_eq!(reported, [0, 11, 21]);
    }

    #[test]
    fn deaths_during_the_wait_do_not_lengthen_it() {
        let start = Instant::now();
        let mut backoff = Backoff::of_forks();
        assert_eq!(backoff.failure(start, ms(0)), Setback { wait: ms(100), failures: 1, is_news: true });
        assert_eq!(backoff.failure(start + ms(50), ms(0)), Setback { wait: ms(100), failures: 2, is_news: false });
        assert_eq!(backoff.blocked_until(start + ms(60)), Some(start + ms(100)));
        assert_eq!(backoff.blocked_until(start + ms(100)), None);
        assert_eq!(backoff.failure(start + ms(100), ms(0)).wait, ms(200));
    }

    #[test]
    fn workers_that_live_for_a_while_are_no_loop() {
        let start = Instant::now();
        let mut backoff = Backoff::of_deaths();
        for i in 0..5 {
            backoff.failure(start + ms(i), ms(0));
        }
        let mut waits = (1..5).map(|i| backoff.failure(start + ms(4000 * i), ms(4000)).wait.as_millis());
        // at 4 and 8 seconds the first five still count
        assert_eq!((waits.next(), waits.next()), (Some(200), Some(400)));
        assert_eq!(waits.collect::<Vec<_>>(), [0, 0]);
    }

    #[test]
    fn calm_resets_it() {
        let start = Instant::now();
        let mut backoff = Backoff::of_forks();
        backoff.failure(start, ms(0));
        backoff.failure(start + ms(100), ms(0));
        assert_eq!(backoff.failure(start + ms(10_100), ms(0)).wait, ms(100));
    }
}

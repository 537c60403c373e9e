//! How many workers there should be: more when requests wait, fewer when workers are unused.

use std::time::Duration;

/// The number of workers to keep, between the fewest and the most.
#[derive(Debug)]
pub struct PoolSize {
    n_min: usize,
    n_max: usize,
    target: usize,
}

/// A worker that is not busy, and for how long it has not been.
#[derive(Debug, Clone, Copy)]
pub struct Unused {
    /// the worker
    pub worker: u32,
    /// since its last request, or since its start
    pub idle: Duration,
}

impl PoolSize {
    /// The fewest at first.
    pub fn new(n_min: usize, n_max: usize) -> Self {
        PoolSize { n_min, n_max, target: n_min }
    }

    /// How many there should be.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Other bounds from now on.
    pub fn resize(&mut self, n_min: usize, n_max: usize) {
        (self.n_min, self.n_max) = (n_min, n_max);
        self.set(self.target);
    }

    /// A new generation starts with as many workers as the one before has in use.
    pub fn for_takeover(&self, serving: usize) -> usize {
        serving.clamp(self.n_min, self.n_max)
    }

    /// Sets the target, within the limits.
    pub fn set(&mut self, workers: usize) {
        self.target = workers.clamp(self.n_min, self.n_max);
    }

    /// Requests wait and no worker is free: one worker is started for each that waits, as far as those that start
    /// already will not do.
    pub fn grow(&mut self, waiting: usize, serving: usize, starting: usize) {
        let wanted = serving + starting + waiting.saturating_sub(starting);
        self.target = self.target.max(wanted.min(self.n_max));
    }

    /// The workers to retire of those `unused`: not needed for `max_age`, the longest unused first. There are `workers`
    /// in all, of which `fewest` stay.
    pub fn shrink(&mut self, workers: usize, mut unused: Vec<Unused>, max_age: Duration, fewest: usize) -> Vec<u32> {
        unused.retain(|u| u.idle >= max_age);
        unused.sort_by_key(|u| std::cmp::Reverse(u.idle));
        unused.truncate(workers.saturating_sub(self.n_min.max(fewest)));
        self.target = self.target.min(workers - unused.len()).max(self.n_min);
        unused.into_iter().map(|u| u.worker).collect()
    }

    /// Whether there may be workers to retire some time.
    pub fn can_shrink(&self) -> bool {
        self.target > self.n_min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(300);

    fn unused(worker: u32, seconds: u64) -> Unused {
        Unused { worker, idle: Duration::from_secs(seconds) }
    }

    #[test]
    fn one_worker_is_started_for_each_request_that_waits() {
        let mut size = PoolSize::new(1, 8);
        size.grow(2, 1, 0);
        assert_eq!(size.target(), 3);
        // the two that start are for the two that wait
        size.grow(2, 1, 2);
        assert_eq!(size.target(), 3);
        size.grow(3, 1, 2);
        assert_eq!(size.target(), 4);
        size.grow(1000, 4, 0);
        assert_eq!(size.target(), 8);
        size.grow(0, 1, 0);
        assert_eq!(size.target(), 8);
    }

    #[test]
    fn the_longest_unused_go_first_and_the_fewest_stay() {
        let mut size = PoolSize::new(2, 5);
        size.set(5);
        assert!(size.can_shrink());
        let all = vec![unused(1, 400), unused(2, 100), unused(3, 900), unused(4, 300), unused(5, 500)];
        assert_eq!(size.shrink(5, all, MAX_AGE, 0), [3, 5, 1]);
        assert_eq!(size.target(), 2);
        assert!(!size.can_shrink());
        assert!(size.shrink(2, vec![unused(2, 900), unused(4, 900)], MAX_AGE, 0).is_empty());
    }

    #[test]
    fn all_go_where_none_is_wanted_unless_some_are() {
        let mut size = PoolSize::new(0, 5);
        size.set(1);
        let both = vec![unused(1, 400), unused(2, 400)];
        assert!(size.shrink(2, both.clone(), MAX_AGE, 2).is_empty());
        assert_eq!((size.target(), size.shrink(2, both, MAX_AGE, 0), size.target()), (1, vec![1, 2], 0));
        size.grow(1, 0, 0);
        assert_eq!(size.target(), 1);
    }

    #[test]
    fn used_workers_stay() {
        let mut size = PoolSize::new(1, 5);
        size.set(4);
        assert!(size.shrink(4, vec![unused(1, 299)], MAX_AGE, 0).is_empty());
        assert_eq!(size.target(), 4);
        // one more than the target while a worker is replaced
        assert_eq!(size.shrink(5, vec![unused(1, 300)], MAX_AGE, 0), [1]);
        assert_eq!(size.target(), 4);
    }

    #[test]
    fn fewer_than_the_fewest_is_no_reason_to_ask_for_fewer() {
        let mut size = PoolSize::new(3, 5);
        assert!(size.shrink(1, vec![unused(1, 900)], MAX_AGE, 0).is_empty());
        assert_eq!(size.target(), 3);
    }

    #[test]
    fn other_bounds_move_the_target_no_further_than_they_must() {
        let mut size = PoolSize::new(1, 4);
        size.set(3);
        let mut resized = |n_min, n_max| {
            size.resize(n_min, n_max);
            (size.target(), size.can_shrink())
        };
        assert_eq!(resized(2, 8), (3, true));
        assert_eq!(resized(6, 6), (6, false));
        assert_eq!(resized(1, 6), (6, true));
        assert_eq!(resized(1, 2), (2, true));
        size.grow(9, 2, 0);
        assert_eq!(size.target(), 2);
    }

    #[test]
    fn a_takeover_keeps_the_size_within_the_bounds() {
        let size = PoolSize::new(2, 4);
        assert_eq!([0, 2, 3, 9].map(|n| size.for_takeover(n)), [2, 2, 3, 4]);
    }
}

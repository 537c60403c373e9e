//! Which workers go although nothing is wrong with them, and when to look for such: those that are worn, one after the
//! other, and those that are not needed.
//!
//! Not for what a worker has done or holds: that is asked of the workers (`turnover`). Neighbours: `policy` (the number
//! of workers, and how one wears).

use crate::policy::{Express, PoolSize, Reason, Sessions, Unused};
use crate::PoolOptions;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How often the memory of workers is looked at when it has a bound.
const MEMORY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub struct Recycling {
    size: PoolSize,
    sessions: Sessions,
    express: Express,
    /// workers to be replaced, one after the other
    worn: VecDeque<(u32, Reason)>,
    /// the one whose replacement is being started
    replaced: Option<u32>,
    check_unused: Duration,
    unused_due: Instant,
    max_age: Duration,
    /// when the memory of workers is looked at next, if it has a bound
    memory_due: Option<Instant>,
}

impl Recycling {
    /// For a server that starts, with at most `most` workers for requests.
    pub fn new(options: &PoolOptions, most: usize, now: Instant) -> Self {
        let (check_unused, max_age) = (options.check_unused, options.max_age);
        Recycling {
            size: PoolSize::new(options.n_min, most),
            sessions: Sessions::default(),
            express: Express::new(Duration::from_secs_f64(max_age.max(check_unused))),
            worn: VecDeque::new(),
            replaced: None,
            check_unused: Duration::from_secs_f64(check_unused),
            unused_due: now,
            max_age: Duration::from_secs_f64(max_age),
            memory_due: (options.max_rss > 0).then_some(now),
        }
    }

    /// How many workers there should be, without the one that is being replaced.
    pub fn target(&self) -> usize {
        let target = self.sessions.target(self.size.target());
        target + usize::from(target > 0 && self.express.is_there())
    }

    /// The one worker more for short requests.
    pub fn express(&mut self) -> &mut Express {
        &mut self.express
    }

    /// Whether there is one.
    pub fn has_express(&self) -> bool {
        self.express.is_there()
    }

    /// Of so many workers, those that there are without the express worker.
    pub fn without_express(&self, workers: usize) -> usize {
        workers.saturating_sub(usize::from(self.express.is_there()))
    }

    /// Of so many workers, those for requests of any kind.
    fn for_requests(&self, workers: usize) -> usize {
        self.sessions.without(self.without_express(workers))
    }

    /// What is known of sessions that have workers of their own.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The same, from now on.
    pub fn set_sessions(&mut self, sessions: Sessions) {
        self.sessions = sessions;
    }

    /// Other bounds for the number of workers.
    pub fn resize(&mut self, n_min: usize, n_max: usize, now: Instant) {
        if !self.size.can_shrink() {
            // the clock for unused workers stood still
            self.unused_due = now + self.check_unused;
        }
        self.size.resize(n_min, n_max);
    }

    /// A new generation starts with as many workers as the one before has in use.
    pub fn for_takeover(&self, serving: usize) -> usize {
        self.size.for_takeover(self.without_express(serving))
    }

    /// Another generation has taken over, with this many workers: they are all fresh.
    pub fn start_over(&mut self, workers: usize, now: Instant) {
        self.size.set(workers);
        self.sessions = Sessions::default();
        self.express.end();
        self.worn.clear();
        self.replaced = None;
        self.unused_due = now + self.check_unused;
    }

    /// Requests wait and no worker is free.
    pub fn grow(&mut self, waiting: usize, serving: usize, starting: usize, now: Instant) {
        if !self.size.can_shrink() {
            // the clock for unused workers stood still
            self.unused_due = now + self.check_unused;
        }
        self.size.grow(waiting, self.for_requests(serving), starting);
    }

    /// Whether it is time to look for workers that are not needed.
    pub fn may_shrink(&self, now: Instant) -> bool {
        self.size.can_shrink() && self.unused_due <= now
    }

    /// The workers to retire of those `unused`; there are `workers` in all.
    pub fn shrink(&mut self, workers: usize, unused: Vec<Unused>, now: Instant) -> Vec<u32> {
        self.unused_due = now + self.check_unused;
        let workers = self.for_requests(workers);
        let are_all = unused.iter().filter(|one| one.idle >= self.max_age).count() >= workers;
        self.size.shrink(workers, unused, self.max_age, self.sessions.fewest(are_all))
    }

    /// Whether it is time to look at the memory of workers; then the next time is later.
    pub fn weighs(&mut self, now: Instant) -> bool {
        let due = self.memory_due.is_some_and(|due| due <= now);
        if due {
            self.memory_due = Some(now + MEMORY);
        }
        due
    }

    /// This worker is to be replaced.
    pub fn replace(&mut self, id: u32, reason: Reason) {
        if !self.lasts(id) {
            return;
        }
        match reason {
            // urgent: an interrupt may have left something behind, a thread is lost, or an operator waits
            Reason::Late(_) | Reason::Blocked(_) | Reason::Asked => self.worn.push_front((id, reason)),
            _ => self.worn.push_back((id, reason)),
        }
    }

    /// Whether this worker is neither being replaced nor about to be.
    pub fn lasts(&self, id: u32) -> bool {
        !self.is_replaced(id) && !self.worn.iter().any(|&(worn, _)| worn == id)
    }

    /// Whether this worker is being replaced: it does not count any more.
    pub fn is_replaced(&self, id: u32) -> bool {
        self.replaced == Some(id)
    }

    /// This worker goes, or is gone, for whatever reason.
    pub fn forget(&mut self, id: u32) {
        self.replaced.take_if(|replaced| *replaced == id);
        self.worn.retain(|&(worn, _)| worn != id);
    }

    /// The worker whose replacement begins now, of those that still `serve`: one at a time, so that there is never more
    /// than one worker too many.
    pub fn begin_next(&mut self, serves: impl Fn(u32) -> bool) -> Option<(u32, Reason)> {
        while self.replaced.is_none() {
            let (id, reason) = self.worn.pop_front()?;
            if serves(id) {
                self.replaced = Some(id);
                return Some((id, reason));
            }
        }
        None
    }

    /// The worker that was being replaced and may go, as this many serve without it.
    pub fn end_replacement(&mut self, serving: usize) -> Option<u32> {
        let enough = serving >= self.target();
        self.replaced.take_if(|_| enough)
    }

    /// When the clock must be looked at next.
    pub fn due(&self) -> Option<Instant> {
        let unused = self.size.can_shrink().then_some(self.unused_due);
        unused.into_iter().chain(self.express.due()).chain(self.memory_due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(300);

    fn recycling(now: Instant, change: impl FnOnce(&mut PoolOptions)) -> Recycling {
        let mut options =
            PoolOptions { n_min: 1, n_max: 4, check_unused: 10.0, max_age: 300.0, ..PoolOptions::default() };
        change(&mut options);
        Recycling::new(&options, options.n_max, now)
    }

    #[test]
    fn one_worker_is_replaced_at_a_time_and_the_urgent_first() {
        let mut recycling = recycling(Instant::now(), |_| {});
        for (id, reason) in
            [(1, Reason::Requests(9)), (2, Reason::Requests(9)), (3, Reason::Late(7)), (1, Reason::Asked)]
        {
            recycling.replace(id, reason);
        }
        assert_eq!(recycling.begin_next(|_| true), Some((3, Reason::Late(7))));
        assert_eq!((recycling.is_replaced(3), recycling.begin_next(|_| true)), (true, None));
        assert_eq!([1, 2, 3, 4].map(|id| recycling.lasts(id)), [false, false, false, true]);
        // not before another one serves
        assert_eq!((recycling.end_replacement(0), recycling.end_replacement(1)), (None, Some(3)));
        // the first has ended in the meantime
        assert_eq!(recycling.begin_next(|id| id != 1), Some((2, Reason::Requests(9))));
        recycling.forget(2);
        assert_eq!((recycling.end_replacement(9), recycling.begin_next(|_| true)), (None, None));
    }

    #[test]
    fn a_takeover_leaves_nothing_to_replace() {
        let now = Instant::now();
        let mut recycling = recycling(now, |_| {});
        [1, 2].into_iter().for_each(|id| recycling.replace(id, Reason::Asked));
        recycling.begin_next(|_| true);
        recycling.start_over(3, now);
        assert_eq!((recycling.target(), recycling.lasts(1), recycling.lasts(2)), (3, true, true));
        assert_eq!(recycling.begin_next(|_| true), None);
        assert_eq!(recycling.due(), Some(now + Duration::from_secs(10)));
    }

    #[test]
    fn unused_workers_are_looked_for_as_long_as_there_may_be_some() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        let mut recycling = recycling(now, |_| {});
        assert_eq!((recycling.due(), recycling.may_shrink(later(99))), (None, false));
        recycling.grow(2, 1, 0, later(100));
        assert_eq!((recycling.target(), recycling.due()), (3, Some(later(110))));
        // the clock runs already
        recycling.grow(2, 3, 1, later(105));
        assert_eq!((recycling.target(), recycling.due()), (4, Some(later(110))));
        assert_eq!((recycling.may_shrink(later(109)), recycling.may_shrink(later(110))), (false, true));
        let unused = |worker, seconds| Unused { worker, idle: Duration::from_secs(seconds) };
        assert_eq!(recycling.shrink(4, vec![unused(1, 299), unused(2, 300)], later(110)), [2]);
        assert_eq!((recycling.target(), recycling.due()), (3, Some(later(120))));
    }

    #[test]
    fn the_express_worker_is_one_more_and_counts_for_nothing_else() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        let mut recycling = recycling(now, |options| options.n_min = 2);
        recycling.express().begin(0, now);
        assert_eq!((recycling.target(), recycling.without_express(3), recycling.for_takeover(4)), (3, 2, 3));
        assert_eq!(recycling.due(), Some(later(300)));
        // one waits, and three serve, of which one is for short requests
        recycling.grow(1, 3, 0, now);
        assert_eq!(recycling.target(), 4);
        let unused = |worker| Unused { worker, idle: MAX_AGE };
        assert_eq!(recycling.shrink(4, (1..=4).map(unused).collect(), later(300)), [1]);
        assert_eq!(recycling.target(), 3, "the two that stay, and one more");
        recycling.start_over(2, now);
        assert_eq!(recycling.target(), 2);
    }

    #[test]
    fn an_app_that_rests_has_no_express_worker() {
        let now = Instant::now();
        let mut recycling = recycling(now, |options| options.n_min = 0);
        recycling.grow(1, 0, 0, now);
        recycling.express().begin(0, now);
        assert_eq!(recycling.target(), 2);
        let unused = |worker| Unused { worker, idle: MAX_AGE };
        recycling.shrink(2, vec![unused(1), unused(2)], now + MAX_AGE);
        assert_eq!(recycling.target(), 0);
    }

    #[test]
    fn memory_is_weighed_once_a_second_where_it_has_a_bound() {
        let now = Instant::now();
        assert!(!recycling(now, |_| {}).weighs(now));
        let mut recycling = recycling(now, |options| options.max_rss = 1);
        assert!(recycling.weighs(now) && !recycling.weighs(now));
        assert_eq!(recycling.due(), Some(now + MEMORY));
        assert!(recycling.weighs(now + MEMORY));
    }
}

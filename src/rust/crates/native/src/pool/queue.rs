//! What waits for threads, what threads do, and how many are to be awake. All of it is under one lock; nothing here
//! wakes, runs or waits.
//!
//! A thread is, one after the other: *sleeping* → *looking* (for a job: it is awake, or has been told to be) → running
//! a *quick* job, and looking at once after it; or running a *slow* one. A quick one that is found to last is *late*,
//! and counts as slow from then on.

use super::pace::QUICK;
use exchange::Sink;
use std::collections::VecDeque;
use std::sync::atomic::{fence, AtomicBool, Ordering};
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

/// A request, and where its answer goes.
pub struct Job {
    pub handler: u32,
    pub message: Vec<u8>,
    pub received: Instant,
    pub sink: Arc<dyn Sink>,
}

/// Answers that are held until they are told, at most: with what the quickest handlers take, a fraction of a
/// millisecond.
const MOST_HELD: usize = 32;
/// Work of quick jobs that one thread is left with before another is woken for it. Each wake-up costs, and takes what
/// is in the caches elsewhere; what waits longer than this is more than one thread can do.
const ENOUGH_WORK: Duration = Duration::from_millis(1);
/// Looks without anything to look at before the lookout sleeps: it is not woken for each batch of requests.
const IDLE_LOOKS: u32 = 20;

/// A job that no thread has taken.
pub struct Waiting {
    pub job: Job,
    /// what it is expected to take, if it is quick
    pub quick: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// nothing, or looking for something
    Nothing,
    Quick,
    Slow,
    Late,
}

/// What is known of a thread.
struct Runner {
    doing: Doing,
    /// of its job; answers held before it are in `held`
    sink: Option<Arc<dyn Sink>>,
    held: Vec<Arc<dyn Sink>>,
    /// jobs that it has begun, and how many it had when the lookout last looked
    begun: u64,
    seen: u64,
    late: Arc<AtomicBool>,
    /// where it sleeps, and whether it has been told to wake up and has not noticed yet
    bed: Arc<Condvar>,
    called: bool,
}

/// Threads to be woken, and how many to be started.
#[derive(Debug, Default)]
pub struct Wake {
    pub sleepers: Vec<Arc<Condvar>>,
    pub new: usize,
}

/// A job to be run.
pub struct Begun {
    pub job: Job,
    /// whether its answer may be held
    pub holds: bool,
    /// sinks to tell before it runs
    pub notify: Vec<Arc<dyn Sink>>,
}

/// See the module.
pub struct Queue {
    jobs: VecDeque<Waiting>,
    /// of the jobs: those that are not quick, and what the others are expected to take
    slow: usize,
    quick_work: Duration,
    most: usize,
    runners: Vec<Runner>,
    /// those that sleep, in the order in which they fell asleep: the last one is the first to be woken, as it is warm
    sleeping: Vec<usize>,
    looking: usize,
    /// threads that run quick jobs
    quick_runs: usize,
    /// threads that have not ended
    alive: usize,
    stopping: bool,
    watching: bool,
    idle_looks: u32,
    /// whether the lookout's thread has been started
    pub lookout_runs: bool,
    trusting: bool,
}

impl Queue {
    /// Of `most` threads.
    pub fn new(most: usize) -> Self {
        Queue {
            jobs: VecDeque::new(),
            slow: 0,
            quick_work: Duration::ZERO,
            most,
            runners: Vec::new(),
            sleeping: Vec::new(),
            looking: 0,
            quick_runs: 0,
            alive: 0,
            stopping: false,
            watching: false,
            idle_looks: 0,
            lookout_runs: false,
            trusting: true,
        }
    }

    /// Takes these jobs, or leaves them when there is no use.
    pub fn push(&mut self, jobs: &mut Vec<Waiting>) {
        if self.stopping {
            return;
        }
        for Waiting { job, quick } in jobs.drain(..) {
            let quick = quick.filter(|_| self.trusting);
            match quick {
                Some(work) => self.quick_work += work,
                None => self.slow += 1,
            }
            self.jobs.push_back(Waiting { job, quick });
        }
    }

    /// How many threads should be looking: one for each job that is not quick, and enough for the others.
    fn wanted(&self) -> usize {
        let for_quick = if self.jobs.len() > self.slow {
            1 + (self.quick_work.as_nanos() / ENOUGH_WORK.as_nanos()) as usize
        } else {
            0
        };
        self.slow + for_quick
    }

    /// Decides which threads are to be woken for the waiting jobs. They count as looking from now on.
    pub fn wake(&mut self) -> Wake {
        let lacking = self.wanted().saturating_sub(self.looking + self.quick_runs);
        let woken = self.sleeping.split_off(self.sleeping.len().saturating_sub(lacking));
        let new = (lacking - woken.len()).min(self.most - self.runners.len());
        self.looking += woken.len();
        let call = |me: usize| {
            self.runners[me].called = true;
            self.runners[me].bed.clone()
        };
        Wake { sleepers: woken.into_iter().rev().map(call).collect(), new }
    }

    /// The number of the next thread.
    pub fn threads(&self) -> usize {
        self.runners.len()
    }

    /// It was started, and looks.
    pub fn started(&mut self) {
        self.runners.push(Runner {
            doing: Doing::Nothing,
            sink: None,
            held: Vec::new(),
            begun: 0,
            seen: 0,
            late: Arc::default(),
            bed: Arc::default(),
            called: false,
        });
        self.looking += 1;
        self.alive += 1;
    }

    /// It was not. Without any thread, the waiting jobs are given back.
    pub fn not_started(&mut self) -> VecDeque<Job> {
        if self.alive > 0 {
            return VecDeque::new();
        }
        self.take_all()
    }

    fn take_all(&mut self) -> VecDeque<Job> {
        self.slow = 0;
        self.quick_work = Duration::ZERO;
        std::mem::take(&mut self.jobs).into_iter().map(|waiting| waiting.job).collect()
    }

    /// The end: what waits is given back.
    pub fn stop(&mut self) -> VecDeque<Job> {
        self.stopping = true;
        self.take_all()
    }

    /// Whether it is the end.
    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Whether any thread has not ended.
    pub fn has_threads(&self) -> bool {
        self.alive > 0
    }

    /// A thread has.
    pub fn ended(&mut self) {
        self.alive -= 1;
    }

    /// What tells the thread `me` that its job is late.
    pub fn late(&self, me: usize) -> Arc<AtomicBool> {
        self.runners[me].late.clone()
    }

    /// The next job for the thread `me`, which is looking.
    pub fn take(&mut self, me: usize) -> Option<Begun> {
        let Waiting { job, quick } = self.jobs.pop_front()?;
        let behind = !self.jobs.is_empty();
        let runner = &mut self.runners[me];
        runner.begun += 1;
        self.looking -= 1;
        let mut notify = Vec::new();
        let holds = match quick {
            Some(work) => {
                self.quick_work = self.quick_work.saturating_sub(work);
                self.quick_runs += 1;
                runner.doing = Doing::Quick;
                if runner.held.len() >= MOST_HELD {
                    std::mem::swap(&mut notify, &mut runner.held);
                }
                behind || !runner.held.is_empty()
            }
            None => {
                self.slow -= 1;
                runner.doing = Doing::Slow;
                std::mem::swap(&mut notify, &mut runner.held);
                false
            }
        };
        runner.sink = holds.then(|| job.sink.clone());
        Some(Begun { job, holds, notify })
    }

    /// The thread `me` has done its job, within `took`, and looks for another. Returns the sinks to tell now.
    pub fn done(&mut self, me: usize, took: Duration) -> Vec<Arc<dyn Sink>> {
        let runner = &mut self.runners[me];
        let was_quick = runner.doing == Doing::Quick;
        if was_quick {
            self.quick_runs -= 1;
        }
        runner.doing = Doing::Nothing;
        runner.late.store(false, Ordering::Relaxed);
        runner.held.extend(runner.sink.take());
        self.looking += 1;
        if self.jobs.is_empty() || took >= QUICK || !was_quick {
            std::mem::take(&mut runner.held)
        } else {
            Vec::new()
        }
    }

    /// What the thread `me` holds, before it sleeps.
    pub fn held(&mut self, me: usize) -> Vec<Arc<dyn Sink>> {
        std::mem::take(&mut self.runners[me].held)
    }

    /// The thread `me`, which has looked, goes to sleep: there.
    pub fn sleep(&mut self, me: usize) -> Arc<Condvar> {
        self.looking -= 1;
        self.sleeping.push(me);
        self.runners[me].bed.clone()
    }

    /// Whether the thread `me`, which sleeps, has been told to wake up; it is then looking.
    pub fn is_called(&mut self, me: usize) -> bool {
        std::mem::take(&mut self.runners[me].called)
    }

    /// All that there are, for the end.
    pub fn beds(&self) -> Vec<Arc<Condvar>> {
        self.runners.iter().map(|runner| runner.bed.clone()).collect()
    }

    /// No lookout watches for handlers that last: all count as slow.
    pub fn trust_nobody(&mut self) {
        self.trusting = false;
    }

    fn is_worth_a_look(&self) -> bool {
        self.quick_runs > 0
            && (!self.jobs.is_empty()
                || self.runners.iter().any(|runner| runner.doing == Doing::Quick && runner.sink.is_some()))
    }

    /// Whether the lookout is to be woken.
    pub fn begin_watch(&mut self) -> bool {
        let begins = !self.watching && self.trusting && self.is_worth_a_look();
        self.watching |= begins;
        begins
    }

    /// Whether the lookout goes on.
    pub fn is_watching(&self) -> bool {
        self.watching
    }

    /// The lookout's look, a while after its last one: a thread that still runs the same quick job is late. Returns the
    /// sinks to tell because of it.
    pub fn look(&mut self) -> Vec<Arc<dyn Sink>> {
        let mut notify = Vec::new();
        for runner in self.runners.iter_mut().filter(|runner| runner.doing == Doing::Quick) {
            if runner.seen == runner.begun {
                runner.doing = Doing::Late;
                self.quick_runs -= 1;
                // what it answers from now on, it tells by itself; see `hold`
                runner.late.store(true, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                notify.append(&mut runner.held);
                notify.extend(runner.sink.clone());
            }
            runner.seen = runner.begun;
        }
        self.idle_looks = if self.is_worth_a_look() { 0 } else { self.idle_looks + 1 };
        if self.idle_looks > IDLE_LOOKS {
            self.watching = false;
            self.idle_looks = 0;
        }
        notify
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bytes::Bytes;
    use exchange::{Answer, Head, Sent};

    /// Notes nothing: only which it is matters here.
    pub struct Nobody;

    impl Sink for Nobody {
        fn start(&self) -> bool {
            true
        }
        fn answer(&self, _: Answer) -> bool {
            true
        }
        fn begin(&self, _: Head) -> bool {
            true
        }
        fn send(&self, _: Bytes, _: bool) -> Sent {
            Sent::Done
        }
        fn end(&self, _: bool) {}
        fn is_cancelled(&self) -> bool {
            false
        }
        fn on_cancel(&self, _: Box<dyn FnOnce() + Send>) {}
    }

    const QUICKLY: Option<Duration> = Some(Duration::from_micros(1));

    fn jobs(n: usize, quick: Option<Duration>) -> Vec<Waiting> {
        let job = || Job { handler: 1, message: Vec::new(), received: Instant::now(), sink: Arc::new(Nobody) };
        (0..n).map(|_| Waiting { job: job(), quick }).collect()
    }

    fn push(queue: &mut Queue, n: usize, expected: Option<Duration>) {
        let mut jobs = jobs(n, expected);
        queue.push(&mut jobs);
        assert!(jobs.is_empty());
    }

    /// Sleepers and new ones that are woken; new ones start.
    fn wake(queue: &mut Queue) -> (usize, usize) {
        let wake = queue.wake();
        (0..wake.new).for_each(|_| queue.started());
        (wake.sleepers.len(), wake.new)
    }

    #[test]
    fn one_thread_for_many_quick_jobs_and_one_for_each_slow_one() {
        let mut queue = Queue::new(4);
        push(&mut queue, 10, QUICKLY);
        assert_eq!(wake(&mut queue), (0, 1));
        assert_eq!(wake(&mut queue), (0, 0), "it has been told");
        push(&mut queue, 2, None);
        assert_eq!(wake(&mut queue), (0, 2));
        // so much that one thread is not enough
        push(&mut queue, 60, Some(Duration::from_micros(20)));
        assert_eq!(wake(&mut queue), (0, 1), "there are no more than four");
    }

    #[test]
    fn sleepers_are_woken_before_new_ones_start_and_are_told_once() {
        let mut queue = Queue::new(4);
        push(&mut queue, 1, None);
        assert_eq!(wake(&mut queue), (0, 1));
        let begun = queue.take(0).unwrap();
        assert!(!begun.holds && queue.done(0, Duration::from_secs(1)).is_empty());
        assert!(queue.take(0).is_none());
        queue.sleep(0);
        assert!(!queue.is_called(0));
        push(&mut queue, 2, None);
        assert_eq!(wake(&mut queue), (1, 1));
        assert!(queue.is_called(0) && !queue.is_called(0));
    }

    #[test]
    fn who_fell_asleep_last_is_woken_first() {
        let mut queue = Queue::new(4);
        push(&mut queue, 3, None);
        wake(&mut queue);
        for me in 0..3 {
            queue.take(me);
            queue.done(me, Duration::ZERO);
        }
        let beds: Vec<_> = [1, 0, 2].map(|me| queue.sleep(me)).into();
        push(&mut queue, 2, None);
        let woken = queue.wake();
        assert!(
            woken.new == 0 && Arc::ptr_eq(&woken.sleepers[0], &beds[2]) && Arc::ptr_eq(&woken.sleepers[1], &beds[1])
        );
        assert!(queue.is_called(2) && queue.is_called(0) && !queue.is_called(1));
    }

    #[test]
    fn answers_are_held_while_there_is_more_to_do() {
        let mut queue = Queue::new(4);
        push(&mut queue, MOST_HELD + 3, QUICKLY);
        wake(&mut queue);
        for held in 0..MOST_HELD {
            let begun = queue.take(0).unwrap();
            assert!(begun.holds && begun.notify.is_empty(), "{held}");
            assert!(queue.done(0, Duration::ZERO).is_empty());
        }
        assert_eq!(queue.take(0).unwrap().notify.len(), MOST_HELD, "no more than so many");
        // one that was not quick after all tells at once
        assert_eq!(queue.done(0, QUICK).len(), 1);
        assert!(queue.take(0).unwrap().holds);
        assert!(queue.done(0, Duration::ZERO).is_empty());
        // before one that is slow, all are told; its own is not held
        push(&mut queue, 1, None);
        assert!(queue.take(0).is_some());
        assert!(queue.done(0, Duration::ZERO).is_empty());
        let slow = queue.take(0).unwrap();
        assert_eq!((slow.holds, slow.notify.len()), (false, 2));
        // and when there is nothing left to do
        push(&mut queue, 2, QUICKLY);
        queue.done(0, Duration::ZERO);
        assert!(queue.take(0).is_some() && queue.done(0, Duration::ZERO).is_empty());
        assert!(queue.take(0).is_some());
        assert_eq!(queue.done(0, Duration::ZERO).len(), 2);
    }

    #[test]
    fn a_quick_one_that_lasts_is_found() {
        let mut queue = Queue::new(4);
        push(&mut queue, 3, QUICKLY);
        wake(&mut queue);
        queue.take(0);
        queue.done(0, Duration::ZERO);
        queue.take(0);
        assert!(queue.begin_watch() && !queue.begin_watch(), "told once");
        assert!(queue.look().is_empty() && wake(&mut queue) == (0, 0), "it may just have begun");
        // the answer that is held, and its own if it has given one
        assert_eq!(queue.look().len(), 2);
        assert_eq!(wake(&mut queue), (0, 1), "for what waits behind it");
        assert!(queue.late(0).load(Ordering::SeqCst));
        assert!(queue.take(1).is_some());
        assert_eq!(queue.done(0, Duration::from_secs(1)).len(), 1);
        assert!(!queue.late(0).load(Ordering::SeqCst));
        queue.done(1, Duration::ZERO);
        for _ in 0..IDLE_LOOKS {
            assert!(queue.is_watching() && queue.look().is_empty());
        }
        assert!(!queue.is_watching(), "nothing to look at any more");
    }

    #[test]
    fn without_anybody_to_look_nobody_is_trusted() {
        let mut queue = Queue::new(4);
        queue.trust_nobody();
        push(&mut queue, 3, QUICKLY);
        assert_eq!(wake(&mut queue), (0, 3));
        assert!(!queue.begin_watch() && !queue.take(0).unwrap().holds);
        assert_eq!(queue.stop().len(), 2);
        let mut late = jobs(1, None);
        queue.push(&mut late);
        assert_eq!(late.len(), 1, "it is the end");
    }
}

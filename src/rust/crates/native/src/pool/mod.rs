//! The threads that run handlers which may block: first come, first served.
//!
//! Each wake-up of a thread costs more than a quick handler does. So threads are told of requests when the thread that
//! submits them is about to sleep (`flush`), a thread that is awake runs quick handlers in a row, and their answers are
//! reported to the clients' side many at a time. A handler that is slow, or not known yet, has a thread to itself, and
//! holds up neither the requests that wait nor the answers before it. `pace` says which is which, and `lookout` sees
//! when it was wrong.
//!
//! `queue` has the state and decides; `runner` is what a thread does. Threads are started when they are needed, up to
//! the number that was asked for. They get no signals, and end when the pool does; a handler that does not return keeps
//! its thread, and the pool ends without it.

mod lookout;
pub mod pace;
mod queue;
mod runner;

pub use queue::Job;

use crate::registry::Registry;
use crate::signals;
use queue::{Queue, Waiting, Wake};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// As a thread that C code starts usually has; pages that are not used cost nothing.
const STACK: usize = 8 << 20;

/// See the module.
pub struct ThreadPool(Arc<Inner>);

struct Inner {
    registry: Arc<Registry>,
    /// What was submitted since the last flush. Apart from the queue, whose lock threads of the pool take all the time:
    /// a thread that submits would fetch it from another processor for each job.
    submitted: Mutex<Vec<Waiting>>,
    queue: Mutex<Queue>,
    /// there is something to look at, or the end
    watch: Condvar,
    /// a thread has ended
    ended: Condvar,
}

impl ThreadPool {
    /// A pool of at most this many threads, and at least one.
    pub fn new(threads: usize, registry: Arc<Registry>) -> Self {
        ThreadPool(Arc::new(Inner {
            registry,
            submitted: Mutex::default(),
            queue: Mutex::new(Queue::new(threads.max(1))),
            watch: Condvar::new(),
            ended: Condvar::new(),
        }))
    }

    /// Has a thread do it, after [`ThreadPool::flush`]. Once the pool stops, it is dropped, and its sink with it.
    pub fn submit(&self, job: Job) {
        let expected = self.0.registry.entry(job.handler).and_then(|entry| entry.pace.expected());
        self.0.submitted().push(Waiting { job, quick: expected });
    }

    /// Threads begin with what was submitted.
    pub fn flush(&self) {
        let mut submitted = self.0.submitted();
        let mut queue = self.0.queue();
        queue.push(&mut submitted);
        // what is left was refused: its drop calls others, and is not for under a lock
        let refused = if submitted.is_empty() { Vec::new() } else { std::mem::take(&mut *submitted) };
        drop(submitted);
        let wake = queue.wake();
        let rest = self.0.look_after(&mut queue, wake);
        drop(queue);
        rest.finish();
        drop(refused);
    }

    /// See [`crate::Natives::stop`].
    pub fn stop(&self, patience: Duration) -> bool {
        let submitted = std::mem::take(&mut *self.0.submitted());
        let mut queue = self.0.queue();
        let (dropped, beds) = (queue.stop(), queue.beds());
        drop(queue);
        drop((submitted, dropped));
        beds.iter().for_each(|bed| bed.notify_one());
        self.0.watch.notify_all();
        let waiting = self.0.ended.wait_timeout_while(self.0.queue(), patience, |queue| queue.has_threads());
        let (queue, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        !queue.has_threads()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

/// What is done without the lock.
#[must_use]
struct Rest {
    sleepers: Vec<Arc<Condvar>>,
    /// jobs that no thread will run: their sinks report it when they are dropped
    _given_up: VecDeque<Job>,
}

impl Rest {
    fn finish(self) {
        self.sleepers.iter().for_each(|bed| bed.notify_one());
    }
}

impl Inner {
    fn submitted(&self) -> MutexGuard<'_, Vec<Waiting>> {
        // nothing panics while holding it; it is taken before `queue`, never after
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // nothing panics while holding it
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts threads, as the queue has decided, and the lookout when there is something for it. What is left is to be
    /// finished when the lock is free.
    fn look_after(self: &Arc<Self>, queue: &mut Queue, wake: Wake) -> Rest {
        let given_up = (0..wake.new).flat_map(|_| self.start_runner(queue)).collect();
        if queue.begin_watch() {
            if queue.lookout_runs {
                self.watch.notify_one();
            } else {
                self.start_lookout(queue);
            }
        }
        Rest { sleepers: wake.sleepers, _given_up: given_up }
    }

    /// Starts a thread that the queue counts on. When the system has none, the existing ones have to do; without any,
    /// returns the waiting jobs, which no thread will run.
    fn start_runner(self: &Arc<Self>, queue: &mut Queue) -> VecDeque<Job> {
        let (inner, me) = (self.clone(), queue.threads());
        let thread = std::thread::Builder::new().name(format!("drover-c-{me}")).stack_size(STACK);
        match signals::blocked(|| thread.spawn(move || inner.serve(me))) {
            Ok(_) => {
                queue.started();
                VecDeque::new()
            }
            Err(e) => {
                self.registry.log_general(2, &format!("a thread for C handlers could not be started: {e}"));
                queue.not_started()
            }
        }
    }

    fn start_lookout(self: &Arc<Self>, queue: &mut Queue) {
        let inner = self.clone();
        let thread = std::thread::Builder::new().name("drover-c-look".to_owned());
        match signals::blocked(|| thread.spawn(move || inner.look_out())) {
            Ok(_) => queue.lookout_runs = true,
            // without a lookout, no handler is trusted to be quick
            Err(_) => queue.trust_nobody(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::queue::tests::Nobody;
    use super::*;
    use exchange::Sink;
    use std::time::Instant;

    #[test]
    fn what_nobody_will_run_is_dropped() {
        // SAFETY: no specs, no functions.
        let registry = unsafe { Registry::new(Vec::new(), Arc::new(|_, _| {})) }.unwrap();
        let pool = ThreadPool::new(1, Arc::new(registry));
        let sink: Arc<dyn Sink> = Arc::new(Nobody);
        let submit =
            || pool.submit(Job { handler: 1, message: Vec::new(), received: Instant::now(), sink: sink.clone() });
        submit();
        assert!(pool.stop(Duration::ZERO), "nobody was told of it");
        assert_eq!(Arc::strong_count(&sink), 1);
        submit();
        pool.flush();
        assert_eq!(Arc::strong_count(&sink), 1);
    }
}

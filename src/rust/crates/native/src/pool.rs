//! The threads that run handlers which may block: first come, first served.
//!
//! A thread is started when a request comes and none is free, up to the number that was asked for. It gets no signals, and ends when
//! the pool does; a handler that does not return keeps its thread, and nobody waits for it.

use crate::received::Received;
use crate::registry::{self, Callee, Registry};
use crate::shared::Shared;
use crate::{api, draft::Draft, guard, signals, stream, unary};
use exchange::Sink;
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// As a thread that C code starts usually has; pages that are not used cost nothing.
const STACK: usize = 8 << 20;

/// A request, and where its answer goes.
pub struct Job {
    pub handler: u32,
    pub message: Vec<u8>,
    pub received: Instant,
    pub sink: Arc<dyn Sink>,
}

/// See the module.
pub struct Pool(Arc<Inner>);

struct Inner {
    registry: Arc<Registry>,
    most: usize,
    queue: Mutex<Queue>,
    /// there is a job, or the end
    work: Condvar,
    /// a thread has ended
    ended: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    stopping: bool,
}

impl Inner {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // nobody panics while holding it
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// A pool of so many threads at most, and at least one.
    pub fn new(threads: usize, registry: Arc<Registry>) -> Self {
        Pool(Arc::new(Inner {
            registry,
            most: threads.max(1),
            queue: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
        }))
    }

    /// Has a thread do it. Once the pool stops, it is dropped, and its sink with it.
    pub fn submit(&self, job: Job) {
        let mut queue = self.0.queue();
        if queue.stopping {
            drop(queue);
            return;
        }
        queue.jobs.push_back(job);
        if queue.idle >= queue.jobs.len() {
            self.0.work.notify_one();
        } else if queue.threads < self.0.most {
            let dropped = self.start_thread(&mut queue);
            drop(queue);
            drop(dropped);
        }
    }

    /// Starts one more. When the system has none, those that there are have to do; without any, all jobs are given back.
    fn start_thread(&self, queue: &mut Queue) -> VecDeque<Job> {
        let inner = self.0.clone();
        let thread = std::thread::Builder::new().name(format!("drover-c-{}", queue.threads)).stack_size(STACK);
        match signals::blocked(|| thread.spawn(move || inner.serve())) {
            Ok(_) => {
                queue.threads += 1;
                VecDeque::new()
            }
            Err(e) => {
                self.0.registry.log_general(2, &format!("a thread for C handlers could not be started: {e}"));
                if queue.threads == 0 {
                    std::mem::take(&mut queue.jobs)
                } else {
                    VecDeque::new()
                }
            }
        }
    }

    /// See [`crate::Natives::stop`].
    pub fn stop(&self, patience: Duration) -> bool {
        let mut queue = self.0.queue();
        queue.stopping = true;
        let dropped = std::mem::take(&mut queue.jobs);
        drop(queue);
        drop(dropped);
        self.0.work.notify_all();
        let waiting = self.0.ended.wait_timeout_while(self.0.queue(), patience, |queue| queue.threads > 0);
        let (queue, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        queue.threads == 0
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Inner {
    /// What a thread does.
    fn serve(&self) {
        while let Some(job) = self.next() {
            // a panic is a bug of ours; its message was printed, and the sink that was dropped tells the client
            let _ = catch_unwind(AssertUnwindSafe(|| self.run(job)));
        }
        self.queue().threads -= 1;
        self.ended.notify_all();
    }

    /// `None` at the end.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if queue.stopping {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue.idle += 1;
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    fn run(&self, Job { handler, message, received, sink }: Job) {
        if !sink.start() {
            return;
        }
        let Some(entry) = self.registry.entry(handler) else {
            sink.answer(registry::unknown(handler));
            return;
        };
        let request = match Received::new(message) {
            Ok(request) => request,
            Err(e) => {
                sink.answer(registry::invalid(handler, &format!("its request cannot be read: {e}")));
                return;
            }
        };
        if let Callee::Unary(function) = entry.callee {
            sink.answer(unary::call(function, handler, entry, request.request()));
            return;
        }
        let shared = Shared::new(self.registry.clone(), handler, request, sink.clone(), Draft::default(), received);
        match entry.callee {
            Callee::Stream(function) => stream::call(function, entry, &shared),
            Callee::Drover(function) => {
                // SAFETY: function and data are those of one spec; the address is good until the call returns, and longer.
                let outcome = unsafe { guard::handler(function, shared.address(), &api::TABLE, entry.data()) };
                if shared.returned(outcome) {
                    sink.yielded();
                }
            }
            Callee::Unary(_) => {}
        }
    }
}

//! Threads for what takes long: there are few of them, and few jobs may wait. What comes then is refused, and the I/O
//! threads go on with all else.
//!
//! They are the process's, as its processors and memory are: a thread is started when there is work, and ends when
//! there has been none for a while. Each kind of work has its own ([`Threads`] in a static), so that one does not hold
//! up another.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// At a time, of one kind of work: it fills the caches of a processor.
pub const THREADS: usize = 2;

/// Behind those: at 30 ms each, a second.
pub const WAITING: usize = 64;

/// A thread without work ends after this time.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// The threads for one kind of work.
pub struct Threads {
    name: &'static str,
    work: Mutex<Work>,
    bell: Condvar,
}

struct Work {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

/// What a thread is to find out; `None` when it has panicked.
pub struct Asked<T>(oneshot::Receiver<T>);

impl<T> Future for Asked<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(Result::ok)
    }
}

impl Threads {
    /// None yet; they will have this name.
    pub const fn new(name: &'static str) -> Self {
        let work = Work { waiting: VecDeque::new(), threads: 0, idle: 0 };
        Threads { name, work: Mutex::new(work), bell: Condvar::new() }
    }

    /// Has one of the threads find something out. `None` when there is too much to do.
    pub fn ask<T: Send + 'static>(&'static self, find: impl FnOnce() -> T + Send + 'static) -> Option<Asked<T>> {
        let (sender, receiver) = oneshot::channel();
        let job = Box::new(move || {
            // a client that has left wants to know nothing any more
            if !sender.is_closed() {
                let _ = sender.send(find());
            }
        });
        self.submit(job).then_some(Asked(receiver))
    }

    /// Has one of the threads do something. Whether it will: not when there is too much to do.
    pub fn tell(&'static self, job: impl FnOnce() + Send + 'static) -> bool {
        self.submit(Box::new(job))
    }

    fn submit(&'static self, job: Job) -> bool {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if work.waiting.len() >= WAITING {
            return false;
        }
        work.waiting.push_back(job);
        if work.idle >= work.waiting.len() || work.threads == THREADS {
            self.bell.notify_one();
            return true;
        }
        let started = thread::Builder::new().name(self.name.to_owned()).spawn(|| self.run());
        if started.is_ok() {
            work.threads += 1;
        } else if work.threads == 0 {
            // no thread would ever run it
            work.waiting.pop_back();
            return false;
        }
        true
    }

    fn run(&self) {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = work.waiting.pop_front() {
                drop(work);
                // a panic of one job is not to cost the thread, of which there are few
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            work.idle += 1;
            let (woken, timeout) = self.bell.wait_timeout(work, IDLE).unwrap_or_else(PoisonError::into_inner);
            work = woken;
            work.idle -= 1;
            if timeout.timed_out() && work.waiting.is_empty() {
                work.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Barrier};

    #[test]
    fn few_run_and_few_wait() {
        static WORK: Threads = Threads::new("test");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let barrier = Arc::new(Barrier::new(THREADS + 1));
        let mut asked = Vec::new();
        for n in 0..THREADS {
            let barrier = barrier.clone();
            asked.push(WORK.ask(move || {
                barrier.wait();
                barrier.wait();
                n
            }));
        }
        // both threads are at work
        barrier.wait();
        for n in THREADS..THREADS + WAITING {
            asked.push(WORK.ask(move || n));
        }
        assert!(WORK.ask(|| 0).is_none());
        // a job without a waiter is not run
        drop(asked.pop());
        barrier.wait();
        for (n, question) in asked.into_iter().enumerate() {
            assert_eq!(runtime.block_on(question.unwrap()), Some(n));
        }
        let panics = WORK.ask(|| -> usize { panic!("on purpose") }).unwrap();
        assert!(runtime.block_on(panics).is_none());
        assert_eq!(runtime.block_on(WORK.ask(|| 1).unwrap()), Some(1));
    }
}

//! The dispatcher as the fuzz target `dispatcher` of `tests/fuzz` uses it: at home in the target's own thread, heard
//! and hurried by hand, at the time that the target says. Compiled with the feature `fuzzing` only.

use crate::home::{self, with};
use crate::pool::PoolOrder;
use crate::submission::Post;
use crate::{create, Pool, Queue, Submission, Ticket};
use admission::Limits;
use observe::Log;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;

/// What is still there of requests and workers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// requests whose clients wait
    pub outstanding: usize,
    /// of these, those that no worker has
    pub waiting: usize,
    /// requests that are known, answered ones included
    pub entries: usize,
    /// of these, those of other threads
    pub numbers: usize,
    /// workers
    pub seats: usize,
}

/// See the module.
pub struct Thread {
    runtime: Runtime,
    pool: Pool,
    queue: Queue,
    orders: UnboundedReceiver<PoolOrder>,
    posts: UnboundedReceiver<Post>,
}

impl Thread {
    /// A dispatcher in this thread, which may have no other.
    pub fn new(limits: &Limits) -> Thread {
        let log = Log::open("none", observe::Screen::default()).expect("no log needs nothing");
        let (queue, pool, home) = create(0, limits, 2, log, Arc::new(()), || {});
        let home::Home { dispatcher, orders, posts, .. } = home;
        assert!(home::put(0, Some(dispatcher)).is_none());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        Thread { runtime, pool, queue, orders, posts }
    }

    /// For orders about generations and workers, which are heard in [`Thread::listens`].
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A request of this thread, or of another.
    pub fn submit(&self, submission: Submission, message: &[u8], elsewhere: bool) -> Option<Ticket> {
        let dispatcher = if elsewhere { home::put(0, None) } else { None };
        let ticket = self.queue.submit(submission, |out| out.extend_from_slice(message));
        if elsewhere {
            home::put(0, dispatcher);
        }
        ticket
    }

    /// Most requests that may be outstanding.
    pub fn most(&self) -> usize {
        self.pool.0.most.load(Relaxed)
    }

    /// Hears what was ordered and posted.
    pub fn listens(&mut self) {
        let _context = self.runtime.enter();
        while let Ok(order) = self.orders.try_recv() {
            with(0, |d| d.apply(order));
        }
        while let Ok(post) = self.posts.try_recv() {
            with(0, |d| d.receive(post));
        }
    }

    /// It sleeps, and wakes. Before that nothing waits that a worker could have.
    pub fn sleeps(&mut self) {
        home::on_park();
        assert_eq!(with(0, |d| d.stalls()), Some(false), "it sleeps, and a worker could have what waits");
        home::on_unpark();
    }

    /// Takes back what waits behind handlers that have run for so long.
    pub fn takes_back(&mut self, after: Duration) {
        with(0, |d| d.take_back(Instant::now() + after));
    }

    /// Looks at the clock.
    pub fn expires(&mut self) {
        home::expire();
    }

    /// What is there now.
    pub fn left(&self) -> Left {
        let shared = &self.pool.0;
        let (outstanding, waiting) = (shared.outstanding.load(Relaxed), shared.waiting.load(Relaxed));
        let (entries, numbers, seats) = with(0, |d| d.counts()).expect("the dispatcher of this thread");
        Left { outstanding, waiting, entries, numbers, seats }
    }
}

/// The dispatcher goes with its thread.
impl Drop for Thread {
    fn drop(&mut self) {
        let _context = self.runtime.enter();
        home::uninstall();
    }
}

//! From the I/O threads to the workers and back: one queue.
//!
//! The [`Dispatcher`] lives in thread-local storage of one I/O thread, its home, and is used by the tasks of that thread and by the
//! hooks that run when the thread is about to sleep and when it wakes ([`on_park`], [`on_unpark`]). Requests are written into a
//! worker's ring as they come; its bell is rung once for all of a turn, when the thread is about to sleep or a few wait already.
//! Replies are read when the thread wakes, so that one wake-up serves many. Other I/O threads post their requests to it.
//!
//! Neighbours: `pipeline` submits and makes a response of the reply; `pool` is how others give orders about workers.

mod c_choose;
mod c_seat;
mod c_stream;
mod check;
mod choose;
mod dispatcher;
mod generation;
mod line;
mod request;
mod seat;
mod ticket;

pub use dispatcher::Dispatcher;
pub use ticket::{Outcome, Ticket};

use crate::config::Runs;
use crate::pool::{PoolOrder, Shared};
use shm::RequestId;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, Notify};

thread_local! {
    static DISPATCHER: RefCell<Option<Dispatcher>> = const { RefCell::new(None) };
    static READ_ON: Arc<Notify> = Arc::new(Notify::new());
}

/// A worker may have said more than was read: the rest is read when others have had their turn.
fn read_on() {
    READ_ON.with(|more| more.notify_one());
}

/// Where a request is to go, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Errand {
    /// the app that routed it
    pub generation: u32,
    /// the route's target
    pub route: u32,
    /// who runs its handler: R, or in C, inline or a pool, in a worker process
    pub runs: Runs,
    /// ms
    pub timeout: u64,
    /// whether its handler is interrupted when its client goes
    pub ends_with_client: bool,
}

/// From an I/O thread to the dispatcher of another.
pub enum Post {
    /// a request
    Request {
        /// the sender's name for it
        number: u64,
        /// where it goes
        errand: Errand,
        /// for the worker
        message: Vec<u8>,
        /// who waits
        client: oneshot::Sender<Outcome>,
    },
    /// its client has gone
    Abandon(u64),
    /// the client of a streamed body has taken pieces worth so many bytes
    Taken {
        /// who streams
        worker: u32,
        /// which of its requests
        id: RequestId,
        /// as `wire` counts them
        bytes: usize,
    },
    /// nobody reads a streamed body any more, if it has not ended
    Left {
        /// who streams
        worker: u32,
        /// which of its requests
        id: RequestId,
    },
}

/// The queue as every I/O thread has it.
pub struct Queue {
    shared: Arc<Shared>,
    post: UnboundedSender<Post>,
    numbers: AtomicU64,
}

impl Queue {
    /// The queue, whose posts go there.
    pub fn new(shared: Arc<Shared>, post: UnboundedSender<Post>) -> Self {
        Queue { shared, post, numbers: AtomicU64::new(0) }
    }

    /// Queues the message that `encode` writes. `None` when the queue is full.
    pub fn submit(&self, errand: Errand, encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
        let outstanding = &self.shared.outstanding;
        if outstanding.fetch_add(1, Ordering::Relaxed) >= self.shared.most.load(Ordering::Relaxed) {
            outstanding.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        DISPATCHER.with(|d| match d.borrow_mut().as_mut() {
            Some(dispatcher) => Some(Ticket::here(dispatcher.submit(errand, encode))),
            None => self.send(errand, encode),
        })
    }

    fn send(&self, errand: Errand, encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
        let mut message = Vec::new();
        encode(&mut message);
        let (client, outcome) = oneshot::channel();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.post.send(Post::Request { number, errand, message, client }).ok()?;
        Some(Ticket::elsewhere(number, outcome, self.post.clone()))
    }
}

fn with<T>(f: impl FnOnce(&mut Dispatcher) -> T) -> Option<T> {
    DISPATCHER.with(|d| d.borrow_mut().as_mut().map(f))
}

/// What the dispatcher is told by others.
pub struct Inbox {
    /// by the owners of the pool
    pub orders: UnboundedReceiver<PoolOrder>,
    /// by the other I/O threads
    pub posts: UnboundedReceiver<Post>,
}

/// Makes this thread the home of the dispatcher, in the context of its runtime.
pub fn install(dispatcher: Dispatcher, mut inbox: Inbox) {
    DISPATCHER.with(|d| *d.borrow_mut() = Some(dispatcher));
    tokio::spawn(check::run());
    let more = READ_ON.with(Arc::clone);
    tokio::spawn(async move {
        loop {
            more.notified().await;
            // sockets have their turn: without this the runtime would look at them only after many of ours
            tokio::task::yield_now().await;
            with(Dispatcher::drain);
        }
    });
    tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(order) = inbox.orders.recv() => { with(|d| d.obey(order)); }
                Some(post) = inbox.posts.recv() => { with(|d| d.receive(post)); }
                else => return,
            }
        }
    });
}

/// Ends the dispatcher of this thread, if there is one.
pub fn uninstall() {
    DISPATCHER.with(|d| *d.borrow_mut() = None);
}

/// Hook of the runtime: the thread is about to sleep.
pub fn on_park() {
    with(Dispatcher::park);
}

/// Hook of the runtime: the thread is awake again.
pub fn on_unpark() {
    with(Dispatcher::unpark);
}

/// Tells clients that have waited too long so. `true` while any request is out.
pub fn expire() -> bool {
    with(Dispatcher::expire).unwrap_or(false)
}

//! From an I/O thread to the worker and back: the queue's end in this thread.
//!
//! Each I/O thread has one [`Dispatch`] in thread-local storage, used by the tasks of that thread and by the hooks that run when
//! the thread is about to sleep and when it wakes ([`on_park`], [`on_unpark`]). Requests are written into the ring as they
//! come; the worker's bell is rung once for all of a turn, when the thread is about to sleep or a few wait already. Replies are
//! read when the thread wakes, so that one wake-up serves many.
//!
//! Neighbours: `pipeline` submits and makes a response of the reply; `slots` in `shm` has the worker's view of a request.

mod table;
mod ticket;

pub use ticket::{submit, Outcome};

use shm::{Assembler, Bell, RequestId, Sending, ServerEnd};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use table::Table;

/// Ring the worker's bell after this many requests, even in the middle of a turn, so that it works alongside.
const RING_AFTER: u32 = 64;

thread_local! {
    static DISPATCH: RefCell<Option<Dispatch>> = const { RefCell::new(None) };
}

/// Requests that are with the worker, over all I/O threads.
pub type InFlight = Arc<AtomicUsize>;

/// See the module.
pub struct Dispatch {
    end: ServerEnd,
    assembler: Assembler,
    table: Table,
    /// messages for which the ring has no room yet, oldest first
    backlog: VecDeque<(RequestId, Vec<u8>, Sending)>,
    worker_bell: Arc<Bell>,
    own_bell: Arc<Bell>,
    /// requests written since the worker's bell was rung
    unrung: u32,
    in_flight: InFlight,
    /// requests that may be in flight: those that may wait, and the one that runs
    most: usize,
    message: Vec<u8>,
}

/// Times in ms after which a client is told that it has waited too long.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// in the queue
    pub queue: u64,
    /// in all
    pub total: u64,
}

impl Dispatch {
    /// The end of this thread's queue; `max_queue` requests may wait.
    pub fn new(
        end: ServerEnd,
        worker_bell: Arc<Bell>,
        own_bell: Arc<Bell>,
        in_flight: InFlight,
        max_queue: usize,
    ) -> Self {
        Dispatch {
            table: Table::new(end.slots.clone()),
            end,
            assembler: Assembler::default(),
            backlog: VecDeque::new(),
            worker_bell,
            own_bell,
            unrung: 0,
            in_flight,
            most: max_queue + 1,
            message: Vec::new(),
        }
    }

    /// Makes it this thread's.
    pub fn install(self) {
        DISPATCH.with(|d| *d.borrow_mut() = Some(self));
    }

    /// Ends it.
    pub fn uninstall() {
        DISPATCH.with(|d| *d.borrow_mut() = None);
    }

    /// Queues the message that `encode` writes. `None` when the queue is full.
    fn submit(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Option<RequestId> {
        if self.in_flight.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let Some(id) = self.table.claim() else {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        self.message.clear();
        encode(&mut self.message);
        let mut sending = Sending::default();
        if !self.backlog.is_empty() || !self.end.requests.send(id.to_word(), &self.message, &mut sending) {
            self.backlog.push_back((id, std::mem::take(&mut self.message), sending));
        }
        self.unrung += 1;
        if self.unrung >= RING_AFTER {
            self.ring_worker();
            self.drain();
        }
        Some(id)
    }

    fn ring_worker(&mut self) {
        self.unrung = 0;
        self.worker_bell.ring();
    }

    fn flush_backlog(&mut self) {
        while let Some((id, message, sending)) = self.backlog.front_mut() {
            self.unrung += 1;
            if !self.end.requests.send(id.to_word(), message, sending) {
                return;
            }
            self.backlog.pop_front();
        }
    }

    /// Reads all replies that are there and wakes those who wait for them.
    fn drain(&mut self) -> bool {
        let mut any = false;
        let (end, table) = (&mut self.end, &mut self.table);
        while let Some(freed) =
            end.replies.receive(&mut self.assembler, |word, bytes| table.answer(RequestId::from_word(word), bytes))
        {
            any = true;
            self.in_flight.fetch_sub(usize::from(freed), Ordering::Relaxed);
        }
        any
    }

    /// Before the thread sleeps. Replies found here schedule tasks, and then the runtime does not sleep.
    fn park(&mut self) {
        self.flush_backlog();
        if self.unrung > 0 {
            self.ring_worker();
        }
        if self.drain() {
            return;
        }
        self.own_bell.doze();
        if !self.end.replies.is_empty() {
            self.own_bell.stay_awake();
            self.drain();
        }
    }

    fn unpark(&mut self) {
        self.own_bell.stay_awake();
        self.drain();
    }

    /// The client of `id` has gone: nothing of it is kept but what the worker has already.
    fn abandon(&mut self, id: RequestId) {
        if self.table.abandon(id) {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            self.backlog.retain(|(queued, _, sending)| *queued != id || sending.has_started());
        }
    }

    fn expire(&mut self, patience: Patience) -> bool {
        self.table.expire(crate::http::now(), patience)
    }
}

fn with<T>(f: impl FnOnce(&mut Dispatch) -> T) -> Option<T> {
    DISPATCH.with(|d| d.borrow_mut().as_mut().map(f))
}

/// Hook of the runtime: the thread is about to sleep.
pub fn on_park() {
    with(Dispatch::park);
}

/// Hook of the runtime: the thread is awake again.
pub fn on_unpark() {
    with(Dispatch::unpark);
}

/// Tells clients that have waited too long so. `true` while any request is out.
pub fn expire(patience: Patience) -> bool {
    with(|d| d.expire(patience)).unwrap_or(false)
}

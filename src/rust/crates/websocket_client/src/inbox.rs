//! What has happened on connections and R has not taken yet. A connection whose messages wait here for long is not
//! read: its server waits, too.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use websocket::Message;

/// Limit of waiting messages per connection: this many units, of this many bytes each.
const UNITS: u32 = 64;
const UNIT: usize = 16 << 10;

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// it is open, with this sub-protocol
    Open(Option<String>),
    /// a message has come
    Message(Message),
    /// it is over, or never was open
    Closed {
        /// that of the close; of one that never was open, the status of the answer, or 0
        code: u16,
        /// for people
        reason: String,
        /// whether it never was open
        failed: bool,
        /// after how many milliseconds it is tried again, if it is
        again: Option<u64>,
    },
}

/// See the module.
pub struct Inbox {
    waiting: Mutex<Waiting>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<(u64, Event, Option<OwnedSemaphorePermit>)>,
    /// R takes no more events
    is_closed: bool,
}

/// What one connection may leave in it.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Room {
    pub fn new() -> Self {
        Room(Arc::new(Semaphore::new(UNITS as usize)))
    }

    /// Waits until there is room for a message of this many bytes.
    pub async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(UNITS).clamp(1, UNITS);
        self.0.clone().acquire_many_owned(units).await.ok()
    }
}

impl Inbox {
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Inbox { waiting: Mutex::default(), wake: Box::new(wake) }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves an event for R. The first one wakes it.
    pub fn put(&self, number: u64, event: Event, room: Option<OwnedSemaphorePermit>) {
        let mut waiting = self.lock();
        if waiting.is_closed {
            return;
        }
        waiting.events.push_back((number, event, room));
        let is_first = waiting.events.len() == 1;
        drop(waiting);
        if is_first {
            (self.wake)();
        }
    }

    /// R takes the next one.
    pub fn take(&self) -> Option<(u64, Event)> {
        self.lock().events.pop_front().map(|(number, event, _)| (number, event))
    }

    /// What comes from now on is dropped.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        waiting.events.clear();
    }
}

//! C handlers that run in this process: called on the I/O thread when they have promised not to block, handed to a pool
//! of threads otherwise. Neighbours: `exchange` (their interface), `pipeline` (the caller), `dispatch` (the way to
//! those that run in worker processes instead).

mod home;
mod mailbox;
mod mailbox_sink;
mod packed;
mod pending;
#[cfg(test)]
mod tests;

pub use home::{gave, leave, on_park, on_unpark, turn};
pub use mailbox::Settled;
pub use packed::{packed, INLINE};
pub use pending::Pending;

use exchange::{Handlers, Sink};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

/// The C handlers of an app, and what is out with them.
pub struct Natives {
    pub handlers: Arc<dyn Handlers>,
    /// requests that wait for a thread of the pool, or run on one
    outstanding: Arc<AtomicUsize>,
    most: usize,
    /// when an inline handler was last said to block, by the clock of [`crate::now_ms`]
    complained: AtomicU64,
}

/// An inline handler that takes this long, in ms, is no longer one: a hundred connections may have waited for it.
const BLOCKS: u64 = 50;
/// Between two log lines about it, in ms.
const COMPLAIN_EVERY: u64 = 10_000;

impl Natives {
    /// Of which at most `max_queue` requests may be out.
    pub fn new(handlers: Arc<dyn Handlers>, max_queue: usize) -> Self {
        Natives { handlers, outstanding: Arc::default(), most: max_queue, complained: AtomicU64::new(0) }
    }

    /// A place in the queue of the pool, kept until dropped. `None` when it is full.
    pub fn place(&self) -> Option<Place> {
        let place = Place(self.outstanding.clone());
        (place.0.fetch_add(1, Ordering::Relaxed) < self.most).then_some(place)
    }

    /// Whether to tell that an inline handler ran from `began` to `ended`.
    pub fn blocked(&self, began: u64, ended: u64) -> Option<u64> {
        let took = ended.saturating_sub(began);
        if took < BLOCKS || ended.saturating_sub(self.complained.load(Ordering::Relaxed)) < COMPLAIN_EVERY {
            return None;
        }
        self.complained.store(ended, Ordering::Relaxed);
        Some(took)
    }
}

/// Both sides of a request that is to be answered within `in_all` ms by a handler of this process. It waits for a
/// thread for at most `in_queue` ms; `None` when its handler has begun already. What it answers is packed by `terms`.
pub fn pending(in_queue: Option<u64>, in_all: u64, terms: Option<Arc<[u8]>>) -> (Pending, Arc<dyn Sink>) {
    pending::pending(home::mailbox(), in_queue, in_all, terms)
}

/// Ends the wait for what takes too long. `true` while this thread waits for anything.
pub fn expire() -> bool {
    // where there is no bell
    home::look();
    pending::expire()
}

/// See [`Natives::place`].
pub struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

//! Requests for what is not kept: of those that want the same, one is answered, and the others wait for what comes of
//! it. One that leaves before that hands its place to one that waits.

use super::variant::Variant;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// By what they want.
type Ways = Mutex<HashMap<Box<[u8]>, Arc<Way>>>;

/// Those under way.
#[derive(Debug, Default)]
pub struct Flights(Arc<Ways>);

/// One of them.
#[derive(Debug, Default)]
struct Way {
    landed: OnceLock<Landed>,
    /// what it is about has changed since it began
    outdated: AtomicBool,
    changed: Notify,
}

/// What came of one.
#[derive(Debug, Clone)]
pub enum Landed {
    /// a response that is kept
    Kept(Arc<Variant>),
    /// one that is not: each has to be answered by itself
    Open,
    /// an error
    Failed,
    /// nothing: its client has left
    Left,
}

/// How a request takes part.
pub enum Joined {
    /// it is the one that is answered
    First(Flight),
    /// it waits
    Waiting(Waiter),
}

/// The one that is answered, until it says what came of it. Dropped before, it has left.
pub struct Flight {
    all: Arc<Ways>,
    name: Box<[u8]>,
    way: Arc<Way>,
}

/// One that waits.
pub struct Waiter(Arc<Way>);

impl Flights {
    /// Has a request for what has this name take part.
    pub fn join(&self, name: Box<[u8]>) -> Joined {
        let mut flights = lock(&self.0);
        if let Some(way) = flights.get(&name) {
            return Joined::Waiting(Waiter(way.clone()));
        }
        let way = Arc::new(Way::default());
        flights.insert(name.clone(), way.clone());
        Joined::First(Flight { all: self.0.clone(), name, way })
    }

    /// Requests no longer join the flights whose names `is_meant` selects, and their responses are not kept.
    pub fn outdate(&self, is_meant: impl Fn(&[u8]) -> bool) {
        lock(&self.0).retain(|name, way| {
            let is_meant = is_meant(name);
            if is_meant {
                way.outdated.store(true, Relaxed);
            }
            !is_meant
        });
    }
}

impl Flight {
    /// Waits for it, too.
    pub fn waiter(&self) -> Waiter {
        Waiter(self.way.clone())
    }

    /// Says what came of it.
    pub fn land(self, landed: Landed) {
        self.end(landed);
    }

    /// Whether what it is about has changed since it began.
    pub fn is_outdated(&self) -> bool {
        self.way.outdated.load(Relaxed)
    }

    fn end(&self, landed: Landed) {
        if self.way.landed.set(landed).is_ok() {
            let mut all = lock(&self.all);
            // not one that has begun since this is outdated
            if all.get(&self.name).is_some_and(|way| Arc::ptr_eq(way, &self.way)) {
                all.remove(&self.name);
            }
            drop(all);
            self.way.changed.notify_waiters();
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.end(Landed::Left);
    }
}

impl Waiter {
    /// What came of it.
    pub async fn landed(self) -> Landed {
        let mut changed = std::pin::pin!(self.0.changed.notified());
        // before it is looked at: what is told in between is heard
        changed.as_mut().enable();
        loop {
            if let Some(landed) = self.0.landed.get() {
                return landed.clone();
            }
            changed.as_mut().await;
            changed.set(self.0.changed.notified());
            changed.as_mut().enable();
        }
    }
}

fn lock(flights: &Ways) -> MutexGuard<'_, HashMap<Box<[u8]>, Arc<Way>>> {
    // no code panics while holding this lock
    flights.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The connections of this I/O thread that have a task, and how closely `timeouts` watches them.

use crate::connection::Connection;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tokio::sync::Notify;

thread_local! {
    static CONNECTIONS: RefCell<Slab<Arc<Connection>>> = const { RefCell::new(Slab::new()) };
    /// connections that have ended since memory was last given back
    static ENDED: Cell<usize> = const { Cell::new(0) };
    static IS_SLOW: Cell<bool> = const { Cell::new(true) };
    static WAKE: Arc<Notify> = Arc::new(Notify::new());
}

/// A place among this thread's connections, left on drop.
pub struct Registered(usize);

/// Adds a connection to those that are watched.
pub fn register(connection: &Arc<Connection>) -> Registered {
    watch_closely();
    Registered(CONNECTIONS.with_borrow_mut(|c| c.insert(connection.clone())))
}

impl Drop for Registered {
    fn drop(&mut self) {
        CONNECTIONS.with_borrow_mut(|c| c.try_remove(self.0));
        ENDED.set(ENDED.get() + 1);
    }
}

/// All of them, by their places.
pub fn with_all<T>(f: impl FnOnce(&Slab<Arc<Connection>>) -> T) -> T {
    CONNECTIONS.with_borrow(f)
}

/// How many have ended since [`give_back`].
pub fn ended() -> usize {
    ENDED.get()
}

/// Frees the places of those that have ended, and counts those that end from now on.
pub fn give_back() {
    CONNECTIONS.with_borrow_mut(Slab::shrink_to_fit);
    ENDED.set(0);
}

/// A request is out, or a connection is new: this thread has to look often.
pub fn watch_closely() {
    if IS_SLOW.replace(false) {
        WAKE.with(|wake| wake.notify_one());
    }
}

/// Whether `timeouts` looks only now and then, until [`watch_closely`].
pub fn watch_slowly(slowly: bool) {
    IS_SLOW.set(slowly);
}

/// Notified when there is something to watch again.
pub fn wake() -> Arc<Notify> {
    WAKE.with(Arc::clone)
}

//! What wakes the tasks of the dispatcher's thread.

use std::cell::Cell;
use std::sync::Arc;
use tokio::sync::Notify;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static WATCH: Arc<Notify> = Arc::new(Notify::new());
    static READ_ON: Arc<Notify> = Arc::new(Notify::new());
}

/// Something is out that is to be looked after.
pub fn watch() {
    if !WATCHED.replace(true) {
        WATCH.with(|wake| wake.notify_one());
    }
}

/// Nothing is to be looked after any more.
pub fn watch_nothing() {
    WATCHED.set(false);
}

/// Waits until something is to be looked after.
pub async fn watched() {
    WATCH.with(Arc::clone).notified().await;
}

/// A worker may have said more than was read: the rest is read when others have had their turn.
pub fn read_on() {
    READ_ON.with(|more| more.notify_one());
}

/// Waits until a worker may have said more than was read.
pub async fn more_to_read() {
    READ_ON.with(Arc::clone).notified().await;
}

//! The I/O thread that has the dispatcher, in thread-local storage: the tasks of that thread use it, and the hooks that
//! run when the thread is about to sleep and when it wakes ([`on_park`], [`on_unpark`]).

use crate::dispatcher::Dispatcher;
use crate::pool::PoolOrder;
use crate::submission::Post;
use crate::wakes;
use std::cell::RefCell;
use tokio::sync::mpsc::UnboundedReceiver;

thread_local! {
    static DISPATCHER: RefCell<Option<Dispatcher>> = const { RefCell::new(None) };
}

/// Whether this thread is it.
pub fn is_home() -> bool {
    DISPATCHER.with_borrow(Option::is_some)
}

/// Calls `f` with the dispatcher, if this thread has it.
pub fn with<T>(f: impl FnOnce(&mut Dispatcher) -> T) -> Option<T> {
    DISPATCHER.with(|d| d.borrow_mut().as_mut().map(f))
}

/// The dispatcher, and what it is told by others.
pub struct Home {
    pub(crate) dispatcher: Dispatcher,
    /// by the owners of the pool
    pub(crate) orders: UnboundedReceiver<PoolOrder>,
    /// by the other I/O threads
    pub(crate) posts: UnboundedReceiver<Post>,
}

/// Makes this thread the home of the dispatcher, in the context of its runtime.
pub fn install(home: Home) {
    let Home { dispatcher, mut orders, mut posts } = home;
    DISPATCHER.with(|d| *d.borrow_mut() = Some(dispatcher));
    // it sleeps while nothing is to be looked after
    tokio::spawn(async {
        loop {
            wakes::watched().await;
            while let Some(pause) = with(Dispatcher::look).flatten() {
                tokio::time::sleep(pause).await;
            }
            wakes::watch_nothing();
        }
    });
    tokio::spawn(async {
        loop {
            wakes::more_to_read().await;
            // sockets have their turn: without this the runtime would look at them only after many of ours
            tokio::task::yield_now().await;
            with(Dispatcher::drain);
        }
    });
    tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(order) = orders.recv() => { with(|d| d.apply(order)); }
                Some(post) = posts.recv() => { with(|d| d.receive(post)); }
                else => return,
            }
        }
    });
}

/// Ends the dispatcher of this thread, if there is one.
pub fn uninstall() {
    DISPATCHER.with(|d| *d.borrow_mut() = None);
}

/// Makes this the dispatcher of this thread, and gives the one that it was.
#[cfg(feature = "fuzzing")]
pub fn put(dispatcher: Option<Dispatcher>) -> Option<Dispatcher> {
    DISPATCHER.replace(dispatcher)
}

/// Has workers begin with what they were given, and looks at what they have answered, between turns of the thread's
/// connections.
pub fn turn() {
    with(Dispatcher::turn);
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

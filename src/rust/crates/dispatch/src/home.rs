//! The I/O thread that has the dispatchers, one for each app, in thread-local storage: the tasks of that thread use
//! them, and the hooks that run when the thread is about to sleep and when it wakes ([`on_park`], [`on_unpark`]).

use crate::dispatcher::Dispatcher;
use crate::pool::PoolOrder;
use crate::submission::Post;
use crate::wakes;
use std::cell::RefCell;
use tokio::sync::mpsc::UnboundedReceiver;

thread_local! {
    /// each at the place of its app
    static DISPATCHERS: RefCell<Vec<RefCell<Option<Dispatcher>>>> = const { RefCell::new(Vec::new()) };
}

/// Whether this thread is it, for the app at this place.
pub fn is_home(place: usize) -> bool {
    DISPATCHERS.with_borrow(|all| all.get(place).is_some_and(|one| one.borrow().is_some()))
}

/// Calls `f` with the dispatcher of the app at this place, if this thread has it.
pub fn with<T>(place: usize, f: impl FnOnce(&mut Dispatcher) -> T) -> Option<T> {
    DISPATCHERS.with_borrow(|all| all.get(place)?.borrow_mut().as_mut().map(f))
}

/// The same, with one after the other; what they answer.
fn each<T>(mut f: impl FnMut(&mut Dispatcher) -> T) -> impl Iterator<Item = T> {
    let answers: Vec<T> =
        DISPATCHERS.with_borrow(|all| all.iter().filter_map(|one| one.borrow_mut().as_mut().map(&mut f)).collect());
    answers.into_iter()
}

/// The same, where they answer nothing.
fn each_does(mut f: impl FnMut(&mut Dispatcher)) {
    DISPATCHERS.with_borrow(|all| {
        all.iter().for_each(|one| {
            one.borrow_mut().as_mut().map(&mut f);
        })
    });
}

/// The dispatcher of an app, and what it is told by others.
pub struct Home {
    /// of the app, among those of the server
    pub(crate) place: usize,
    pub(crate) dispatcher: Dispatcher,
    /// by the owners of the pool
    pub(crate) orders: UnboundedReceiver<PoolOrder>,
    /// by the other I/O threads
    pub(crate) posts: UnboundedReceiver<Post>,
}

/// Makes this thread the home of the dispatchers, in the context of its runtime.
pub fn install(homes: Vec<Home>) {
    for Home { place, dispatcher, mut orders, mut posts } in homes {
        put(place, Some(dispatcher));
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(order) = orders.recv() => { with(place, |d| d.apply(order)); }
                    Some(post) = posts.recv() => { with(place, |d| d.receive(post)); }
                    else => return,
                }
            }
        });
    }
    // it sleeps while nothing is to be looked after
    tokio::spawn(async {
        loop {
            wakes::watched().await;
            while let Some(pause) = each(Dispatcher::look).flatten().min() {
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
            each_does(|d| {
                d.drain();
            });
        }
    });
}

/// Ends the dispatchers of this thread, if there are some.
pub fn uninstall() {
    drop(DISPATCHERS.take());
}

/// Makes this the dispatcher of the app at this place, and gives the one that it was.
pub fn put(place: usize, dispatcher: Option<Dispatcher>) -> Option<Dispatcher> {
    DISPATCHERS.with_borrow_mut(|all| {
        if all.len() <= place {
            all.resize_with(place + 1, RefCell::default);
        }
        all[place].replace(dispatcher)
    })
}

/// Has workers begin with what they were given, and looks at what they have answered, between turns of the thread's
/// connections.
pub fn turn() {
    each_does(Dispatcher::turn);
}

/// Hook of the runtime: the thread is about to sleep.
pub fn on_park() {
    each_does(Dispatcher::park);
}

/// Hook of the runtime: the thread is awake again.
pub fn on_unpark() {
    each_does(Dispatcher::unpark);
}

/// Tells clients that have waited too long so. `true` while any request is out.
pub fn expire() -> bool {
    // all of them, also behind one that says so
    each(Dispatcher::expire).fold(false, |any, one| any | one)
}

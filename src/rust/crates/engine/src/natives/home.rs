//! The I/O thread as the threads of C handlers know it: answers that they make are noticed here when it looks, which it does before and after it
//! sleeps; only while it sleeps is it woken. What it gives to them is told to them before it sleeps, too: so a batch of requests costs one
//! wake-up there and one back, however many they are.

use exchange::Handlers;
use shm::{Bell, Watched};
use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

/// Threads are told of requests after this many, even in the middle of a turn, so that they work alongside.
const FLUSH_AFTER: u32 = 32;

thread_local! {
    static HOME: RefCell<Option<Home>> = const { RefCell::new(None) };
}

struct Home {
    mailbox: Arc<Mailbox>,
    _watched: Watched,
    /// who was given requests since this thread last looked, and how many
    unflushed: Option<Arc<dyn Handlers>>,
    given: u32,
}

/// Where tasks of an I/O thread are named that may go on.
pub struct Mailbox {
    bell: Arc<Bell>,
    wakers: Mutex<Vec<Waker>>,
}

impl Mailbox {
    /// The task may go on; the thread may sleep on until [`Mailbox::ring`].
    pub fn put(&self, waker: Waker) {
        // nobody panics while holding it
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Wakes the thread if it sleeps.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Has the tasks that were named go on. `true` if there was any.
    fn look(&self) -> bool {
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        let any = !wakers.is_empty();
        // on their own thread this is cheap
        wakers.into_iter().for_each(Waker::wake);
        any
    }
}

impl Home {
    fn new() -> io::Result<Self> {
        let bell = Arc::new(Bell::alone()?);
        let watched = Watched::new(bell.clone())?;
        let mailbox = Arc::new(Mailbox { bell, wakers: Mutex::default() });
        Ok(Home { mailbox, _watched: watched, unflushed: None, given: 0 })
    }

    fn flush(&mut self) {
        self.given = 0;
        if let Some(handlers) = self.unflushed.take() {
            handlers.flush();
        }
    }
}

/// This thread's mailbox. `None` when the system has no descriptor for one: then its tasks are woken one by one.
pub fn mailbox() -> Option<Arc<Mailbox>> {
    HOME.with_borrow_mut(|home| {
        if home.is_none() {
            *home = Home::new().ok();
        }
        home.as_ref().map(|home| home.mailbox.clone())
    })
}

/// This thread has given these handlers a request.
pub fn gave(handlers: &Arc<dyn Handlers>) {
    HOME.with_borrow_mut(|home| match home {
        Some(home) => {
            home.given += 1;
            home.unflushed.get_or_insert_with(|| handlers.clone());
            if home.given >= FLUSH_AFTER {
                home.flush();
            }
        }
        None => handlers.flush(),
    });
}

/// Hook of the runtime: the thread is about to sleep. Tasks that may go on keep it from that.
pub fn on_park() {
    HOME.with_borrow_mut(|home| {
        let Some(home) = home else { return };
        home.flush();
        if !home.mailbox.look() {
            home.mailbox.bell.doze();
            home.mailbox.look();
        }
    });
}

/// Hook of the runtime: the thread is awake again.
pub fn on_unpark() {
    HOME.with_borrow(|home| {
        let Some(home) = home else { return };
        home.mailbox.bell.stay_awake();
        home.mailbox.look();
    });
}

/// Forgets all, before the runtime of this thread ends.
pub fn leave() {
    drop(HOME.take());
}

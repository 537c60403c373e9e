//! The I/O thread as the threads of C handlers know it: answers that they make are noticed here when it looks, which it
//! does before and after it sleeps; only while it sleeps is it woken. What it gives to them is told to them before it
//! sleeps, too: so a batch of requests costs one wake-up there and one back, however many they are.

use super::mailbox::{Mailbox, Message};
use super::pending::deliver;
use exchange::Handlers;
use shm::{Bell, Watched};
use std::cell::RefCell;
use std::sync::Arc;

/// Threads are told of requests after this many, even in the middle of a turn, so that they work alongside.
const FLUSH_AFTER: u32 = 32;

thread_local! {
    static HOME: RefCell<Option<Home>> = const { RefCell::new(None) };
}

struct Home {
    mailbox: Arc<Mailbox>,
    watched: Option<Watched>,
    /// for the messages that are looked at: their memory goes back and forth between here and the mailbox
    messages: Vec<Message>,
    /// the handlers that got requests since the last flush, and how many requests
    unflushed: Option<Arc<dyn Handlers>>,
    given: u32,
}

impl Home {
    fn new() -> Self {
        Home { mailbox: Arc::default(), watched: None, messages: Vec::new(), unflushed: None, given: 0 }
    }

    /// Has a bell end the sleep of this thread, if there can be one.
    fn hang_bell(&mut self) {
        let Ok(bell) = Bell::alone().map(Arc::new) else { return };
        if let Ok(watched) = Watched::new(bell.clone()) {
            self.watched = Some(watched);
            self.mailbox.hang(bell);
        }
    }

    /// Has the tasks go on for which something has come. `true` if there was any.
    fn look(&mut self) -> bool {
        self.mailbox.swap(&mut self.messages);
        let any = !self.messages.is_empty();
        // what is not wanted is dropped, without the lock
        self.messages.drain(..).for_each(|message| drop(deliver(message)));
        any
    }

    fn flush(&mut self) {
        self.given = 0;
        if let Some(handlers) = self.unflushed.take() {
            handlers.flush();
        }
    }
}

/// This thread's mailbox.
pub fn mailbox() -> Arc<Mailbox> {
    HOME.with_borrow_mut(|home| {
        let home = home.get_or_insert_with(Home::new);
        if home.watched.is_none() {
            home.hang_bell();
        }
        home.mailbox.clone()
    })
}

/// This thread has given these handlers a request.
pub fn gave(handlers: &Arc<dyn Handlers>) {
    HOME.with_borrow_mut(|home| match home {
        Some(home) => {
            // those of the app before, around a reload, are flushed first
            if home.unflushed.as_ref().is_some_and(|unflushed| !Arc::ptr_eq(unflushed, handlers)) {
                home.flush();
            }
            home.given += 1;
            home.unflushed.get_or_insert_with(|| handlers.clone());
            if home.given >= FLUSH_AFTER {
                home.flush();
            }
        }
        None => handlers.flush(),
    });
}

/// Has the tasks of this thread go on for which something has come.
pub fn look() {
    HOME.with_borrow_mut(|home| home.as_mut().map(Home::look));
}

/// Hands over what was gathered, and looks at what has come, between turns of the thread's connections.
pub fn turn() {
    HOME.with_borrow_mut(|home| {
        if let Some(home) = home {
            home.flush();
            home.look();
        }
    });
}

/// Hook of the runtime: the thread is about to sleep. Tasks that may go on keep it from that.
pub fn on_park() {
    HOME.with_borrow_mut(|home| {
        let Some(home) = home else { return };
        home.flush();
        if home.look() {
            return;
        }
        if let Some(bell) = home.mailbox.bell() {
            bell.doze();
            home.look();
        }
    });
}

/// Hook of the runtime: the thread is awake again.
pub fn on_unpark() {
    HOME.with_borrow_mut(|home| {
        let Some(home) = home else { return };
        if let Some(bell) = home.mailbox.bell() {
            bell.stay_awake();
        }
        home.look();
    });
}

/// Forgets all, before the runtime of this thread ends. What comes from now on is dropped.
pub fn leave() {
    let Some(home) = HOME.take() else { return };
    let unread = home.mailbox.close();
    drop((unread, home));
}

//! A request that a C handler of this process answers later, as its I/O thread knows it: the future of what comes of
//! it. The other side is `mailbox_sink`; what it says arrives by `home`.
//!
//! All here belongs to one thread, and costs no lock. The client's side gives up by dropping [`Pending`], at a timeout,
//! or by dropping the reader of the stream: that is what handlers know as cancelled.

use super::mailbox::{Mailbox, Message, Settled};
use super::mailbox_sink::MailboxSink;
use admission::Patience;
use exchange::now;
use exchange::Sink;
use httpd::watch_closely;
use slab::Slab;
use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

/// A request that this thread waits for.
struct Awaited {
    /// places are used again: what comes for an earlier one is not for this one
    id: u64,
    sink: Weak<MailboxSink>,
    /// the earlier of its times; see [`MailboxSink::expire`]
    look_at: u64,
    outcome: Option<Settled>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Out {
    awaited: Slab<Awaited>,
    last_id: u64,
}

thread_local! {
    static OUT: RefCell<Out> = RefCell::default();
}

/// The client's side.
pub struct Pending {
    /// in `OUT`
    pub(super) key: usize,
}

/// Both sides of a request that is to be answered within `in_all` ms. It waits for a thread for at most `in_queue` ms;
/// `None` when its handler has begun already. What comes of it is put into this thread's `mailbox`.
pub fn pending(
    mailbox: Arc<Mailbox>,
    in_queue: Option<u64>,
    in_all: u64,
    terms: Option<Arc<[u8]>>,
) -> (Pending, Arc<dyn Sink>) {
    let now = now();
    let patience = Patience { in_queue: in_queue.unwrap_or(in_all), in_all };
    let (key, sink) = OUT.with_borrow_mut(|out| {
        out.last_id += 1;
        let (id, place) = (out.last_id, out.awaited.vacant_entry());
        let key = place.key();
        let sink = MailboxSink::new(mailbox, (key, id), in_queue.is_none(), now, patience, terms);
        let look_at = now + patience.first();
        place.insert(Awaited { id, sink: sink.weak(), look_at, outcome: None, waker: None });
        (key, sink)
    });
    watch_closely();
    (Pending { key }, sink)
}

/// Wakes the task that waits for this message. Returns a message that no task waits for, as dropping it may run user
/// code.
pub fn deliver(message: Message) -> Option<Message> {
    let (key, id) = message.place;
    let waker = OUT.with_borrow_mut(|out| match out.awaited.get_mut(key).filter(|awaited| awaited.id == id) {
        // the first one counts: a handler that is told of a timeout may let go of its request before the client has
        // looked
        Some(awaited) if awaited.outcome.is_none() => {
            awaited.outcome = Some(message.outcome);
            Ok(awaited.waker.take())
        }
        _ => Err(message),
    });
    match waker {
        Ok(Some(waker)) => waker.wake(),
        Ok(None) => {}
        Err(message) => return Some(message),
    }
    None
}

/// Ends the wait for what takes too long. `true` while this thread waits for anything.
pub fn expire() -> bool {
    let now = now();
    let (any, due) = OUT.with_borrow(|out| {
        let due = out.awaited.iter().filter(|(_, awaited)| now >= awaited.look_at);
        let due = due.map(|(key, awaited)| ((key, awaited.id), awaited.sink.clone()));
        (!out.awaited.is_empty(), due.collect::<Vec<_>>())
    });
    for (place, sink) in due {
        // what is gone has said how it ended, and is to be heard of
        if let Some(outcome) = sink.upgrade().and_then(|sink| sink.expire(now)) {
            deliver(Message { place, outcome });
        }
    }
    any
}

impl Pending {
    /// Waits for the outcome.
    pub async fn outcome(&self) -> Settled {
        poll_fn(|cx| {
            OUT.with_borrow_mut(|out| match out.awaited.get_mut(self.key) {
                Some(awaited) => match awaited.outcome.take() {
                    Some(outcome) => Poll::Ready(outcome),
                    None => {
                        awaited.waker = Some(cx.waker().clone());
                        Poll::Pending
                    }
                },
                // it is there until this is dropped, on its thread
                None => Poll::Ready(Settled::Lost),
            })
        })
        .await
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let awaited = OUT.with_borrow_mut(|out| out.awaited.try_remove(self.key));
        if let Some(sink) = awaited.and_then(|awaited| awaited.sink.upgrade()) {
            sink.give_up();
        }
    }
}

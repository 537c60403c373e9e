//! A request that a C handler of this process answers later, as its I/O thread knows it: the future of what comes of it. The other side is
//! `handed`; what it says arrives by `home`.
//!
//! All here belongs to one thread, and costs no lock. The client's side gives up by dropping [`Pending`], at a timeout, or by dropping the
//! reader of the stream: that is what handlers know as cancelled.

use super::handed::Handed;
use super::home::{look, mailbox, Message};
use admission::{Late, Patience};
use exchange::now;
use exchange::PipeReader;
use exchange::{Answer, Head, Sink};
use httpd::watch_closely;
use slab::Slab;
use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

/// What came of the request.
pub enum Outcome {
    Answer(Answer),
    /// a response whose body is still to come
    Stream(Head, PipeReader),
    /// the handler's side has gone without an answer
    Lost,
    Late(Late),
}

/// A request that this thread waits for.
struct Awaited {
    /// places are used again: what comes for an earlier one is not for this one
    id: u64,
    handed: Weak<Handed>,
    /// the earlier of its times; see [`Handed::expire`]
    look_at: u64,
    outcome: Option<Outcome>,
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
    key: usize,
}

/// Both sides of a request that is to be answered within `in_all` ms. It waits for a thread for at most `in_queue` ms; `None`
/// when its handler has begun already.
pub fn pending(in_queue: Option<u64>, in_all: u64) -> (Pending, Arc<dyn Sink>) {
    let (now, mailbox) = (now(), mailbox());
    let patience = Patience { in_queue: in_queue.unwrap_or(in_all), in_all };
    let (key, handed) = OUT.with_borrow_mut(|out| {
        out.last_id += 1;
        let (id, place) = (out.last_id, out.awaited.vacant_entry());
        let key = place.key();
        let handed = Handed::new(mailbox, (key, id), in_queue.is_none(), now, patience);
        let look_at = now + patience.first();
        place.insert(Awaited { id, handed: handed.weak(), look_at, outcome: None, waker: None });
        (key, handed)
    });
    watch_closely();
    (Pending { key }, handed)
}

/// A message has come: its task goes on. One that nobody waits for is given back, for its drop may call what users wrote.
pub fn deliver(message: Message) -> Option<Message> {
    let (key, id) = message.place;
    let waker = OUT.with_borrow_mut(|out| match out.awaited.get_mut(key).filter(|awaited| awaited.id == id) {
        // the first one counts: a handler that is told of a timeout may let go of its request before the client has looked
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
    // where there is no bell
    look();
    let now = now();
    let (any, due) = OUT.with_borrow(|out| {
        let due = out.awaited.iter().filter(|(_, awaited)| now >= awaited.look_at);
        let due = due.map(|(key, awaited)| ((key, awaited.id), awaited.handed.clone()));
        (!out.awaited.is_empty(), due.collect::<Vec<_>>())
    });
    for (place, handed) in due {
        // what is gone has said how it ended, and is to be heard of
        if let Some(outcome) = handed.upgrade().and_then(|handed| handed.expire(now)) {
            deliver(Message { place, outcome });
        }
    }
    any
}

impl Pending {
    /// Waits for the outcome.
    pub async fn outcome(&self) -> Outcome {
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
                None => Poll::Ready(Outcome::Lost),
            })
        })
        .await
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let awaited = OUT.with_borrow_mut(|out| out.awaited.try_remove(self.key));
        if let Some(handed) = awaited.and_then(|awaited| awaited.handed.upgrade()) {
            handed.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{leave, on_park, on_unpark};
    use super::*;
    use bytes::Bytes;
    use exchange::Sent;
    use std::future::Future;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::Mutex;
    use std::time::Duration;

    fn head() -> Head {
        Head { status: 200, content_type: None, headers: Vec::new() }
    }

    fn answer() -> Answer {
        Answer::Response(exchange::Response { head: head(), body: Bytes::from_static(b"x") })
    }

    fn queued(in_queue: u64, in_all: u64) -> (Pending, Arc<dyn Sink>) {
        pending(Some(in_queue), in_all)
    }

    fn begun() -> (Pending, Arc<dyn Sink>) {
        pending(None, 5000)
    }

    /// Runs a test as an I/O thread would.
    fn on_io_thread(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().on_thread_park(on_park).on_thread_unpark(on_unpark).build().unwrap();
        runtime.block_on(async {
            let looks = async {
                loop {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    expire();
                }
            };
            tokio::select! { () = test => {}, () = looks => {} }
        });
        leave();
    }

    #[test]
    fn an_answer_from_another_thread_arrives() {
        on_io_thread(async {
            let (client, sink) = queued(5000, 5000);
            let thread = std::thread::spawn(move || sink.start() && sink.answer(answer()));
            assert!(matches!(client.outcome().await, Outcome::Answer(_)));
            assert!(thread.join().unwrap());
        });
    }

    #[test]
    fn held_answers_arrive_when_they_are_told() {
        on_io_thread(async {
            let (clients, sinks): (Vec<_>, Vec<_>) = (0..3).map(|_| queued(5000, 5000)).unzip();
            let thread = std::thread::spawn(move || {
                assert!(sinks.iter().all(|sink| sink.start() && sink.answer_held(answer())));
                std::thread::sleep(Duration::from_millis(20));
                sinks[0].tell();
            });
            for client in &clients {
                assert!(matches!(client.outcome().await, Outcome::Answer(_)));
            }
            thread.join().unwrap();
        });
    }

    #[test]
    fn who_waits_too_long_never_starts() {
        on_io_thread(async {
            let (client, sink) = queued(1, 5000);
            assert!(matches!(client.outcome().await, Outcome::Late(Late::Waiting(_))));
            assert!(!sink.start() && sink.is_cancelled());
        });
    }

    #[test]
    fn a_timeout_is_told_once() {
        on_io_thread(async {
            let calls = Arc::new(AtomicU32::new(0));
            let count = calls.clone();
            let (client, sink) = queued(1, 2);
            assert!(sink.start());
            sink.on_cancel(Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            }));
            assert!(matches!(client.outcome().await, Outcome::Late(Late::Running(_))));
            drop(client);
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            assert!(!sink.answer(answer()) && !sink.begin(head()));
        });
    }

    #[test]
    fn a_timeout_stays_one_when_the_handler_lets_go_at_once() {
        on_io_thread(async {
            let (client, sink) = pending(None, 2);
            let held = Mutex::new(Some(sink.clone()));
            sink.on_cancel(Box::new(move || drop(held.lock().unwrap().take())));
            drop(sink);
            assert!(matches!(client.outcome().await, Outcome::Late(Late::Running(_))));
        });
    }

    #[test]
    fn a_handler_that_vanishes_is_noticed() {
        on_io_thread(async {
            let (client, sink) = begun();
            drop(sink);
            assert!(matches!(client.outcome().await, Outcome::Lost));
        });
    }

    #[test]
    fn what_came_for_one_that_has_gone_is_not_taken_for_the_next_ones() {
        on_io_thread(async {
            let (gone, sink) = begun();
            assert!(sink.answer_held(Answer::Failure { status: 500, detail: "".into(), why: "".into() }));
            let key = gone.key;
            drop(gone);
            let (client, sink) = begun();
            assert_eq!(client.key, key, "its place is used again");
            sink.answer(answer());
            assert!(matches!(client.outcome().await, Outcome::Answer(Answer::Response(_))));
        });
    }

    #[test]
    fn a_stream_that_nobody_has_taken_is_given_up() {
        on_io_thread(async {
            let (client, sink) = begun();
            assert!(sink.begin(head()));
            drop(client);
            assert!(!sink.is_cancelled(), "its reader is under way");
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(sink.is_cancelled());
        });
    }

    #[test]
    fn a_stream_to_a_thread_that_has_gone_is_given_up() {
        let (before, after) = (Mutex::new(None), Mutex::new(None));
        on_io_thread(async {
            let (client, sink) = begun();
            assert!(sink.begin(head()));
            *before.lock().unwrap() = Some((client, sink));
            *after.lock().unwrap() = Some(begun());
        });
        for (stream, begins) in [(before, false), (after, true)] {
            let (client, sink) = stream.into_inner().unwrap().unwrap();
            assert!(!begins || sink.begin(head()));
            assert!(sink.is_cancelled());
            drop(client);
        }
    }

    #[test]
    fn a_stream_outlives_its_wait_and_ends_with_its_reader() {
        on_io_thread(async {
            let (client, sink) = begun();
            assert!(sink.begin(head()));
            let Outcome::Stream(_, reader) = client.outcome().await else { panic!("no stream") };
            drop(client);
            assert!(!sink.is_cancelled());
            assert_eq!(sink.send(Bytes::from_static(b"a"), true), Sent::Done);
            drop(reader);
            assert!(sink.is_cancelled());
            assert_eq!(sink.send(Bytes::from_static(b"b"), true), Sent::Gone);
        });
    }
}

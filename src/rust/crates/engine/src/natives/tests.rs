//! Requests that are answered later, from both sides.

use super::{expire, gave, leave, on_park, on_unpark, pending, turn, Pending, Settled};
use admission::Late;
use bytes::Bytes;
use exchange::{Answer, Handlers, Head, RequestView, Sent, Sink};
use patience::until_async;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// More ms than any test has.
const LONG: u64 = 600_000;

fn head() -> Head {
    Head { status: 200, content_type: None, headers: Vec::new() }
}

fn answer() -> Answer {
    Answer::Response(exchange::Response { head: head(), body: Bytes::from_static(b"x") })
}

fn queued(in_queue: u64, in_all: u64) -> (Pending, Arc<dyn Sink>) {
    pending(Some(in_queue), in_all, None)
}

fn begun() -> (Pending, Arc<dyn Sink>) {
    pending(None, LONG, None)
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
        let (client, sink) = queued(LONG, LONG);
        let thread = std::thread::spawn(move || sink.start() && sink.answer(answer()));
        assert!(matches!(client.outcome().await, Settled::Answer(_)));
        assert!(thread.join().unwrap());
    });
}

#[test]
fn held_answers_arrive_when_they_are_told() {
    on_io_thread(async {
        let (clients, sinks): (Vec<_>, Vec<_>) = (0..3).map(|_| queued(LONG, LONG)).unzip();
        let thread = std::thread::spawn(move || {
            assert!(sinks.iter().all(|sink| sink.start() && sink.answer_held(answer())));
            // they are waited for, if they are not told
            std::thread::sleep(Duration::from_millis(20));
            sinks[0].notify();
        });
        for client in &clients {
            assert!(matches!(client.outcome().await, Settled::Answer(_)));
        }
        thread.join().unwrap();
    });
}

#[test]
fn who_waits_too_long_never_starts() {
    on_io_thread(async {
        let (client, sink) = queued(1, LONG);
        assert!(matches!(client.outcome().await, Settled::Late(Late::Waiting(_))));
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
        assert!(matches!(client.outcome().await, Settled::Late(Late::Running(_))));
        drop(client);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert!(!sink.answer(answer()) && !sink.begin(head()));
    });
}

#[test]
fn a_timeout_stays_one_when_the_handler_lets_go_at_once() {
    on_io_thread(async {
        let (client, sink) = pending(None, 2, None);
        let held = Mutex::new(Some(sink.clone()));
        sink.on_cancel(Box::new(move || drop(held.lock().unwrap().take())));
        drop(sink);
        assert!(matches!(client.outcome().await, Settled::Late(Late::Running(_))));
    });
}

#[test]
fn a_handler_that_vanishes_is_noticed() {
    on_io_thread(async {
        let (client, sink) = begun();
        drop(sink);
        assert!(matches!(client.outcome().await, Settled::Lost));
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
        assert!(matches!(client.outcome().await, Settled::Answer(Answer::Response(_))));
    });
}

#[test]
fn a_stream_that_nobody_has_taken_is_given_up() {
    on_io_thread(async {
        let (client, sink) = begun();
        assert!(sink.begin(head()));
        drop(client);
        assert!(!sink.is_cancelled(), "its reader is under way");
        until_async("it is given up", tokio::time::sleep, || sink.is_cancelled()).await;
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
        let Settled::Stream(_, reader) = client.outcome().await else { panic!("no stream") };
        drop(client);
        assert!(!sink.is_cancelled());
        assert_eq!(sink.send(Bytes::from_static(b"a"), true), Sent::Done);
        drop(reader);
        assert!(sink.is_cancelled());
        assert_eq!(sink.send(Bytes::from_static(b"b"), true), Sent::Gone);
    });
}

/// Handlers that count how often their threads are to begin.
#[derive(Default)]
struct Flushed(AtomicU32);

impl Handlers for Flushed {
    fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        None
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn around_a_reload_the_threads_of_both_apps_begin() {
    on_io_thread(async {
        let _request = begun();
        let apps = [Arc::new(Flushed::default()), Arc::new(Flushed::default())];
        for app in &apps {
            gave(&(app.clone() as Arc<dyn Handlers>));
        }
        turn();
        assert_eq!(apps.each_ref().map(|app| app.0.load(Ordering::Relaxed)), [1, 1]);
    });
}

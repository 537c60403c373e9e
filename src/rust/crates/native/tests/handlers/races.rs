//! Many requests at once: answers from the pool and from threads of handlers, and clients that go away while they come.

use crate::app::{spec, App, Ask, How};
use crate::client::Client;
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

const NAMES: [&str; 9] = [
    "h_echo",
    "old_echo",
    "h_owned",
    "h_later",
    "h_later_twice",
    "h_later_on_cancel",
    "h_stream",
    "h_stream_later",
    "old_stream",
];
const ASKS: [&str; 2] = ["/x?n=5&ms=0", "/x?n=50&ms=1"];

/// Calls all handlers in turn, in both ways; every fourth client goes away.
fn call_them(app: &App, first: u32) {
    for i in 0..300_u32 {
        let how = if i % 3 == 0 { How::Inline } else { How::Pool };
        let number = (i + first) % NAMES.len() as u32 + 1;
        let client = Client::new();
        app.call_for(how, number, &Ask::query(ASKS[(i % 2) as usize]), &client);
        // one waits for ever unless its client goes away
        let only_cancelled = NAMES[number as usize - 1] == "h_later_on_cancel";
        if i % 4 == 0 || only_cancelled {
            let leaving = client.clone();
            thread::spawn(move || leaving.cancel()).join().unwrap();
        }
        client.wait("end of any kind", |seen| seen.cancelled || seen.answer.is_some() || seen.end.is_some());
    }
}

#[test]
fn answers_and_cancellations_race() {
    let _one = crate::library::one_at_a_time();
    let app = Arc::new(App::with(NAMES.iter().map(|name| spec(name)).collect(), 4));
    // not scoped threads: what those wait for is not compiled for ThreadSanitizer
    let threads = [0, 1].map(|first| {
        let app = app.clone();
        thread::spawn(move || call_them(&app, first))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(app.natives.stop(std::time::Duration::from_secs(60)));
    // nothing that a handler was told was an error of its own
    let errors: Vec<_> = app.log().into_iter().filter(|(level, _)| *level == 2).collect();
    assert_eq!(errors, []);
}

#[test]
fn cancelled_while_it_is_answered() {
    let _one = crate::library::one_at_a_time();
    let app = App::new("h_later");
    for i in 0..200_u64 {
        let client = app.call(How::Pool, &Ask::query("/x?ms=1"));
        // about when it is answered
        thread::sleep(std::time::Duration::from_micros(900 + i));
        client.cancel();
        client.wait("end", |seen| seen.dropped);
    }
    assert_eq!(app.log(), []);
}

/// That there is nothing to see is for ThreadSanitizer to say: `tools/sanitize.sh` tells it of the order that locks
/// make where they are waited for.
#[test]
fn locks_that_are_waited_for_make_an_order() {
    let (many, one) = (RwLock::new([0_u32; 16]), Mutex::new([0_u32; 16]));
    let add = |numbers: &mut [u32; 16]| {
        numbers.iter_mut().for_each(|n| *n += 1);
        // others come to wait
        thread::yield_now();
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    add(&mut many.write().unwrap());
                    add(&mut one.lock().unwrap());
                    let numbers = many.read().unwrap();
                    thread::yield_now();
                    assert!(numbers.iter().all(|n| *n == numbers[0]));
                }
            });
        }
    });
    assert_eq!((*many.read().unwrap(), *one.lock().unwrap()), ([800; 16], [800; 16]));
}

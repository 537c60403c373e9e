//! Models of the slots, with the rings that the requests and replies pass: each request runs exactly once, is taken
//! back, or was with the worker when that died, and the server can tell which.

use super::words::mortal;
use super::{check, small_ring, Segment};
use crate::{Assembler, Consumer, Producer, RequestId, Sending, Slots};
use loom::thread;
use std::sync::{Arc, Mutex};

fn table(len: usize) -> Slots {
    Slots::new(&Arc::new(Segment::new(len.next_multiple_of(2) * 8)), 0, len)
}

fn id(slot: u32, generation: u32) -> RequestId {
    RequestId { slot, generation }
}

/// Server: a request is handed to the worker.
fn hand_over(slots: &Slots, requests: &mut Producer, id: RequestId) {
    assert!(slots.claim(id));
    assert!(requests.send(id.to_word(), &id.to_word().to_ne_bytes(), &mut Sending::default()));
}

fn next(requests: &mut Consumer) -> Option<RequestId> {
    requests.receive(&mut Assembler::default(), |word, bytes| {
        assert_eq!(bytes, word.to_ne_bytes(), "torn");
        RequestId::from_word(word)
    })
}

fn wait_for_next(requests: &mut Consumer) -> RequestId {
    loop {
        match next(requests) {
            Some(id) => return id,
            None => thread::yield_now(),
        }
    }
}

/// Worker: takes `count` records, runs what is its own, and replies. What it has begun is in `began`, at once.
fn work(count: usize, slots: &Slots, requests: &mut Consumer, replies: &mut Producer, began: &Mutex<Vec<RequestId>>) {
    for _ in 0..count {
        let id = wait_for_next(requests);
        if slots.start(id) {
            began.lock().unwrap().push(id);
            assert!(replies.send(id.to_word(), &id.to_word().to_ne_bytes(), &mut Sending::default()));
        }
    }
}

/// Server, of a request that it tried to take back, when the worker has ended: `answered` are the replies that came.
fn judge(slots: &Slots, id: RequestId, taken: bool, began: &[RequestId], answered: &[RequestId]) {
    let times = began.iter().filter(|b| **b == id).count();
    let replies = answered.iter().filter(|a| **a == id).count();
    if taken {
        assert_eq!((times, replies), (0, 0), "taken back, and yet it ran");
    } else {
        assert!(slots.is_running(id), "neither taken back nor begun");
        assert_eq!(times, 1, "lost, or run twice");
        assert!(replies <= 1, "two answers");
    }
}

/// The server hands over two requests and takes both back, if it can, while the worker starts them.
pub(super) fn two_race() {
    check(|| {
        let (mut requests, mut requests_out) = small_ring();
        let (mut replies_in, mut replies) = small_ring();
        let slots = table(2);
        let began = Arc::new(Mutex::new(Vec::new()));
        let (slots2, began2) = (slots.clone(), began.clone());
        let worker = thread::spawn(move || work(2, &slots2, &mut requests_out, &mut replies_in, &began2));
        let ids = [id(0, 7), id(1, u32::MAX)];
        for id in ids {
            hand_over(&slots, &mut requests, id);
        }
        let taken = ids.map(|id| slots.revoke(id));
        worker.join().unwrap();
        let answered: Vec<_> = std::iter::from_fn(|| next(&mut replies)).collect();
        for (id, taken) in ids.into_iter().zip(taken) {
            judge(&slots, id, taken, &began.lock().unwrap(), &answered);
            assert_eq!(!taken, answered.contains(&id), "a worker that lives answers what it has begun");
        }
    });
}

/// Three requests are with the worker, which stops for ever at one of its steps while the server takes back the last
/// two.
pub(super) fn three_of_a_dead_worker() {
    // of a request: to look, to say that it is read, to start it, and to reply
    for steps in 0..13 {
        check(move || {
            let (mut requests, mut requests_out) = small_ring();
            let (mut replies_in, mut replies) = small_ring();
            let slots = table(3);
            let ids = [0, 1, 2].map(|slot| id(slot, 1));
            for id in ids {
                hand_over(&slots, &mut requests, id);
            }
            let began = Arc::new(Mutex::new(Vec::new()));
            let (slots2, began2) = (slots.clone(), began.clone());
            let worker = thread::spawn(move || {
                mortal(steps, || work(3, &slots2, &mut requests_out, &mut replies_in, &began2));
            });
            let early = [false, slots.revoke(ids[1]), slots.revoke(ids[2])];
            worker.join().unwrap();
            // its death is known: what it has not begun goes to others, and what it has answered counts
            let answered: Vec<_> = std::iter::from_fn(|| next(&mut replies)).collect();
            for (id, early) in ids.into_iter().zip(early) {
                let taken = early || slots.revoke(id);
                judge(&slots, id, taken, &began.lock().unwrap(), &answered);
            }
        });
    }
}

/// A request is taken back, and its slot is used for another one, before the worker has seen the record of the first.
pub(super) fn stale_record() {
    check(|| {
        let (mut requests, mut requests_out) = small_ring();
        let (mut replies_in, _replies) = small_ring();
        let slots = table(2);
        let began = Arc::new(Mutex::new(Vec::new()));
        let (slots2, began2) = (slots.clone(), began.clone());
        hand_over(&slots, &mut requests, id(1, 4));
        let worker = thread::spawn(move || work(2, &slots2, &mut requests_out, &mut replies_in, &began2));
        let last = if slots.revoke(id(1, 4)) {
            hand_over(&slots, &mut requests, id(1, 5));
            vec![id(1, 5)]
        } else {
            hand_over(&slots, &mut requests, id(0, 0));
            vec![id(1, 4), id(0, 0)]
        };
        worker.join().unwrap();
        assert_eq!(*began.lock().unwrap(), last);
    });
}

/// A request is answered, its slot is freed and used for the next one.
pub(super) fn used_again() {
    check(|| {
        let (mut requests, mut requests_out) = small_ring();
        let (mut replies_in, mut replies) = small_ring();
        let slots = table(2);
        let began = Arc::new(Mutex::new(Vec::new()));
        let (slots2, began2) = (slots.clone(), began.clone());
        let worker = thread::spawn(move || work(2, &slots2, &mut requests_out, &mut replies_in, &began2));
        for generation in 0..2 {
            hand_over(&slots, &mut requests, id(0, generation));
            assert_eq!(wait_for_next(&mut replies), id(0, generation));
            assert!(slots.is_running(id(0, generation)), "the server sees that it ran when it has its answer");
            slots.release(id(0, generation));
        }
        worker.join().unwrap();
        assert_eq!(*began.lock().unwrap(), [id(0, 0), id(0, 1)]);
    });
}

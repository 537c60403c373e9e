//! Models of the ring: nothing lost, doubled or torn, and nothing overwritten that is still to be read.

use super::words::mortal;
use super::{check, small_ring};
use crate::{Assembler, Consumer, Producer, Sending};
use loom::thread;

/// The bytes of message `id`: all of them say which one it is.
fn message(id: u64, len: usize) -> Vec<u8> {
    vec![id as u8 + 1; len]
}

/// Sends all of a message, waiting for room.
fn send(tx: &mut Producer, id: u64, len: usize) {
    let bytes = message(id, len);
    let mut sending = Sending::default();
    while !tx.send(id, &bytes, &mut sending) {
        thread::yield_now();
    }
}

/// Receives a message, which must be that of its id and whole. `None` when none is there.
fn receive(rx: &mut Consumer, assembler: &mut Assembler, len: usize) -> Option<u64> {
    rx.receive(assembler, |id, bytes| {
        assert_eq!(bytes, message(id, len), "torn");
        id
    })
}

/// Receives the messages `ids`, waiting for each.
fn receive_all(rx: &mut Consumer, ids: std::ops::Range<u64>, len: usize) {
    let mut assembler = Assembler::default();
    for expected in ids {
        let id = loop {
            match receive(rx, &mut assembler, len) {
                Some(id) => break id,
                None => thread::yield_now(),
            }
        };
        assert_eq!(id, expected, "lost or doubled");
    }
}

/// Four records fill the ring, so that one more needs room that the reader has yet to make.
pub(super) fn whole_and_in_order() {
    check(|| {
        let (mut tx, mut rx) = small_ring();
        for id in 0..4 {
            send(&mut tx, id, 16);
        }
        let writer = thread::spawn(move || send(&mut tx, 4, 16));
        receive_all(&mut rx, 0..5, 16);
        writer.join().unwrap();
        assert!(rx.is_empty(), "something was doubled");
    });
}

/// A message of two records, of which the second does not fit into the lap: a filler takes the rest of it, and what
/// follows needs room that the reader has yet to make.
pub(super) fn in_parts() {
    check(|| {
        let (mut tx, mut rx) = small_ring();
        send(&mut tx, 0, 0);
        for id in 1..3 {
            send(&mut tx, id, 16);
        }
        receive_all(&mut rx, 0..1, 0);
        let writer = thread::spawn(move || send(&mut tx, 3, 17));
        receive_all(&mut rx, 1..3, 16);
        receive_all(&mut rx, 3..4, 17);
        writer.join().unwrap();
        assert!(rx.is_empty());
    });
}

pub(super) fn dead_writer() {
    // two messages: two steps, and none left at which it could stop
    for steps in 0..3 {
        check(move || {
            let (mut tx, mut rx) = small_ring();
            let writer = thread::spawn(move || {
                mortal(steps, || {
                    for id in 0..2 {
                        send(&mut tx, id, 16);
                    }
                });
            });
            let mut assembler = Assembler::default();
            let mut next = 0;
            let mut look = |times| {
                for _ in 0..times {
                    if let Some(id) = receive(&mut rx, &mut assembler, 16) {
                        assert_eq!(id, next, "lost or doubled");
                        next += 1;
                    }
                }
            };
            // while it lives or not, and when it is certainly dead
            look(2);
            writer.join().unwrap();
            look(3);
            assert_eq!(next, u64::from(steps.min(2)), "what was published arrives, and nothing else");
        });
    }
}

pub(super) fn dead_reader() {
    // three messages: two steps each, and none left at which it could stop
    for steps in 0..7 {
        check(move || {
            let (mut tx, mut rx) = small_ring();
            for id in 0..3 {
                send(&mut tx, id, 16);
            }
            let reader = thread::spawn(move || mortal(steps, || receive_all(&mut rx, 0..3, 16)));
            let bytes = message(3, 16);
            let mut sent = 0;
            while sent < 5 && tx.send(3, &bytes, &mut Sending::default()) {
                sent += 1;
            }
            reader.join().unwrap();
            while sent < 5 && tx.send(3, &bytes, &mut Sending::default()) {
                sent += 1;
            }
            let read = u64::from(steps / 2);
            assert_eq!(sent, (read + 1).min(5), "there is room for what was read, and for the one that was free");
        });
    }
}

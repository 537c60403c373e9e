//! The ring in shared memory: messages of any size arrive in order and whole while both ends keep to the rules. For any
//! record or position that the other end writes, nothing panics, reads beyond the limit, or loops for ever.
//!
//! Input: steps, a byte each with what it needs. The first hostile one ends the time in which what arrives is known.

use crate::input::Input;
use shm::fuzzing::{Memory, CAPACITY};
use shm::{Assembler, Sending};
use std::collections::VecDeque;

/// Longest message that is read.
const LIMIT: usize = 3 * CAPACITY;

thread_local! {
    static MEMORY: Memory = Memory::new().expect("memory for a ring");
}

/// See the module.
pub fn run(data: &[u8]) {
    MEMORY.with(|memory| steps(memory, Input(data)));
}

fn steps(memory: &Memory, mut input: Input) {
    let (mut producer, mut consumer) = memory.ring();
    let mut assembler = Assembler::with_limit(LIMIT);
    let mut expected: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
    let mut sending: Option<(u64, Vec<u8>, Sending)> = None;
    let (mut honest, mut id) = (true, 0);
    while !input.0.is_empty() {
        match input.byte() % 8 {
            // a message begins, or goes on
            0..=2 => {
                let (id, bytes, mut state) = sending.take().unwrap_or_else(|| {
                    id += 1;
                    let (len, fill) = (usize::from(input.word()) % (LIMIT + 1), input.byte());
                    (id, vec![fill; len], Sending::default())
                });
                let done = producer.send(id, &bytes, &mut state);
                assert!(state.sent() <= bytes.len() && (!done || state.sent() == bytes.len()));
                match done {
                    true => expected.push_back((id, bytes)),
                    false => sending = Some((id, bytes, state)),
                }
            }
            3 | 4 => {
                let got = consumer.receive(&mut assembler, |id, bytes| (id, bytes.to_vec()));
                if honest {
                    assert!(!consumer.is_broken());
                    match &got {
                        Some(_) => assert_eq!(got, expected.pop_front()),
                        None => assert!(expected.is_empty() && consumer.is_empty()),
                    }
                } else if consumer.is_broken() {
                    assert!(got.is_none() && consumer.is_empty());
                } else {
                    assert!(got.is_none_or(|(_, bytes)| bytes.len() <= LIMIT.max(CAPACITY)));
                }
            }
            5 => {
                honest = false;
                memory.set(usize::from(input.word()), record(&mut input));
            }
            6 => {
                honest = false;
                memory.set_tail(position(memory, &mut input));
            }
            _ => {
                honest = false;
                memory.set_head(position(memory, &mut input));
            }
        }
    }
    // what is left in it is read in no more steps than there can be records
    let most = CAPACITY / 16 + 1;
    let received = (0..=most).take_while(|_| consumer.receive(&mut assembler, |_, _| ()).is_some()).count();
    assert!(received <= most && (!honest || received == expected.len()));
}

/// What may be the first word of a record: a length and flags.
fn record(input: &mut Input) -> u64 {
    let (len, flags) = (u64::from(input.word()), u64::from(input.byte()));
    match flags >> 6 {
        0 => flags << 32 | len,
        1 => flags << 32 | (u64::from(u32::MAX) - len),
        _ => len << 48 | flags << 32 | len,
    }
}

/// A position that is near the true one, or anywhere.
fn position(memory: &Memory, input: &mut Input) -> u64 {
    let (how, n) = (input.byte(), u64::from(input.word()));
    match how % 4 {
        0 => memory.tail().wrapping_add(n),
        1 => memory.tail().wrapping_sub(n),
        2 => n,
        _ => u64::MAX - n,
    }
}

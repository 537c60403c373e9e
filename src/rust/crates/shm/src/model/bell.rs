//! Models of the bell: publishing a message and ringing wakes a sleeper, at any moment of its going to sleep. A lost
//! wake-up is a deadlock, which loom reports.

use super::{check, small_ring, Segment};
use crate::{Assembler, Bell, Ring, Sending};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::sync::Arc;

/// In place of the bell's descriptor: a ring is kept until the sleeper has noticed it.
struct Descriptor {
    ringing: Mutex<bool>,
    changed: Condvar,
}

impl Descriptor {
    fn sleep(&self) {
        let mut ringing = self.ringing.lock().unwrap();
        while !*ringing {
            ringing = self.changed.wait(ringing).unwrap();
        }
        *ringing = false;
    }
}

impl Ring for Descriptor {
    fn ring(&self) -> bool {
        *self.ringing.lock().unwrap() = true;
        self.changed.notify_one();
        true
    }
}

fn messages_wake(count: u64) {
    check(move || {
        let descriptor = Arc::new(Descriptor { ringing: Mutex::new(false), changed: Condvar::new() });
        let bell = Arc::new(Bell::new(&Arc::new(Segment::new(16)), 0, Some(descriptor.clone())).unwrap());
        let (mut tx, mut rx) = small_ring();
        let bell2 = bell.clone();
        let ringer = thread::spawn(move || {
            for id in 0..count {
                assert!(tx.send(id, &[], &mut Sending::default()));
                bell2.ring();
            }
        });
        let mut assembler = Assembler::default();
        let mut got = 0;
        while got < count {
            bell.doze();
            if rx.is_empty() {
                descriptor.sleep();
                bell.awake();
            } else {
                bell.stay_awake();
            }
            while rx.receive(&mut assembler, |_, _| ()).is_some() {
                got += 1;
            }
        }
        ringer.join().unwrap();
    });
}

pub(super) fn one() {
    messages_wake(1);
}

pub(super) fn two() {
    messages_wake(2);
}

//! Which side owns a request right now: one word for each request that is out with a worker.
//!
//! States of a word, with the generation of the slot in its upper bits:
//!
//! ```text
//! free ──claim (server)──▶ queued ──start (worker)──▶ running ──the reply arrives: release (server)──▶ free
//!                            └──revoke (server)──▶ free, next generation
//! ```
//!
//! A worker whose handler returns before it has the answer says so by a message of no bytes; the word stays running.
//!
//! `start` and `revoke` are compare-and-swap on the same word: one of them wins, so that a request taken back never
//! runs, and one that runs is never given away. A worker that dies leaves its word queued or running, and the server,
//! which alone frees, knows which. A stale record in the ring names an old generation and starts nothing.
//!
//! All accesses are relaxed: one word decides about one request, and the rings pass and order the request's other
//! data. The server claims before it sends, and frees after it has received.

use crate::sync::AtomicU64;
use crate::Segment;
use std::sync::atomic::Ordering;
use std::sync::Arc;

const QUEUED: u64 = 1;
const RUNNING: u64 = 2;
const STATE_BITS: u32 = 2;

/// Names a request on a link: which slot, and which use of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// index into the table
    pub slot: u32,
    /// how often the slot was used before, modulo 2^32
    pub generation: u32,
}

impl RequestId {
    /// Under whose name is said what has to do with no request. Never claimed: generations begin with 1.
    pub const NOBODY: RequestId = RequestId { slot: 0, generation: 0 };

    /// As one word, for a record.
    pub fn to_word(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// The inverse of [`RequestId::to_word`].
    pub fn from_word(word: u64) -> Self {
        RequestId { slot: word as u32, generation: (word >> 32) as u32 }
    }

    fn queued(self) -> u64 {
        u64::from(self.generation) << STATE_BITS | QUEUED
    }

    fn running(self) -> u64 {
        u64::from(self.generation) << STATE_BITS | RUNNING
    }
}

/// The table. Cheap to clone; both ends hold one.
#[derive(Debug, Clone)]
pub struct Slots {
    segment: Arc<Segment>,
    offset: usize,
    len: usize,
}

impl Slots {
    pub(crate) fn new(segment: &Arc<Segment>, offset: usize, len: usize) -> Self {
        Slots { segment: segment.clone(), offset, len }
    }

    fn word(&self, slot: u32) -> Option<&AtomicU64> {
        let slot = slot as usize;
        if slot >= self.len {
            return None;
        }
        Some(self.segment.word(self.offset + slot * 8))
    }

    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the table has no slot at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Server: the slot holds a request that waits. `false` when the table has no such slot.
    pub fn claim(&self, id: RequestId) -> bool {
        self.word(id.slot).map(|w| w.store(id.queued(), Ordering::Relaxed)).is_some()
    }

    /// Worker: from now on the request is this worker's. `false` when it was taken back: leave it alone.
    pub fn start(&self, id: RequestId) -> bool {
        self.word(id.slot).is_some_and(|w| {
            w.compare_exchange(id.queued(), id.running(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
        })
    }

    /// Server: take a waiting request back. `false` when it runs already.
    pub fn revoke(&self, id: RequestId) -> bool {
        self.word(id.slot)
            .is_some_and(|w| w.compare_exchange(id.queued(), 0, Ordering::Relaxed, Ordering::Relaxed).is_ok())
    }

    /// Server: whether a worker has begun with it.
    pub fn is_running(&self, id: RequestId) -> bool {
        self.word(id.slot).is_some_and(|w| w.load(Ordering::Relaxed) == id.running())
    }

    /// Server: the reply is here, the slot is free.
    pub fn release(&self, id: RequestId) {
        if let Some(w) = self.word(id.slot) {
            w.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_of_start_and_revoke_wins() {
        let slots = Slots::new(&Arc::new(Segment::new(64).unwrap()), 0, 8);
        let id = RequestId { slot: 3, generation: u32::MAX };
        assert_eq!(RequestId::from_word(id.to_word()), id);
        assert!(slots.claim(id));
        assert!(slots.start(id) && !slots.revoke(id) && slots.is_running(id));
        slots.release(id);
        let next = RequestId { slot: 3, generation: 0 };
        slots.claim(next);
        assert!(!slots.start(id), "a stale record starts nothing");
        assert!(slots.revoke(next) && !slots.start(next));
        assert!(!slots.claim(RequestId { slot: 8, generation: 0 }));
    }

    #[test]
    fn racing_threads_never_both_win() {
        let slots = Slots::new(&Arc::new(Segment::new(64).unwrap()), 0, 8);
        for generation in 0..2000 {
            let id = RequestId { slot: 0, generation };
            slots.claim(id);
            let other = slots.clone();
            let worker = std::thread::spawn(move || other.start(id));
            let revoked = slots.revoke(id);
            assert_ne!(worker.join().unwrap(), revoked);
        }
    }
}

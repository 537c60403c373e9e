//! A small ring whose every word can be overwritten, for the fuzz target `ring` in `tests/fuzz`. Compiled with the
//! feature `fuzzing` only.

use crate::ring::{ring, Consumer, Producer, CONTROL};
use crate::Segment;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// Bytes of the ring's records.
pub const CAPACITY: usize = 4096;

/// The memory of a ring. It can be used for another one when the ends of the last one are gone.
pub struct Memory(Arc<Segment>);

impl Memory {
    /// For one ring.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn new() -> io::Result<Self> {
        Segment::new(CONTROL + CAPACITY).map(|segment| Memory(Arc::new(segment)))
    }

    /// Both ends of a new ring, in which nothing was ever written.
    pub fn ring(&self) -> (Producer, Consumer) {
        (0..self.0.len()).step_by(8).for_each(|offset| self.0.word(offset).store(0, Relaxed));
        ring(&self.0, 0, CAPACITY)
    }

    /// What a hostile writer may store as its position.
    pub fn set_tail(&self, word: u64) {
        self.0.word(0).store(word, Relaxed);
    }

    /// What a hostile reader may store as its position.
    pub fn set_head(&self, word: u64) {
        self.0.word(CONTROL / 2).store(word, Relaxed);
    }

    /// Overwrites eight bytes of the records.
    pub fn set(&self, place: usize, word: u64) {
        self.0.word(CONTROL + place % (CAPACITY / 8) * 8).store(word, Relaxed);
    }

    /// Where the writer says that it is.
    pub fn tail(&self) -> u64 {
        self.0.word(0).load(Relaxed)
    }
}

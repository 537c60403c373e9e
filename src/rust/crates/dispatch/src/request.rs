//! A request on its way, from the queue to its answer, as its client's side sees it. What a worker has of it is in
//! `lane`.

use crate::outcome::Outcome;
use crate::runs::Of;
use crate::submission::{Submission, Word};
use admission::{Late, Patience, NEVER};
use bytes::Bytes;
use shm::RequestId;
use slab::Slab;
use std::task::Waker;
use tokio::sync::oneshot;

/// Names a request in the dispatcher; never used twice within the time that a worker could take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    serial: u32,
}

pub(crate) struct Entry {
    serial: u32,
    /// where it goes, and how long it may take
    pub submission: Submission,
    /// kept until the answer: a worker that is slow, or dies, has to give it back
    pub message: Vec<u8>,
    /// when it came, in ms
    pub since: u64,
    /// when it was handed to a worker last, if its time is its handler's
    pub handed: u64,
    pub place: Place,
    pub waiter: Waiter,
    /// what its handler has said meanwhile for its client, which a task of this thread is to collect
    pub notices: Vec<Bytes>,
    /// its handler has returned a promise: it neither waits for a worker nor runs
    pub promised: bool,
}

/// Where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// it waits for any worker of its generation
    Queue,
    /// handed to this lane of a worker
    Lane(usize, Of, RequestId),
}

impl Entry {
    /// By when it must have been answered, in ms. Of one whose time is its handler's, if a worker has it.
    pub(crate) fn deadline(&self) -> u64 {
        let from = if self.submission.times_handler { self.handed } else { self.since };
        from + self.submission.timeout
    }

    /// What has taken too long; `begun` says whether its handler has begun.
    pub(crate) fn late(&self, now: u64, in_queue: u64, begun: impl Fn() -> bool) -> Option<Late> {
        let Submission { timeout, times_handler, .. } = self.submission;
        let (from, in_all) = match times_handler {
            false => (self.since, timeout),
            true if begun() => (self.handed, timeout),
            true => (self.since, NEVER),
        };
        Patience { in_queue, in_all }.late(now.saturating_sub(from), begun)
    }
}

/// What waits for the answer.
pub(crate) enum Waiter {
    /// a task of this thread, which has polled if there is a waker
    Here(Option<Waker>),
    /// a task of another I/O thread, by the number that it gave
    Elsewhere(u64, oneshot::Sender<Word>),
    /// a task of this thread that has not collected this yet
    Answered(Outcome),
    /// a worker, which has another one run a function
    Worker(Asker),
    /// nothing: the request only tells a worker something
    Nobody,
}

/// The worker that waits for what comes of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker {
    /// the caller's name for it
    pub worker: u32,
    /// its own name for the task
    pub number: u64,
    /// the task's route; what comes of it has the next one
    pub route: u32,
}

/// All requests without an answer, or whose answer was not collected.
#[derive(Default)]
pub(crate) struct Entries {
    slab: Slab<Entry>,
    serial: u32,
    /// buffers of ended requests
    spare: Vec<Vec<u8>>,
}

/// Buffers kept for the next requests.
const SPARE: usize = 64;

impl Entries {
    /// An empty buffer for a message.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, submission: Submission, message: Vec<u8>, since: u64, waiter: Waiter) -> Key {
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let (place, notices) = (Place::Queue, Vec::new());
        let entry =
            Entry { serial, submission, message, since, handed: since, place, waiter, notices, promised: false };
        Key { index: self.slab.insert(entry) as u32, serial }
    }

    pub(crate) fn get(&mut self, key: Key) -> Option<&mut Entry> {
        self.slab.get_mut(key.index as usize).filter(|e| e.serial == key.serial)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Entry> {
        self.get(key)?;
        let mut entry = self.slab.remove(key.index as usize);
        let mut buffer = std::mem::take(&mut entry.message);
        if self.spare.len() < SPARE {
            kept::empty_one_of_many(&mut buffer);
            self.spare.push(buffer);
        }
        Some(entry)
    }

    /// Those whose clients wait.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = (Key, &Entry)> {
        let all = self.slab.iter().map(|(i, e)| (Key { index: i as u32, serial: e.serial }, e));
        all.filter(|(_, e)| !matches!(e.waiter, Waiter::Answered(_) | Waiter::Nobody))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    #[cfg(any(feature = "fuzzing", test))]
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }
}

/// Names of requests, for tests.
#[cfg(test)]
pub(super) fn keys(n: u32) -> Vec<Key> {
    (0..n).map(|index| Key { index, serial: 0 }).collect()
}

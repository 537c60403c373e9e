//! Tasks that workers have others run: which worker asked, and for which request. `dispatcher/tasks.rs` acts on them.

use crate::request::{Asker, Key};
use crate::submission::Origin;
use bytes::Bytes;
use wire::task::{Came, Ended};

impl Asker {
    /// What it is told.
    pub fn outcome(&self, ended: Ended, value: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        Came { number: self.number, ended, value }.encode(&mut message);
        message
    }
}

/// The request whose handler asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parent {
    pub key: Key,
    /// names it in the log
    pub request: u64,
    pub from: Origin,
    /// in ms
    pub deadline: u64,
}

/// A task that a worker has asked for.
pub(crate) struct Wanted {
    pub asker: Asker,
    pub parent: Option<Parent>,
    /// of `wire`
    pub message: Bytes,
}

struct UnderWay {
    key: Key,
    worker: u32,
    parent: Option<Key>,
}

/// See the module. Workers are read in the middle of other things: what that brings is dealt with when they are done.
#[derive(Default)]
pub(crate) struct Tasks {
    under_way: Vec<UnderWay>,
    /// asked for, and not begun
    pub wanted: Vec<Wanted>,
    /// no longer wanted
    pub unwanted: Vec<Key>,
    /// messages that could not be sent to the worker that asked, for want of a slot
    pub unsent: Vec<(Asker, Vec<u8>)>,
}

impl Tasks {
    /// One that a worker has asked for is a request now.
    pub fn add(&mut self, key: Key, worker: u32, parent: Option<Key>) {
        self.under_way.push(UnderWay { key, worker, parent });
    }

    /// It has ended.
    pub fn remove(&mut self, key: Key) {
        self.under_way.retain(|task| task.key != key);
    }

    /// Whether there is nothing to go on with. Asked whenever workers are looked at, and most apps have no tasks.
    pub fn is_quiet(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty() && self.unsent.is_empty()
    }

    /// How many a worker has asked for.
    pub fn of_worker(&self, worker: u32) -> usize {
        self.under_way.iter().filter(|task| task.worker == worker).count()
    }

    /// A request has its answer, or nothing waits for it any more: its tasks end with it.
    pub fn end_with(&mut self, parent: Key) {
        if self.under_way.is_empty() && self.wanted.is_empty() {
            return;
        }
        self.end(|task| task.parent == Some(parent));
        let not_begun = self.wanted.extract_if(.., |wanted| wanted.parent.is_some_and(|of| of.key == parent));
        self.unsent.extend(not_begun.map(|wanted| (wanted.asker, wanted.asker.outcome(Ended::Over, &[]))));
    }

    /// A worker has gone, and with it the handlers that wait for its tasks.
    pub fn end_with_worker(&mut self, worker: u32) {
        self.end(|task| task.worker == worker);
        self.wanted.retain(|wanted| wanted.asker.worker != worker);
        self.unsent.retain(|(asker, _)| asker.worker != worker);
    }

    fn end(&mut self, ends: impl Fn(&UnderWay) -> bool) {
        let unwanted = &mut self.unwanted;
        self.under_way.retain(|task| {
            let ends = ends(task);
            if ends {
                unwanted.push(task.key);
            }
            !ends
        });
    }
}

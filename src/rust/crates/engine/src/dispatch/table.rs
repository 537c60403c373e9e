//! What this thread knows of each request that is out. The worker's view of the same is the word in `shm::Slots`.
//!
//! ```text
//! Free ─claim▶ Waiting ─answer▶ Answered ─collected▶ Free
//!                 ├─expire▶ Expired ─collected▶ Free, or Abandoned while the worker still has it
//!                 └─the client goes▶ Free when taken back in time, otherwise Abandoned ─answer▶ Free
//! ```

use super::ticket::Outcome;
use super::Patience;
use crate::http::now;
use bytes::Bytes;
use shm::{RequestId, Slots};
use std::task::Waker;

pub(super) struct Table {
    slots: Slots,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

struct Entry {
    generation: u32,
    state: State,
}

enum State {
    Free,
    /// its client waits
    Waiting {
        waker: Option<Waker>,
        since: u64,
    },
    /// the reply is here, its client has not taken it
    Answered(Bytes),
    /// too late; its client has not been told. `held`: the worker still has it.
    Expired {
        outcome: Outcome,
        held: bool,
    },
    /// the worker has it, nobody waits for the reply
    Abandoned,
}

impl Table {
    pub(super) fn new(slots: Slots) -> Self {
        Table { slots, entries: Vec::new(), free: Vec::new() }
    }

    fn entry(&mut self, id: RequestId) -> Option<&mut Entry> {
        self.entries.get_mut(id.slot as usize).filter(|e| e.generation == id.generation)
    }

    /// A slot for a request that starts to wait. `None` when all are taken.
    pub(super) fn claim(&mut self) -> Option<RequestId> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.entries.len() < self.slots.len() => {
                self.entries.push(Entry { generation: 0, state: State::Free });
                self.entries.len() as u32 - 1
            }
            None => return None,
        };
        let entry = &mut self.entries[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.state = State::Waiting { waker: None, since: now() };
        let id = RequestId { slot, generation: entry.generation };
        self.slots.claim(id);
        Some(id)
    }

    fn release(&mut self, id: RequestId) {
        self.slots.release(id);
        self.entries[id.slot as usize].state = State::Free;
        self.free.push(id.slot);
    }

    /// The worker's reply to `id`. `true` when that freed the slot. Replies to nothing are ignored.
    pub(super) fn answer(&mut self, id: RequestId, message: &[u8]) -> bool {
        let Some(entry) = self.entry(id) else { return false };
        match &mut entry.state {
            State::Waiting { waker, .. } => {
                let waker = waker.take();
                entry.state = State::Answered(Bytes::copy_from_slice(message));
                if let Some(waker) = waker {
                    waker.wake();
                }
                false
            }
            State::Expired { held, .. } => {
                *held = false;
                false
            }
            State::Abandoned => {
                self.release(id);
                true
            }
            State::Answered(_) | State::Free => false,
        }
    }

    /// What came of `id`, once; `None` while its client has to wait. With it, whether the slot is free now.
    pub(super) fn collect(&mut self, id: RequestId, waker: &Waker) -> Option<(Outcome, bool)> {
        let entry = self.entry(id)?;
        match std::mem::replace(&mut entry.state, State::Abandoned) {
            State::Waiting { since, .. } => {
                entry.state = State::Waiting { waker: Some(waker.clone()), since };
                None
            }
            State::Answered(message) => {
                self.release(id);
                Some((Outcome::Reply(message), true))
            }
            State::Expired { outcome, held } => {
                if !held {
                    self.release(id);
                }
                Some((outcome, !held))
            }
            other @ (State::Free | State::Abandoned) => {
                entry.state = other;
                None
            }
        }
    }

    /// The client of `id` has gone. `true` when that freed the slot.
    pub(super) fn abandon(&mut self, id: RequestId) -> bool {
        let slots = self.slots.clone();
        let Some(entry) = self.entry(id) else { return false };
        let free = match entry.state {
            State::Waiting { .. } => slots.revoke(id),
            State::Answered(_) => true,
            State::Expired { held, .. } => !held,
            State::Free | State::Abandoned => return false,
        };
        entry.state = State::Abandoned;
        if free {
            self.release(id);
        }
        free
    }

    /// Ends the waiting of clients whose patience is over. `true` while any slot is taken.
    pub(super) fn expire(&mut self, now: u64, patience: Patience) -> bool {
        for (slot, entry) in self.entries.iter_mut().enumerate() {
            let State::Waiting { waker, since } = &mut entry.state else { continue };
            let id = RequestId { slot: slot as u32, generation: entry.generation };
            let waited = now.saturating_sub(*since);
            let outcome = if waited >= patience.total {
                Outcome::Timeout
            } else if waited >= patience.queue && !self.slots.is_running(id) {
                Outcome::QueueTimeout
            } else {
                continue;
            };
            // one that has begun is left to run; its reply is dropped when it comes
            let held = !self.slots.revoke(id);
            if held && outcome == Outcome::QueueTimeout {
                continue;
            }
            let waker = waker.take();
            entry.state = State::Expired { outcome, held };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        self.free.len() < self.entries.len()
    }
}

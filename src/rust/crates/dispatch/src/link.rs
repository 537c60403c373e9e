//! The server's end of a link, as lanes of all kinds use it: slots that name requests, messages that may have to wait
//! for room in the ring, and the bells.
//!
//! A `lane` frees the slot of a request when it knows that the worker will not write it any more.

use crate::wakes::watch;
use bytes::Bytes;
use shm::{Assembler, Bell, RequestId, Sending, ServerEnd, Watched};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

pub(crate) struct Link {
    pub end: ServerEnd,
    assembler: Assembler,
    _watched: Watched,
    /// how often each slot was used
    uses: Vec<u32>,
    free: Vec<u32>,
    /// messages for which the ring has no room yet, oldest first
    backlog: VecDeque<(RequestId, Vec<u8>, Sending)>,
    /// messages written since the worker's bell was rung
    unrung: u32,
}

impl Link {
    /// In the context of the runtime of this thread.
    pub(crate) fn new(end: ServerEnd) -> io::Result<Self> {
        let watched = Watched::new(end.bell.clone())?;
        Ok(Link {
            end,
            assembler: Assembler::with_limit(wire::LONGEST_SAID),
            _watched: watched,
            uses: Vec::new(),
            free: Vec::new(),
            backlog: VecDeque::new(),
            unrung: 0,
        })
    }

    /// Whether a request can be sent at once.
    pub(crate) fn has_room(&self) -> bool {
        !self.has_backlog() && self.has_slot()
    }

    /// Whether messages wait for room in the ring.
    pub(crate) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Whether a request can be sent, now or when the ring has room.
    pub(crate) fn has_slot(&self) -> bool {
        !self.free.is_empty() || self.uses.len() < self.end.slots.len()
    }

    /// The worker sees nothing new, until all of it at once: [`Link::publish`].
    pub(crate) fn hold(&mut self) {
        self.end.requests.hold();
    }

    pub(crate) fn publish(&mut self) {
        self.end.requests.publish();
    }

    /// Sends a request under a name of its own. `None` when there is no slot left.
    pub(crate) fn submit(&mut self, message: &[u8]) -> Option<RequestId> {
        let id = self.slot()?;
        self.end.slots.claim(id);
        self.send(id, message);
        Some(id)
    }

    fn slot(&mut self) -> Option<RequestId> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.uses.len() < self.end.slots.len() => {
                self.uses.push(0);
                self.uses.len() as u32 - 1
            }
            None => return None,
        };
        let generation = &mut self.uses[slot as usize];
        // 0 is skipped: in slot 0 it is the id of messages that belong to no request
        *generation = generation.wrapping_add(1).max(1);
        Some(RequestId { slot, generation: *generation })
    }

    /// Sends a message, in order.
    pub(crate) fn send(&mut self, id: RequestId, message: &[u8]) {
        let mut sending = Sending::default();
        if !self.backlog.is_empty() || !self.end.requests.send(id.to_word(), message, &mut sending) {
            self.backlog.push_back((id, message.to_vec(), sending));
            // a worker that reads says so only now and then
            watch();
        }
        self.unrung += 1;
    }

    /// Answers a command, see `commands`.
    pub(crate) fn answer(&mut self, answer: &[u8]) {
        self.send(RequestId::NOBODY, answer);
    }

    /// Takes a request back, and frees its slot. `false` when the worker has begun with it.
    pub(crate) fn revoke(&mut self, id: RequestId) -> bool {
        if !self.end.slots.revoke(id) {
            return false;
        }
        self.backlog.retain(|(queued, _, sending)| *queued != id || sending.has_started());
        self.free.push(id.slot);
        true
    }

    /// The worker will not write under this name any more, or is not heard if it does.
    pub(crate) fn release(&mut self, id: RequestId) {
        self.end.slots.release(id);
        self.free.push(id.slot);
    }

    /// Whether the worker has begun with a request.
    pub(crate) fn has_begun(&self, id: RequestId) -> bool {
        self.end.slots.is_running(id)
    }

    /// How many messages wait for the bell to be rung.
    pub(crate) fn unrung(&self) -> u32 {
        self.unrung
    }

    /// Writes what had no room, and rings if anything is new. `true` when there is room again, for which requests may
    /// wait.
    pub(crate) fn ring(&mut self) -> bool {
        let had_backlog = self.has_backlog();
        while let Some((id, message, sending)) = self.backlog.front_mut() {
            self.unrung += 1;
            if !self.end.requests.send(id.to_word(), message, sending) {
                break;
            }
            self.backlog.pop_front();
        }
        if self.unrung > 0 {
            self.unrung = 0;
            self.end.worker_bell.ring();
        }
        had_backlog && !self.has_backlog()
    }

    /// Whether the worker has nothing to do: it has seen all that it was rung for, and sleeps.
    pub(crate) fn sleeps(&self) -> bool {
        self.end.worker_bell.is_asleep()
    }

    /// The bell that the worker rings.
    pub(crate) fn bell(&self) -> &Bell {
        &self.end.bell
    }

    /// Whether the worker has said something.
    pub(crate) fn has_news(&self) -> bool {
        !self.end.replies.is_empty()
    }

    /// The next thing that it says.
    pub(crate) fn receive(&mut self) -> Option<(RequestId, Bytes)> {
        self.end
            .replies
            .receive(&mut self.assembler, |word, bytes| (RequestId::from_word(word), Bytes::copy_from_slice(bytes)))
    }

    /// The file of a reply, when it says that there is one. Asked of every reply, wanted or not: it goes when it is
    /// dropped.
    pub(crate) fn file_of(&self, id: RequestId, reply: &[u8]) -> Option<OwnedFd> {
        wire::Reply::has_file(reply).then(|| self.end.files.receive(id)).flatten()
    }

    /// Whether it has written what is no message.
    pub(crate) fn is_broken(&self) -> bool {
        self.end.replies.is_broken()
    }
}

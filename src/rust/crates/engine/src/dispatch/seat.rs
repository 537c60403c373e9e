//! A worker as the dispatcher sees it: its link, and the requests that are with it.
//!
//! ```text
//! assigned: the first runs, the others were handed ahead ──revoke▶ back to the queue
//!     │ reply ▶ free          │ the handler returned without one ▶ later ──reply▶ free
//! ```
//!
//! The slot of a request is freed by its reply, or when it is taken back in time; never while the worker may still write it.

use super::request::Key;
use crate::http::now;
use crate::pool::{Seat, WorkerStats};
use bytes::Bytes;
use rustix::process::{pidfd_send_signal, Signal};
use shm::{Assembler, Bell, RequestId, Sending, ServerEnd, Watched};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A request that the worker has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assigned {
    pub id: RequestId,
    /// its client may have gone since
    pub key: Key,
    /// microseconds that its handler is expected to take; `None` when nothing is known
    pub expected: Option<u32>,
    /// by when it must have been answered, in ms
    pub deadline: u64,
}

/// A signal was sent for this request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interrupted {
    pub id: RequestId,
    /// when the worker is killed unless it has answered, in ms
    pub kill_at: u64,
    /// for its deadline, and not because its client went
    pub late: bool,
    pub killed: bool,
}

/// What a worker said about a request.
pub(super) struct Reply {
    /// `None` when it is not, or not any more, one that it has
    pub request: Option<Assigned>,
    pub message: Bytes,
}

pub(super) struct Placed {
    pub worker: u32,
    pub generation: u32,
    end: ServerEnd,
    assembler: Assembler,
    _watched: Watched,
    process: Option<Arc<OwnedFd>>,
    stats: Arc<WorkerStats>,
    /// how often each slot was used
    uses: Vec<u32>,
    free: Vec<u32>,
    assigned: VecDeque<Assigned>,
    /// requests whose handlers have returned and will answer later
    later: Vec<Assigned>,
    /// messages for which the ring has no room yet, oldest first
    backlog: VecDeque<(RequestId, Vec<u8>, Sending)>,
    /// when the first of `assigned` began, as far as can be told from here
    began: Instant,
    /// requests written since its bell was rung
    unrung: u32,
    /// sum of what is expected of `assigned`, in microseconds, and how many of them nothing is known of
    load: u32,
    pub retiring: bool,
    /// it has just answered the last request that it was meant to
    pub worn: bool,
    pub interrupted: Option<Interrupted>,
    /// the turn in which it was last given a request
    pub last_turn: u64,
}

/// What is expected of a request that nothing is known of: long.
const UNKNOWN: u32 = 1_000_000;

impl Placed {
    /// Takes a seat. In the context of the runtime of this thread.
    pub(super) fn new(seat: Seat) -> io::Result<Self> {
        let watched = Watched::new(seat.end.bell.clone())?;
        seat.stats.last_used_ms.store(now(), Relaxed);
        Ok(Placed {
            worker: seat.worker,
            generation: seat.generation,
            end: seat.end,
            assembler: Assembler::with_limit(wire::LONGEST_REPLY),
            _watched: watched,
            process: seat.process,
            stats: seat.stats,
            uses: Vec::new(),
            free: Vec::new(),
            assigned: VecDeque::new(),
            later: Vec::new(),
            backlog: VecDeque::new(),
            began: Instant::now(),
            unrung: 0,
            load: 0,
            retiring: false,
            worn: false,
            interrupted: None,
            last_turn: 0,
        })
    }

    pub(super) fn assigned(&self) -> &VecDeque<Assigned> {
        &self.assigned
    }

    /// Whether it runs nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.assigned.is_empty()
    }

    /// Whether it has no request in any way.
    pub(super) fn is_empty(&self) -> bool {
        self.assigned.is_empty() && self.later.is_empty()
    }

    /// Whether it may be given requests.
    pub(super) fn is_open(&self) -> bool {
        !self.retiring
            && self.interrupted.is_none()
            && self.backlog.is_empty()
            && (!self.free.is_empty() || self.uses.len() < self.end.slots.len())
    }

    /// Microseconds of work that it is expected to have.
    pub(super) fn load(&self) -> u32 {
        self.load
    }

    /// For how long it has been with what it runs.
    pub(super) fn running_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
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
        // 0 is skipped: the word of slot 0 would be nobody's
        *generation = generation.wrapping_add(1).max(1);
        Some(RequestId { slot, generation: *generation })
    }

    /// Hands it a request. `None` when it has no slot left.
    pub(super) fn assign(
        &mut self,
        key: Key,
        message: &[u8],
        expected: Option<u32>,
        deadline: u64,
    ) -> Option<RequestId> {
        let id = self.slot()?;
        self.end.slots.claim(id);
        let mut sending = Sending::default();
        if !self.backlog.is_empty() || !self.end.requests.send(id.to_word(), message, &mut sending) {
            self.backlog.push_back((id, message.to_vec(), sending));
        }
        if self.assigned.is_empty() {
            self.began = Instant::now();
            self.stats.busy_since_ms.store(now(), Relaxed);
        }
        self.assigned.push_back(Assigned { id, key, expected, deadline });
        self.load = self.load.saturating_add(expected.unwrap_or(UNKNOWN));
        self.unrung += 1;
        self.count_in_flight();
        Some(id)
    }

    fn count_in_flight(&self) {
        self.stats.in_flight.store((self.assigned.len() + self.later.len()) as u64, Relaxed);
    }

    /// How many requests wait for the bell to be rung.
    pub(super) fn unrung(&self) -> u32 {
        self.unrung
    }

    /// Writes what had no room, and rings if anything is new.
    pub(super) fn ring(&mut self) {
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
    }

    /// The bell that it rings.
    pub(super) fn bell(&self) -> &Bell {
        &self.end.bell
    }

    /// Whether it has said something.
    pub(super) fn has_news(&self) -> bool {
        !self.is_empty() && !self.end.replies.is_empty()
    }

    /// Takes back the request at this place of `assigned`. `None` when it has begun.
    pub(super) fn revoke(&mut self, at: usize) -> Option<Assigned> {
        let id = self.assigned.get(at)?.id;
        if !self.end.slots.revoke(id) {
            return None;
        }
        self.backlog.retain(|(queued, _, sending)| *queued != id || sending.has_started());
        let request = self.take(at)?;
        self.free.push(id.slot);
        Some(request)
    }

    fn take(&mut self, at: usize) -> Option<Assigned> {
        let request = self.assigned.remove(at)?;
        self.load = self.load.saturating_sub(request.expected.unwrap_or(UNKNOWN));
        if self.assigned.is_empty() {
            self.load = 0;
            self.stats.busy_since_ms.store(0, Relaxed);
        }
        self.count_in_flight();
        Some(request)
    }

    /// After the last reply that was there.
    pub(super) fn was_used(&self) {
        self.stats.last_used_ms.store(now(), Relaxed);
        self.count_in_flight();
    }

    /// Where a request is in `assigned`.
    pub(super) fn position(&self, id: RequestId) -> Option<usize> {
        self.assigned.iter().position(|a| a.id == id)
    }

    /// Whether its worker has begun with a request.
    pub(super) fn has_begun(&self, id: RequestId) -> bool {
        self.end.slots.is_running(id)
    }

    /// The next reply, as read at `now`.
    pub(super) fn receive(&mut self, now: Instant) -> Option<Reply> {
        loop {
            let (id, message) = self.end.replies.receive(&mut self.assembler, |word, bytes| {
                (RequestId::from_word(word), Bytes::copy_from_slice(bytes))
            })?;
            let found = self.position(id).and_then(|at| self.take(at));
            if found.is_some() {
                self.began = now;
                self.settle_interrupt(id);
            }
            if message.is_empty() {
                // its handler has returned, and will answer later
                self.later.extend(found);
                self.count_in_flight();
                continue;
            }
            let request = found.or_else(|| {
                let at = self.later.iter().position(|a| a.id == id)?;
                Some(self.later.swap_remove(at))
            });
            if request.is_some() {
                self.end.slots.release(id);
                self.free.push(id.slot);
                self.count(&message);
            }
            return Some(Reply { request, message });
        }
    }

    /// Forgets requests that were to be answered later and were not by their deadline: a promise may never come to its end.
    /// A reply that comes after all is nobody's, as its id is not used again.
    pub(super) fn forget_late(&mut self, now: u64) {
        let (slots, free) = (&self.end.slots, &mut self.free);
        self.later.retain(|a| {
            let stays = now < a.deadline;
            if !stays {
                slots.release(a.id);
                free.push(a.id.slot);
            }
            stays
        });
        self.count_in_flight();
    }

    fn settle_interrupt(&mut self, id: RequestId) {
        // one that is late stays marked until the dispatcher has seen it
        if self.interrupted.is_some_and(|i| i.id == id && !i.late) {
            self.interrupted = None;
        }
    }

    fn count(&mut self, message: &[u8]) {
        let (micros, status) = wire::Reply::peek(message);
        self.worn |= self.stats.requests.fetch_add(1, Relaxed) + 1 == self.stats.max_requests.load(Relaxed);
        self.stats.errors.fetch_add(u64::from(status >= 500), Relaxed);
        self.stats.busy_us.fetch_add(u64::from(micros), Relaxed);
    }

    /// Sends an interrupt for what it runs. A worker without a process is left alone.
    pub(super) fn interrupt(&mut self, id: RequestId, kill_at: u64, late: bool) {
        let Some(process) = &self.process else { return };
        if self.assigned.front().is_none_or(|front| front.id != id) {
            return;
        }
        self.end.interrupt.name(id);
        // an error means that it is gone, which is told by other ways
        let _ = pidfd_send_signal(process, Signal::INT);
        self.interrupted = Some(Interrupted { id, kill_at, late, killed: false });
    }

    /// Kills it when it has written what is no reply: nothing that it has can be trusted.
    pub(super) fn kill_if_broken(&mut self) {
        if self.end.replies.is_broken() && !self.retiring {
            self.retiring = true;
            if let Some(process) = &self.process {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        if let (Some(process), Some(interrupted)) = (&self.process, &mut self.interrupted) {
            interrupted.killed = true;
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }

    /// It is dead: all it had, those that it had not begun first.
    pub(super) fn bury(mut self) -> (Vec<Assigned>, Vec<Assigned>) {
        let mut unbegun = Vec::new();
        for at in (0..self.assigned.len()).rev() {
            unbegun.extend(self.revoke(at));
        }
        unbegun.reverse();
        let lost: Vec<_> = self.assigned.drain(..).chain(self.later.drain(..)).collect();
        self.stats.errors.fetch_add(lost.len() as u64, Relaxed);
        self.stats.busy_since_ms.store(0, Relaxed);
        self.stats.in_flight.store(0, Relaxed);
        (unbegun, lost)
    }
}

//! A worker as the dispatcher sees it: its link, and the requests that are with it.
//!
//! ```text
//! assigned: the first runs, the others were handed ahead ──revoke▶ back to the queue
//!     │ reply ▶ free          │ the handler returned without one ▶ later ──reply▶ free
//! ```
//!
//! The slot of a request is freed by its reply, or when it is taken back in time; never while the worker may still write it.
//! What runs here is R, one handler at a time. Handlers in C have a seat beside it: `c_seat`.

use crate::assigned::Assigned;
use crate::c_seat::CSeat;
use crate::line::Line;
use crate::pool::{Runner, Seat, WorkerStats};
use bytes::Bytes;
use exchange::now;
use rustix::process::{pidfd_send_signal, Signal};
use shm::{Bell, RequestId};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A signal was sent for this request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupted {
    pub id: RequestId,
    /// when the worker is killed unless it has answered, in ms
    pub kill_at: u64,
    /// for its deadline, and not because its client went
    pub late: bool,
}

/// What a worker said about a request.
pub(crate) struct Reply {
    /// `None` when it is not, or not any more, one that it has
    pub request: Option<Assigned>,
    pub message: Bytes,
    /// with its body, when that is long
    pub file: Option<OwnedFd>,
}

pub(crate) struct Placed {
    pub worker: u32,
    pub generation: u32,
    pub line: Line,
    /// where its handlers in C are reached, if it has some
    pub c: Option<CSeat>,
    runner: Option<Runner>,
    stats: Arc<WorkerStats>,
    assigned: VecDeque<Assigned>,
    /// requests whose handlers have returned and will answer later
    later: Vec<Assigned>,
    /// when the first of `assigned` began, as far as can be told from here
    began: Instant,
    /// sum of what is expected of `assigned`, in microseconds, and how many of them nothing is known of
    load: u32,
    pub retiring: bool,
    /// it has just answered the last request that it was meant to
    pub worn: bool,
    pub interrupted: Option<Interrupted>,
    pub killed: bool,
    /// the turn in which it was last given a request
    pub last_turn: u64,
}

/// What is expected of a request that nothing is known of: long.
const UNKNOWN: u32 = 1_000_000;

impl Placed {
    /// Takes a seat; its handlers in C have so many threads. In the context of the runtime of this thread.
    pub(crate) fn new(seat: Seat, threads: usize) -> io::Result<Self> {
        seat.stats.last_used_ms.store(now(), Relaxed);
        Ok(Placed {
            worker: seat.worker,
            generation: seat.generation,
            line: Line::new(seat.end)?,
            c: seat.c_end.map(|end| CSeat::new(end, threads)).transpose()?,
            runner: seat.runner,
            stats: seat.stats,
            assigned: VecDeque::new(),
            later: Vec::new(),
            began: Instant::now(),
            load: 0,
            retiring: false,
            worn: false,
            interrupted: None,
            killed: false,
            last_turn: 0,
        })
    }

    pub(crate) fn assigned(&self) -> &VecDeque<Assigned> {
        &self.assigned
    }

    /// Whether it runs no R.
    pub(crate) fn is_idle(&self) -> bool {
        self.assigned.is_empty()
    }

    /// Whether something waits here behind another.
    pub(crate) fn has_ahead(&self) -> bool {
        self.assigned.len() > 1 || self.c.as_ref().is_some_and(CSeat::has_ahead)
    }

    /// Whether it has no request in any way.
    pub(crate) fn is_empty(&self) -> bool {
        self.assigned.is_empty() && self.later.is_empty() && self.c.as_ref().is_none_or(CSeat::is_empty)
    }

    /// Whether any request that it has can become late: a body that is being streamed cannot.
    pub(crate) fn has_deadlines(&self) -> bool {
        !(self.assigned.is_empty() && self.later.is_empty()) || self.c.as_ref().is_some_and(CSeat::has_deadlines)
    }

    /// Whether all that it still has are handlers in C that do not end.
    pub(crate) fn is_only_stuck(&self) -> bool {
        self.assigned.is_empty() && self.later.is_empty() && self.c.as_ref().is_some_and(CSeat::is_only_stuck)
    }

    /// Whether it may be given requests.
    pub(crate) fn is_open(&self) -> bool {
        !self.retiring && self.interrupted.is_none() && self.line.has_room()
    }

    /// Microseconds of work that it is expected to have.
    pub(crate) fn load(&self) -> u32 {
        self.load
    }

    /// For how long it has been with what it runs.
    pub(crate) fn running_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// Hands it a request. `None` when it has no slot left.
    pub(crate) fn assign(&mut self, message: &[u8], request: impl FnOnce(RequestId) -> Assigned) -> Option<RequestId> {
        let id = self.line.submit(message)?;
        if self.assigned.is_empty() {
            self.began = Instant::now();
        }
        let request = request(id);
        self.load = self.load.saturating_add(request.expected.unwrap_or(UNKNOWN));
        self.assigned.push_back(request);
        self.count_in_flight();
        Some(id)
    }

    /// After each change of what is with it.
    pub(crate) fn count_in_flight(&self) {
        let (c, running) = self.c.as_ref().map_or((0, 0), |c| (c.len(), c.running()));
        self.stats.in_flight.store((self.assigned.len() + self.later.len() + c) as u64, Relaxed);
        let busy_since = &self.stats.busy_since_ms;
        if self.assigned.len() + running == 0 {
            busy_since.store(0, Relaxed);
        } else if busy_since.load(Relaxed) == 0 {
            busy_since.store(now(), Relaxed);
        }
    }

    /// Rings for what is new, on both sides.
    pub(crate) fn ring(&mut self) {
        self.line.ring();
        if let Some(c) = &mut self.c {
            c.line.ring();
        }
    }

    /// The bells that its process rings.
    pub(crate) fn bells(&self) -> impl Iterator<Item = &Bell> {
        std::iter::once(self.line.bell()).chain(self.c.as_ref().map(|c| c.line.bell()))
    }

    /// How many requests wait for a bell to be rung.
    pub(crate) fn unrung(&self) -> u32 {
        self.line.unrung() + self.c.as_ref().map_or(0, |c| c.line.unrung())
    }

    /// Whether R has said something.
    pub(crate) fn has_news(&self) -> bool {
        !(self.assigned.is_empty() && self.later.is_empty()) && self.line.has_news()
    }

    /// Takes back the request at this place of `assigned`. `None` when it has begun.
    pub(crate) fn revoke(&mut self, at: usize) -> Option<Assigned> {
        let id = self.assigned.get(at)?.id;
        if !self.line.revoke(id) {
            return None;
        }
        self.take(at)
    }

    fn take(&mut self, at: usize) -> Option<Assigned> {
        let request = self.assigned.remove(at)?;
        self.load = self.load.saturating_sub(request.expected.unwrap_or(UNKNOWN));
        if self.assigned.is_empty() {
            self.load = 0;
        }
        self.count_in_flight();
        Some(request)
    }

    /// After the last reply that was there.
    pub(crate) fn was_used(&self) {
        self.stats.last_used_ms.store(now(), Relaxed);
        self.count_in_flight();
    }

    /// Where a request is in `assigned`.
    pub(crate) fn position(&self, id: RequestId) -> Option<usize> {
        self.assigned.iter().position(|a| a.id == id)
    }

    /// Whether its worker has begun with a request.
    pub(crate) fn has_begun(&self, id: RequestId) -> bool {
        self.line.has_begun(id)
    }

    /// The next thing that it says, read at `now`: a reply, or what is none, of no request.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Reply> {
        let (id, message) = self.line.receive()?;
        let found = self.position(id).and_then(|at| self.take(at));
        if found.is_some() {
            self.began = now;
            self.settle_interrupt(id);
        }
        if message.is_empty() {
            // its handler has returned, and will answer later
            self.later.extend(found);
            self.count_in_flight();
            return Some(Reply { request: None, message, file: None });
        }
        let request = found.or_else(|| {
            let at = self.later.iter().position(|a| a.id == id)?;
            Some(self.later.swap_remove(at))
        });
        if request.is_some() {
            self.line.release(id);
            let (micros, status) = wire::Reply::peek(&message);
            self.count(micros, status);
        }
        let file = self.line.file_of(id, &message);
        Some(Reply { request, message, file })
    }

    /// Forgets requests that were to be answered later and were not by their deadline: a promise may never come to its end.
    /// A reply that comes after all is nobody's, as its id is not used again.
    pub(crate) fn forget_late(&mut self, now: u64) {
        if self.later.is_empty() {
            return;
        }
        let line = &mut self.line;
        self.later.retain(|a| {
            let stays = now < a.deadline;
            if !stays {
                line.release(a.id);
            }
            stays
        });
        self.count_in_flight();
    }

    /// It has answered one more request.
    pub(crate) fn count(&mut self, micros: u32, status: u32) {
        self.worn |= self.stats.count(micros, status);
    }

    /// The end of what was counted when it began.
    pub(crate) fn count_end(&self, micros: u32) {
        self.stats.busy_us.fetch_add(u64::from(micros), Relaxed);
    }

    fn settle_interrupt(&mut self, id: RequestId) {
        // one that is late stays marked until the dispatcher has seen it
        if self.interrupted.is_some_and(|i| i.id == id && !i.late) {
            self.interrupted = None;
        }
    }

    /// Sends an interrupt for what it runs.
    pub(crate) fn interrupt(&mut self, id: RequestId, kill_at: u64, late: bool) {
        if self.assigned.front().is_none_or(|front| front.id != id) {
            return;
        }
        match &self.runner {
            None => {}
            Some(Runner::Process(process)) => {
                self.line.end.interrupt.name(id);
                // an error means that it is gone, which is told by other ways
                let _ = pidfd_send_signal(process, Signal::INT);
                self.interrupted = Some(Interrupted { id, kill_at, late });
            }
            Some(Runner::Thread(look)) if !late => {
                self.line.end.interrupt.name(id);
                look();
            }
            Some(Runner::Thread(_)) => {}
        }
    }

    /// Kills it when it has written what is no reply: nothing that it has can be trusted.
    pub(crate) fn kill_if_broken(&mut self) {
        let broken = self.line.is_broken() || self.c.as_ref().is_some_and(CSeat::is_broken);
        if broken && !self.retiring {
            self.retiring = true;
            self.kill();
        }
    }

    /// Kills it, once.
    pub(crate) fn kill(&mut self) {
        if let Some(Runner::Process(process)) = self.runner.as_ref().filter(|_| !self.killed) {
            self.killed = true;
            // an error means that it is gone, which is told by other ways
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }

    /// It is dead: all it had, those that it had not begun first.
    pub(crate) fn bury(mut self) -> (Vec<Assigned>, Vec<Assigned>) {
        let mut unbegun = Vec::new();
        for at in (0..self.assigned.len()).rev() {
            unbegun.extend(self.revoke(at));
        }
        unbegun.reverse();
        let mut lost: Vec<_> = self.assigned.drain(..).chain(self.later.drain(..)).collect();
        if let Some(mut c) = self.c.take() {
            unbegun.extend(c.revoke_unbegun(0));
            lost.extend(c.bury());
        }
        self.stats.errors.fetch_add(lost.len() as u64, Relaxed);
        self.stats.busy_since_ms.store(0, Relaxed);
        self.stats.in_flight.store(0, Relaxed);
        (unbegun, lost)
    }
}

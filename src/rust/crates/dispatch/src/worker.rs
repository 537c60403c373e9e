//! A worker as the dispatcher sees it: its lanes, one of R and, in a process with C handlers, one of those beside it;
//! and what is known of the process.

use crate::assigned::Assigned;
use crate::crew::Crew;
use crate::lane::Lane;
use crate::owner::Owner;
use crate::pool::{Runner, Seat, WorkerStats};
use crate::request::Key;
use crate::runs::{Of, Runs};
use exchange::now;
use rustix::process::{pidfd_send_signal, Signal};
use shm::{Bell, RequestId};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// A signal was sent for this request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupted {
    pub id: RequestId,
    /// names it in the log
    pub request: u64,
    /// when the worker is killed unless it has answered, in ms
    pub kill_at: u64,
    /// for its deadline, and not because its client went
    pub late: bool,
}

/// See the module.
pub(crate) struct Worker {
    pub worker: u32,
    pub crew: Crew,
    r: Lane,
    /// where its C handlers are reached, if it has some
    c: Option<Lane>,
    /// requests that no other worker may have, and that wait for R
    pub bound: VecDeque<Key>,
    /// whether these go first when R is free
    pub bound_is_next: bool,
    runner: Option<Runner>,
    stats: Arc<WorkerStats>,
    pub retiring: bool,
    /// by order, and not because another app has taken over
    pub dismissed: bool,
    /// it has just answered the last request that it was meant to
    pub worn: bool,
    pub interrupted: Option<Interrupted>,
    pub killed: bool,
    /// the turn in which it was last given a request
    pub last_turn: u64,
}

impl Worker {
    /// Takes a seat; C handlers have `threads` threads, and R has up to `max_async` promises under way. In the context
    /// of the runtime of this thread.
    pub(crate) fn new(seat: Seat, threads: usize, max_async: usize) -> io::Result<Self> {
        seat.stats.last_used_ms.store(now(), Relaxed);
        Ok(Worker {
            worker: seat.worker,
            crew: seat.crew(),
            r: Lane::of_r(seat.end, max_async)?,
            c: seat.c_end.map(|end| Lane::new(end, threads)).transpose()?,
            bound: VecDeque::new(),
            bound_is_next: false,
            runner: seat.runner,
            stats: seat.stats,
            retiring: false,
            dismissed: false,
            worn: false,
            interrupted: None,
            killed: false,
            last_turn: 1,
        })
    }

    /// A lane, if it has that.
    pub(crate) fn lane(&self, of: Of) -> Option<&Lane> {
        match of {
            Of::R => Some(&self.r),
            Of::C => self.c.as_ref(),
        }
    }

    /// The same, to change it.
    pub(crate) fn lane_mut(&mut self, of: Of) -> Option<&mut Lane> {
        match of {
            Of::R => Some(&mut self.r),
            Of::C => self.c.as_mut(),
        }
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.r).chain(&self.c)
    }

    fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.r).chain(&mut self.c)
    }

    /// Threads of its C handlers.
    pub(crate) fn threads(&self) -> usize {
        self.c.as_ref().map_or(0, |c| c.width)
    }

    /// The streams of R that have no end of their own are to end.
    pub(crate) fn drain_streams(&mut self) {
        self.r.drain();
    }

    /// Whether it runs no R.
    pub(crate) fn is_idle(&self) -> bool {
        self.r.running() == 0
    }

    /// Whether something waits here behind others.
    pub(crate) fn has_ahead(&self) -> bool {
        self.lanes().any(Lane::has_ahead)
    }

    /// Whether R is known to have other things to do between requests.
    pub(crate) fn works_between(&self) -> bool {
        self.r.works_between()
    }

    /// Whether R has begun none of the requests that it was given.
    pub(crate) fn has_begun_nothing(&self) -> bool {
        self.r.has_begun_nothing()
    }

    /// Whether it has said something.
    pub(crate) fn has_news(&self) -> bool {
        self.lanes().any(Lane::has_news)
    }

    /// Whether it has no request in any way.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes().all(Lane::is_empty) && self.bound.is_empty()
    }

    /// Whether any request that it has can become late: a body that is being streamed cannot.
    pub(crate) fn has_deadlines(&self) -> bool {
        self.lanes().any(Lane::has_deadlines)
    }

    /// Whether all that it still has are C handlers that do not end.
    pub(crate) fn is_only_stuck(&self) -> bool {
        self.r.is_empty() && self.bound.is_empty() && self.c.as_ref().is_some_and(Lane::is_only_stuck)
    }

    /// The lane for what runs so, if it may be given requests.
    pub(crate) fn open(&self, runs: Runs) -> Option<&Lane> {
        let is_open = !self.retiring && (runs != Runs::R || self.interrupted.is_none());
        self.lane(runs.into()).filter(|lane| is_open && lane.room() > 0 && lane.link.has_room())
    }

    /// After each change of what is with it.
    pub(crate) fn count_in_flight(&self) {
        self.stats.in_flight.store(self.lanes().map(Lane::len).sum::<usize>() as u64, Relaxed);
        self.stats.promises.store(self.r.awaited() as u64, Relaxed);
        let busy_since = &self.stats.busy_since_ms;
        if self.lanes().all(|lane| lane.running() == 0) {
            busy_since.store(0, Relaxed);
        } else if busy_since.load(Relaxed) == 0 {
            busy_since.store(now(), Relaxed);
        }
    }

    /// Rings for what is new, on both sides. `true` when one has room again.
    pub(crate) fn ring(&mut self) -> bool {
        self.lanes_mut().fold(false, |has_room, lane| lane.link.ring() | has_room)
    }

    /// Whether messages to it wait for room.
    pub(crate) fn has_backlog(&self) -> bool {
        self.lanes().any(|lane| lane.link.has_backlog())
    }

    /// The bells that its process rings.
    pub(crate) fn bells(&self) -> impl Iterator<Item = &Bell> {
        self.lanes().map(|lane| lane.link.bell())
    }

    /// How many requests wait for a bell to be rung.
    pub(crate) fn unrung(&self) -> u32 {
        self.lanes().map(|lane| lane.link.unrung()).sum()
    }

    /// After the last reply that was there.
    pub(crate) fn was_used(&self) {
        self.stats.last_used_ms.store(now(), Relaxed);
        self.count_in_flight();
    }

    /// Forgets requests that were to be answered later and were not by their deadline. Whether there were any.
    pub(crate) fn forget_late(&mut self, now: u64) -> bool {
        let mut forgot = false;
        for lane in self.lanes_mut() {
            forgot |= lane.forget_late(now);
        }
        self.count_in_flight();
        forgot
    }

    /// It has answered one more request.
    pub(crate) fn count(&mut self, micros: u32, status: u32) {
        self.worn |= self.stats.count(micros, status);
    }

    /// The end of what was counted when it began.
    pub(crate) fn count_end(&self, micros: u32) {
        self.stats.busy_us.fetch_add(u64::from(micros), Relaxed);
    }

    /// The request that it was interrupted for, at a deadline, once that has ended. One for a client that has gone is
    /// forgotten with its request.
    pub(crate) fn has_heeded(&mut self) -> Option<u64> {
        let over = self.interrupted.filter(|i| !self.r.runs(i.id))?;
        self.interrupted = None;
        over.late.then_some(over.request)
    }

    /// Its process, as the log names it.
    pub(crate) fn pid(&self) -> Option<i32> {
        match self.runner {
            Some(Runner::Process { pid, .. }) => Some(pid),
            _ => None,
        }
    }

    /// Whether it has ever had a session of a visitor.
    pub(crate) fn had_session(&self) -> bool {
        self.stats.had_session.load(Relaxed)
    }

    /// It has one now.
    pub(crate) fn has_session(&self) {
        self.stats.had_session.store(true, Relaxed);
    }

    /// How connections name it that are its own.
    pub(crate) fn owner(&self) -> Owner {
        self.pid().map_or(Owner::Session(self.crew.generation), Owner::Process)
    }

    /// Sends an interrupt for what it runs.
    pub(crate) fn interrupt(&mut self, id: RequestId, kill_at: u64, late: bool) {
        let Some(request) = self.r.running_request(id) else { return };
        match &self.runner {
            None => {}
            Some(Runner::Process { fd, .. }) => {
                self.r.link.end.interrupt.name(id);
                // an error means that it is gone, which is told by other ways
                let _ = pidfd_send_signal(fd, Signal::INT);
                self.interrupted = Some(Interrupted { id, request, kill_at, late });
            }
            Some(Runner::Thread(look)) if !late => {
                self.r.link.end.interrupt.name(id);
                look();
            }
            Some(Runner::Thread(_)) => {}
        }
    }

    /// Kills it when it has written what is no reply: nothing that it has can be trusted.
    pub(crate) fn kill_if_broken(&mut self) {
        let broken = self.lanes().any(Lane::is_broken);
        if broken && !self.retiring {
            self.retiring = true;
            self.kill();
        }
    }

    /// Kills it, once.
    pub(crate) fn kill(&mut self) {
        if let Some(Runner::Process { fd, .. }) = self.runner.as_ref().filter(|_| !self.killed) {
            self.killed = true;
            // an error means that it is gone, which is told by other ways
            let _ = pidfd_send_signal(fd, Signal::KILL);
        }
    }

    /// It is dead: what it had not begun, and what it had begun with.
    pub(crate) fn into_requests(self) -> (Vec<Assigned>, Vec<Assigned>) {
        let (mut unbegun, mut lost) = (Vec::new(), Vec::new());
        for lane in std::iter::once(self.r).chain(self.c) {
            let (of_lane, begun) = lane.into_requests();
            unbegun.extend(of_lane);
            lost.extend(begun);
        }
        self.stats.errors.fetch_add(lost.len() as u64, Relaxed);
        self.stats.busy_since_ms.store(0, Relaxed);
        self.stats.in_flight.store(0, Relaxed);
        self.stats.promises.store(0, Relaxed);
        (unbegun, lost)
    }
}

//! Workers: what they say, and how they come and go.

use super::Dispatcher;
use crate::assigned::Assigned;
use crate::commands::Later;
use crate::crew::MOST_POOLS;
use crate::generation::{Generation, Line};
use crate::lane::{Lane, Said};
use crate::outcome::Outcome;
use crate::pool::{PoolEvent, Seat};
use crate::runs::{Of, Runs};
use crate::stream::Stream;
use crate::submission::Post;
use crate::wakes::read_on;
use crate::worker::Worker;
use bytes::Bytes;
use observe::Level;
use std::mem;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use wire::task::Task;

/// What is read from one worker in a turn, in bytes, and what a message counts beside its own: far more than a turn of
/// a worker that only answers comes to, so that one that writes without end gets no more of the thread than others.
pub(super) const READ_AT_ONCE: usize = 512 << 10;
pub(super) const MESSAGE: usize = 256;
/// The ring of a dead worker is empty after this many turns, unless another process still writes to it.
const LAST_TURNS: usize = 64;

impl Dispatcher {
    /// Reads the replies that are there, and gives the workers that are free their next requests. `true` if there was
    /// any.
    pub(crate) fn drain(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.workers.capacity() {
            for of in [Of::R, Of::C] {
                let lane = self.workers.get(at).and_then(|worker| worker.lane(of));
                if lane.is_some_and(Lane::has_news) {
                    any = true;
                    self.read(at, of);
                    self.freed(at, of);
                }
            }
        }
        self.go_on_with_tasks() | any
    }

    fn read(&mut self, at: usize, of: Of) {
        let now = Instant::now();
        let mut left = READ_AT_ONCE;
        while left > 0 {
            let Some((len, said)) = self.workers[at].lane_mut(of).and_then(|lane| lane.receive(now)) else { break };
            left = left.saturating_sub(MESSAGE + len);
            match said {
                Said::Aside => {}
                Said::Command(command) => self.execute_for_worker(at, of, command),
                Said::Notice(key, notice) => self.notice(key, notice),
                Said::Later(key) if of == Of::R => self.is_promised(key),
                Said::Later(_) => {}
                Said::Reply { request, message, file } => {
                    let Some(request) = request else { continue };
                    let (micros, status) = wire::Reply::peek(&message);
                    self.workers[at].count(micros, status);
                    self.took(at, request.route, micros);
                    self.may_begin_session(at, request.key, status);
                    self.settle(request.key, Outcome::Reply(message, file, self.workers[at].pid()));
                }
                Said::Head { request, message } => self.begin_stream(at, of, request, message),
                Said::End { request, micros } => {
                    self.workers[at].count_end(micros);
                    // R was free again when the head came
                    if of == Of::C {
                        self.took(at, request.route, micros);
                    }
                }
            }
        }
        self.workers[at].was_used();
        self.workers[at].kill_if_broken();
        if left == 0 {
            read_on();
        }
    }

    fn execute_for_worker(&mut self, at: usize, of: Of, command: Bytes) {
        if Task::is_one(&command) {
            return self.ask_for_task(at, of, command);
        }
        let (worker, post) = (self.workers[at].worker, &self.post);
        let later = || -> Later {
            let post = post.clone();
            // a dispatcher that has ended has no workers
            Box::new(move |message| drop(post.send(Post::Answer { worker, of, message })))
        };
        let answer = self.commands.execute(command, &later);
        if let Some((answer, lane)) = answer.zip(self.workers[at].lane_mut(of)) {
            lane.link.answer(&answer);
        }
    }

    /// A response whose body comes piece by piece has begun. A client that has gone leaves the pipe at once, and that
    /// is posted.
    fn begin_stream(&mut self, at: usize, of: Of, request: Assigned, head: Bytes) {
        let (micros, status) = wire::Reply::peek(&head);
        if of == Of::R {
            self.took(at, request.route, micros);
        }
        let worker = &mut self.workers[at];
        let is_to_end =
            self.draining || worker.retiring || self.generations.iter().any(|g| g.crew == worker.crew && g.closing);
        worker.count(micros, status);
        let (stream, reader) = Stream::new(worker.worker, of, request.id, self.post.clone());
        let Some(lane) = worker.lane_mut(of) else { return };
        lane.begin(request.id, stream);
        if is_to_end && of == Of::R {
            lane.drain_stream(request.id);
        }
        self.settle(request.key, Outcome::Stream(head, reader));
    }

    fn took(&mut self, at: usize, route: u32, micros: u32) {
        self.paces(self.workers[at].crew, |paces| paces.took(route, micros));
    }

    /// A lane of a worker may have become free.
    pub(super) fn freed(&mut self, at: usize, of: Of) {
        let worker = &mut self.workers[at];
        if let Some(request) = worker.has_heeded() {
            let _ = self.shared.events.send(PoolEvent::Late { worker: worker.worker, request });
        }
        let crew = worker.crew;
        self.report_worn(at);
        if let Some(g) = self.index(crew) {
            match of {
                Of::R => {
                    self.pump_in_turn(at, g);
                    let waiting = |line| self.generations[g].waiting(line).len();
                    let none_waits = [Line::Of(Runs::R), Line::Short].map(waiting) == [0, 0];
                    if none_waits && self.workers[at].is_idle() {
                        self.take_back(Instant::now());
                    }
                }
                Of::C => {
                    self.pump(g, Line::Of(Runs::Inline));
                    self.pump(g, Line::Of(Runs::Pool));
                }
            }
        }
        self.release_retired();
    }

    fn report_worn(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if mem::take(&mut worker.worn) {
            let _ = self.shared.events.send(PoolEvent::Worn(worker.worker));
        }
    }

    /// Releases workers that are to be given nothing more and have nothing left, and of generations without any.
    pub(crate) fn release_retired(&mut self) {
        if !self.workers.iter().any(|(_, s)| s.retiring) && !self.generations.iter().any(Generation::is_over) {
            return;
        }
        for (_, worker) in &mut self.workers {
            worker.retiring |= self.generations.iter().any(|g| g.crew == worker.crew && g.is_over());
            // what will never be answered keeps no process that is to end
            if worker.retiring && !worker.killed && worker.is_only_stuck() {
                let _ = self.shared.events.send(PoolEvent::GivenUp(worker.worker));
                worker.kill();
            }
        }
        let free: Vec<usize> = self
            .workers
            .iter()
            .filter(|(_, s)| s.retiring && s.is_empty() && !self.is_visited(s))
            .map(|(at, _)| at)
            .collect();
        for at in free {
            let worker = self.workers.remove(at);
            self.commands.has_left(worker.owner());
            let _ = self.shared.events.send(PoolEvent::Retired(worker.worker));
        }
        let (workers, events) = (&self.workers, &self.shared.events);
        self.generations.retain(|g| {
            let stays = !g.is_over() || workers.iter().any(|(_, s)| s.crew == g.crew);
            if !stays {
                let _ = events.send(PoolEvent::Drained { generation: g.crew.generation, pool: g.crew.pool });
            }
            stays
        });
        self.count_workers();
    }

    /// Whether visitors go on in a worker whose app another has taken the place of, until they leave. A session, which
    /// is a process, has the other app by then.
    fn is_visited(&self, worker: &Worker) -> bool {
        let goes_on = !self.draining && !worker.dismissed && !worker.killed && worker.pid().is_some();
        goes_on && self.commands.sessions_of(worker.owner()) > 0
    }

    pub(super) fn count_workers(&self) {
        let threads: usize = self.workers.iter().map(|(_, worker)| worker.threads()).sum();
        self.shared.ready.store(self.workers.len(), Relaxed);
        for pool in 0..MOST_POOLS as u8 {
            let ready = self.workers.iter().filter(|(_, worker)| worker.crew.pool == pool).count();
            self.shared.of(pool).ready.store(ready, Relaxed);
        }
        self.shared.most.store(self.max_queue + self.workers.len().max(1) + threads + self.promised, Relaxed);
    }

    pub(super) fn find(&self, worker: u32) -> Option<usize> {
        self.workers.iter().find(|(_, s)| s.worker == worker).map(|(at, _)| at)
    }

    pub(super) fn attach(&mut self, seat: Seat) {
        let (worker, crew) = (seat.worker, seat.crew());
        if self.index(crew).is_none() {
            // its generation has ended while it started
            let _ = self.shared.events.send(PoolEvent::Retired(worker));
            return;
        }
        match Worker::new(seat, self.shared.cpp_workers, self.max_async) {
            Ok(worker) => {
                self.workers.insert(worker);
                self.count_workers();
                if let Some(g) = self.index(crew) {
                    self.pump_all(g);
                    self.take_back(Instant::now());
                }
                self.release_retired();
            }
            Err(e) => {
                self.log.line(Level::Error, &format!("worker {worker} cannot be watched: {e}"));
                let _ = self.shared.events.send(PoolEvent::Retired(worker));
            }
        }
    }

    pub(super) fn retire(&mut self, worker: u32) {
        let Some(at) = self.find(worker) else { return };
        let worker = &mut self.workers[at];
        let crew = worker.crew;
        (worker.retiring, worker.dismissed) = (true, true);
        worker.drain_streams();
        for of in [Of::R, Of::C] {
            let lane = self.workers[at].lane_mut(of);
            let back = lane.map(|lane| lane.revoke_unbegun(0)).unwrap_or_default();
            self.requeue(&back);
        }
        // before it is released: others may be free for what it had not begun
        if let Some(g) = self.index(crew) {
            self.pump_all(g);
        }
        self.workers[at].count_in_flight();
        self.report_worn(at);
        self.release_retired();
    }

    pub(super) fn gone(&mut self, worker: u32) {
        let Some(at) = self.find(worker) else { return };
        // what it has answered counts
        for _ in 0..LAST_TURNS {
            self.read(at, Of::R);
            self.read(at, Of::C);
            if !self.workers[at].has_news() {
                break;
            }
        }
        let mut worker = self.workers.remove(at);
        let (crew, pid) = (worker.crew, worker.pid());
        self.commands.has_left(worker.owner());
        self.settle_bound(mem::take(&mut worker.bound));
        self.tasks.end_with_worker(worker.worker);
        let (unbegun, lost) = worker.into_requests();
        self.requeue(&unbegun);
        for assigned in lost {
            self.settle(assigned.key, Outcome::WorkerDied(pid));
        }
        if let Some(g) = self.index(crew) {
            self.pump_all(g);
            self.fail_orphans(g);
        }
        self.release_retired();
        self.count_workers();
    }

    /// An old generation whose last worker has died gets no new one: what waits for it is told to come again.
    pub(super) fn fail_orphans(&mut self, g: usize) {
        let generation = &self.generations[g];
        if generation.closing && !self.workers.iter().any(|(_, s)| s.crew == generation.crew) {
            for key in self.generations[g].take_all() {
                self.settle(key, Outcome::Stale);
            }
            self.count_waiting();
        }
    }
}

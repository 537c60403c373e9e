//! The one queue: requests of all I/O threads, and the workers that they go to. It lives in one I/O thread, the home,
//! and is only touched there; other threads post to it.
//!
//! What becomes of a request:
//! ```text
//! waiting ─▶ with a worker ─reply▶ answered ─▶ collected by its client
//!    ▲             │ taken back, or the worker died before it began
//!    └─────────────┘          └ died after: 502
//! ```
//! Neighbours: `choose` says which worker, `check` looks at clocks, `worker` is one worker, `lane` what runs there,
//! `request` one request.

use crate::assigned::Assigned;
use crate::choose::choose;
use crate::commands::Commands;
use crate::generation::Generation;
use crate::lane::{Lane, Said};
use crate::outcome::Outcome;
use crate::pool::{PoolEvent, PoolOrder, Seat, Shared, NOBODY};
use crate::request::{Entries, Key, Place, Waiter};
use crate::runs::{Of, Runs};
use crate::stream::Stream;
use crate::submission::{Post, Submission};
use crate::tasks::Tasks;
use crate::wakes::{read_on, watch};
use crate::worker::Worker;
use admission::{ms, ms_or_never, Limits};
use bytes::Bytes;
use exchange::now;
use observe::{Level, Log};
use shm::Bell;
use slab::Slab;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;
use wire::task::Task;

/// Ring a worker's bell after this many requests, even in the middle of a turn, so that it works alongside.
const RING_AFTER: u32 = 64;

/// What is read from one worker in a turn, in bytes, and what a message counts beside its own: far more than a turn of
/// a worker that only answers comes to, so that one that writes without end gets no more of the thread than others.
const READ_AT_ONCE: usize = 512 << 10;
const MESSAGE: usize = 256;
/// The ring of a worker that has died is empty after so many turns, unless somebody still writes to it.
const LAST_TURNS: usize = 64;

/// Which worker a request gets, and how many microseconds it is expected to take there.
#[derive(Clone, Copy)]
struct Choice {
    at: usize,
    expected: Option<u32>,
}

/// See the module.
pub struct Dispatcher {
    pub(crate) shared: Arc<Shared>,
    pub(crate) entries: Entries,
    pub(crate) generations: Vec<Generation>,
    pub(crate) workers: Slab<Worker>,
    /// requests of other threads, by the numbers that they gave
    numbers: HashMap<u64, Key>,
    turn: u64,
    log: Log,
    /// carries out what workers say beside requests
    commands: Arc<dyn Commands>,
    pub(crate) tasks: Tasks,
    max_queue: usize,
    max_async: usize,
    /// promises that clients wait for
    promised: usize,
    pub(crate) queue_timeout: u64,
    pub(crate) kill_after: u64,
    /// the server is to end
    draining: bool,
    /// when to look for requests of R to itself, in ms
    pub(crate) own_at: u64,
    /// to itself, from wherever a streamed body is read
    post: UnboundedSender<Post>,
    /// has the clocks looked at often: requests are out
    watch_closely: fn(),
}

impl Dispatcher {
    /// Without any worker.
    pub fn new(
        shared: Arc<Shared>,
        limits: &Limits,
        log: Log,
        commands: Arc<dyn Commands>,
        post: UnboundedSender<Post>,
        watch_closely: fn(),
    ) -> Self {
        Dispatcher {
            shared,
            entries: Entries::default(),
            generations: Vec::new(),
            workers: Slab::new(),
            numbers: HashMap::new(),
            turn: 0,
            log,
            commands,
            tasks: Tasks::default(),
            max_queue: limits.max_queue,
            max_async: limits.max_async,
            promised: 0,
            queue_timeout: ms_or_never(limits.queue_timeout),
            kill_after: ms(limits.kill_after),
            draining: false,
            own_at: 0,
            post,
            watch_closely,
        }
    }

    // ---- requests ------------------------------------------------------------------------------------------------

    /// Takes a request of this thread, whose message `encode` writes. It counts as outstanding already.
    pub(crate) fn submit(&mut self, submission: Submission, encode: impl FnOnce(&mut Vec<u8>)) -> Key {
        let mut message = self.entries.buffer();
        encode(&mut message);
        self.enter(submission, message, Waiter::Here(None))
    }

    fn enter(&mut self, submission: Submission, message: Vec<u8>, waiter: Waiter) -> Key {
        let key = self.entries.add(submission, message, now(), waiter);
        if let Some(process) = submission.process {
            self.hand_to(key, submission, process);
            return key;
        }
        let Some(g) = self.index(submission.generation).filter(|&g| !self.generations[g].closing) else {
            self.settle(key, Outcome::Stale);
            return key;
        };
        let first = self.generations[g].waiting(submission.runs).is_empty();
        match if first { self.worker_for(g, submission) } else { None } {
            Some(choice) => self.hand_and_ring(key, choice),
            None => {
                self.generations[g].waiting(submission.runs).push(submission.from, key);
                self.count_waiting();
                watch();
            }
        }
        key
    }

    fn hand_and_ring(&mut self, key: Key, choice: Choice) {
        self.hand(key, choice);
        if self.workers[choice.at].unrung() >= RING_AFTER {
            self.ring();
            self.drain();
        }
    }

    /// Where a generation is among those that there are.
    fn index(&self, generation: u32) -> Option<usize> {
        self.generations.iter().position(|g| g.id == generation)
    }

    fn worker_for(&self, g: usize, submission: Submission) -> Option<Choice> {
        let generation = &self.generations[g];
        let expected = generation.expected(submission.route);
        let at = choose(&self.workers, generation.id, submission.runs, expected)?;
        Some(Choice { at, expected })
    }

    fn hand(&mut self, key: Key, Choice { at, expected }: Choice) {
        let has_choice = self.has_choice();
        let Some(entry) = self.entries.get(key) else { return };
        if entry.submission.times_handler {
            entry.handed = now();
        }
        self.turn += 1;
        let worker = &mut self.workers[at];
        worker.last_turn = self.turn;
        let (route, runs, deadline) = (entry.submission.route, entry.submission.runs, entry.deadline());
        let name = entry.submission.request;
        let is_bound = entry.submission.process.is_some() || matches!(entry.waiter, Waiter::Nobody);
        let request = |id| Assigned { id, request: name, key, route, expected, deadline, is_bound };
        // only workers that have one are chosen
        let Some(lane) = worker.lane_mut(runs.into()) else { return };
        if let Some(id) = lane.assign(&entry.message, runs, self.kill_after, request) {
            entry.place = Place::Lane(at, runs.into(), id);
        }
        // R that sleeps begins, or is seen not to by `expire`: a clock for each request would cost too much
        if lane.has_ahead() || (has_choice && !lane.sleeps() && lane.has_begun_nothing()) {
            watch();
        }
        worker.count_in_flight();
    }

    /// Hands out what waits for these handlers, as long as there is a worker for it.
    fn pump(&mut self, g: usize, runs: Runs) {
        if self.generations[g].waiting(runs).is_empty() {
            return;
        }
        while let Some(key) = self.generations[g].waiting(runs).front() {
            let live = self.entries.get(key).filter(|e| !matches!(e.waiter, Waiter::Answered(_)));
            if let Some(submission) = live.map(|e| e.submission) {
                let Some(choice) = self.worker_for(g, submission) else { break };
                self.hand(key, choice);
            }
            self.generations[g].waiting(runs).pop();
        }
        self.count_waiting();
    }

    /// The same for all that waits.
    pub(crate) fn pump_all(&mut self, g: usize) {
        for runs in [Runs::R, Runs::Inline, Runs::Pool] {
            self.pump(g, runs);
        }
    }

    fn count_waiting(&self) {
        let waiting = self.generations.iter().map(Generation::waits).sum();
        self.shared.waiting.store(waiting, Relaxed);
        if waiting == 0 {
            self.shared.longest.store(NOBODY, Relaxed);
        }
    }

    /// Puts requests that a worker gave back before all that wait.
    pub(crate) fn requeue(&mut self, back: &[Assigned]) {
        for assigned in back.iter().rev() {
            let Some(entry) = self.entries.get(assigned.key) else { continue };
            entry.place = Place::Queue;
            let Submission { generation, runs, .. } = entry.submission;
            if let Some(g) = self.generations.iter_mut().find(|g| g.id == generation) {
                g.waiting(runs).give_back(assigned.key);
            }
        }
        self.count_waiting();
        watch();
    }

    /// Gives a request its outcome, and wakes who waits for it.
    pub(crate) fn settle(&mut self, key: Key, outcome: Outcome) {
        let Some(entry) = self.entries.get(key) else { return };
        let (counts, promised) = (entry.submission.counts, entry.promised);
        match std::mem::replace(&mut entry.waiter, Waiter::Here(None)) {
            Waiter::Here(waker) => {
                entry.waiter = Waiter::Answered(outcome);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            Waiter::Elsewhere(number, client) => {
                // a client that has gone has posted so, too
                let _ = client.send(outcome);
                self.numbers.remove(&number);
                self.entries.remove(key);
            }
            Waiter::Worker(asker) => {
                self.entries.remove(key);
                self.task_came(key, &asker, outcome);
            }
            Waiter::Nobody => drop(self.entries.remove(key)),
            answered @ Waiter::Answered(_) => {
                entry.waiter = answered;
                return;
            }
        }
        self.tasks.end_with(key);
        self.is_out_no_more(counts, promised);
    }

    /// What came of a request of this thread, once.
    pub(crate) fn collect(&mut self, key: Key, waker: &Waker) -> Option<Outcome> {
        let entry = self.entries.get(key)?;
        match &mut entry.waiter {
            Waiter::Here(waiting) => {
                if !waiting.as_ref().is_some_and(|w| w.will_wake(waker)) {
                    *waiting = Some(waker.clone());
                }
                None
            }
            Waiter::Answered(_) => match self.entries.remove(key)?.waiter {
                Waiter::Answered(outcome) => Some(outcome),
                _ => None,
            },
            Waiter::Elsewhere(..) | Waiter::Worker(_) | Waiter::Nobody => None,
        }
    }

    // ---- workers -------------------------------------------------------------------------------------------------

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
                Said::Later(key) if of == Of::R => self.is_promised(key),
                Said::Later(_) => {}
                Said::Reply { request, message, file } => {
                    let Some(request) = request else { continue };
                    let (micros, status) = wire::Reply::peek(&message);
                    self.workers[at].count(micros, status);
                    self.took(at, request.route, micros);
                    self.settle(request.key, Outcome::Reply(message, file));
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
        let answer = self.commands.execute(command);
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
            self.draining || worker.retiring || self.generations.iter().any(|g| g.id == worker.generation && g.closing);
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
        if let Some(g) = self.index(self.workers[at].generation) {
            self.generations[g].took(route, micros);
        }
    }

    /// A lane of a worker may have become free.
    fn freed(&mut self, at: usize, of: Of) {
        let worker = &mut self.workers[at];
        if let Some(request) = worker.has_heeded() {
            let _ = self.shared.events.send(PoolEvent::Late { worker: worker.worker, request });
        }
        let generation = worker.generation;
        self.tell_worn(at);
        if let Some(g) = self.index(generation) {
            match of {
                Of::R => {
                    self.pump(g, Runs::R);
                    if self.workers[at].is_idle() && self.generations[g].waiting(Runs::R).is_empty() {
                        self.take_back(Instant::now());
                    }
                }
                Of::C => {
                    self.pump(g, Runs::Inline);
                    self.pump(g, Runs::Pool);
                }
            }
        }
        self.release_retired();
    }

    fn tell_worn(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        if std::mem::take(&mut worker.worn) {
            let _ = self.shared.events.send(PoolEvent::Worn(worker.worker));
        }
    }

    /// Releases workers that are to be given nothing more and have nothing left, and of generations without any.
    pub(crate) fn release_retired(&mut self) {
        if !self.workers.iter().any(|(_, s)| s.retiring) && !self.generations.iter().any(Generation::is_over) {
            return;
        }
        for (_, worker) in &mut self.workers {
            worker.retiring |= self.generations.iter().any(|g| g.id == worker.generation && g.is_over());
            // what will never be answered keeps no process that is to end
            if worker.retiring && !worker.killed && worker.is_only_stuck() {
                let _ = self.shared.events.send(PoolEvent::GivenUp(worker.worker));
                worker.kill();
            }
        }
        let free: Vec<usize> =
            self.workers.iter().filter(|(_, s)| s.retiring && s.is_empty()).map(|(at, _)| at).collect();
        for at in free {
            let worker = self.workers.remove(at);
            self.tell_left(worker.pid());
            let _ = self.shared.events.send(PoolEvent::Retired(worker.worker));
        }
        let (workers, events) = (&self.workers, &self.shared.events);
        self.generations.retain(|g| {
            let stays = !g.is_over() || workers.iter().any(|(_, s)| s.generation == g.id);
            if !stays {
                let _ = events.send(PoolEvent::Drained(g.id));
            }
            stays
        });
        self.count_workers();
    }

    fn count_workers(&self) {
        let threads: usize = self.workers.iter().map(|(_, worker)| worker.threads()).sum();
        self.shared.ready.store(self.workers.len(), Relaxed);
        self.shared.most.store(self.max_queue + self.workers.len().max(1) + threads + self.promised, Relaxed);
    }

    fn find(&self, worker: u32) -> Option<usize> {
        self.workers.iter().find(|(_, s)| s.worker == worker).map(|(at, _)| at)
    }

    fn attach(&mut self, seat: Seat) {
        let (worker, generation) = (seat.worker, seat.generation);
        if !self.generations.iter().any(|g| g.id == generation) {
            // its generation has ended while it started
            let _ = self.shared.events.send(PoolEvent::Retired(worker));
            return;
        }
        match Worker::new(seat, self.shared.cpp_workers, self.max_async) {
            Ok(worker) => {
                self.workers.insert(worker);
                self.count_workers();
                if let Some(g) = self.index(generation) {
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

    fn retire(&mut self, worker: u32) {
        let Some(at) = self.find(worker) else { return };
        let worker = &mut self.workers[at];
        let generation = worker.generation;
        worker.retiring = true;
        worker.drain_streams();
        for of in [Of::R, Of::C] {
            let lane = self.workers[at].lane_mut(of);
            let back = lane.map(|lane| lane.revoke_unbegun(0)).unwrap_or_default();
            self.requeue(&back);
        }
        // before it is released: others may be free for what it had not begun
        if let Some(g) = self.index(generation) {
            self.pump_all(g);
        }
        self.workers[at].count_in_flight();
        self.tell_worn(at);
        self.release_retired();
    }

    fn gone(&mut self, worker: u32) {
        let Some(at) = self.find(worker) else { return };
        // what it has answered counts
        for _ in 0..LAST_TURNS {
            self.read(at, Of::R);
            self.read(at, Of::C);
            if !self.workers[at].has_news() {
                break;
            }
        }
        let worker = self.workers.remove(at);
        let (generation, pid) = (worker.generation, worker.pid());
        self.tell_left(pid);
        self.tasks.end_with_worker(worker.worker);
        let (unbegun, lost) = worker.into_requests();
        self.requeue(&unbegun);
        for assigned in lost {
            self.settle(assigned.key, Outcome::WorkerDied(pid));
        }
        if let Some(g) = self.index(generation) {
            self.pump_all(g);
            self.fail_orphans(g);
        }
        self.release_retired();
        self.count_workers();
    }

    /// An old generation whose last worker has died gets no new one: what waits for it is told to come again.
    fn fail_orphans(&mut self, g: usize) {
        let generation = &self.generations[g];
        if generation.closing && !self.workers.iter().any(|(_, s)| s.generation == generation.id) {
            for key in self.generations[g].take_all() {
                self.settle(key, Outcome::Stale);
            }
            self.count_waiting();
        }
    }

    // ---- orders --------------------------------------------------------------------------------------------------

    pub(crate) fn apply(&mut self, order: PoolOrder) {
        match order {
            PoolOrder::Add(id) => self.generations.push(Generation::new(id)),
            PoolOrder::Switch(id) => {
                for g in &mut self.generations {
                    g.closing = g.id < id;
                }
                for (_, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.generation < id) {
                    worker.drain_streams();
                }
                for g in 0..self.generations.len() {
                    self.fail_orphans(g);
                }
                self.release_retired();
            }
            PoolOrder::Forget(id) => {
                for g in self.generations.iter_mut().filter(|g| g.id == id) {
                    g.closing = true;
                }
                self.release_retired();
            }
            PoolOrder::Attach(seat) => self.attach(*seat),
            PoolOrder::Retire(worker) => self.retire(worker),
            PoolOrder::Gone(worker) => self.gone(worker),
            PoolOrder::Look(told) => told(self.running()),
            PoolOrder::Drain => {
                self.draining = true;
                for (_, worker) in &mut self.workers {
                    worker.drain_streams();
                }
            }
        }
    }

    /// What another thread of this server posts.
    pub(crate) fn receive(&mut self, post: Post) {
        match post {
            Post::Request { number, is_over, submission, message, client } => {
                if is_over && !self.make_place(&submission) {
                    self.shared.outstanding.fetch_sub(1, Relaxed);
                    // a client that has gone needs no answer
                    let _ = client.send(Outcome::Full);
                    return;
                }
                (self.watch_closely)();
                let key = self.enter(submission, message, Waiter::Elsewhere(number, client));
                if self.entries.get(key).is_some() {
                    self.numbers.insert(number, key);
                }
            }
            Post::Abandon(number) => {
                if let Some(key) = self.numbers.remove(&number) {
                    self.abandon(key);
                }
            }
            Post::Withdraw(number) => {
                if let Some(&key) = self.numbers.get(&number) {
                    self.withdraw(key);
                }
            }
            Post::Taken { worker, of, id, bytes } => {
                if let Some(lane) = self.lane_of(worker, of) {
                    lane.credit(id, bytes);
                }
            }
            Post::Left { worker, of, id } => {
                let due = now() + self.kill_after;
                if let Some(lane) = self.lane_of(worker, of).filter(|lane| lane.streams(id)) {
                    lane.cancel(id, due);
                    (self.watch_closely)();
                }
            }
        }
    }

    fn lane_of(&mut self, worker: u32, of: Of) -> Option<&mut Lane> {
        self.find(worker).and_then(|at| self.workers[at].lane_mut(of))
    }

    // ---- the thread's sleep --------------------------------------------------------------------------------------

    /// Rings for what is new to workers. One that has room again for what it was sent before may be given more.
    fn ring(&mut self) {
        while self.workers.iter_mut().fold(false, |has_room, (_, worker)| worker.ring() | has_room) {
            (0..self.generations.len()).for_each(|g| self.pump_all(g));
        }
    }

    /// While the thread is too busy to sleep.
    pub(crate) fn turn(&mut self) {
        self.ring();
        if self.drain() {
            self.ring();
        }
    }

    /// Before the thread sleeps. Replies found here schedule tasks, and then the runtime does not sleep. All bells are
    /// armed before the last look, and stay so: a worker that replies after it rings.
    pub(crate) fn park(&mut self) {
        self.turn();
        Bell::doze_at_all(self.workers.iter().flat_map(|(_, worker)| worker.bells()));
        if self.drain() {
            self.ring();
        }
    }

    pub(crate) fn unpark(&mut self) {
        for (_, worker) in &self.workers {
            worker.bells().for_each(Bell::stay_awake);
        }
        self.drain();
    }
}

#[cfg(feature = "fuzzing")]
impl Dispatcher {
    /// Requests that are known, those of other threads among them, and workers.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.entries.len(), self.numbers.len(), self.workers.len())
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Dispatcher {
    /// Whether something waits that a worker could have now. Never after a turn.
    pub(super) fn stalls(&mut self) -> bool {
        let mut fronts = Vec::new();
        for (g, generation) in self.generations.iter_mut().enumerate() {
            let first = |runs| Some((g, generation.waiting(runs).front()?));
            fronts.extend([Runs::R, Runs::Inline, Runs::Pool].into_iter().filter_map(first));
        }
        fronts.into_iter().any(|(g, key)| {
            let submission = self.entries.get(key).map(|entry| entry.submission);
            submission.is_some_and(|submission| self.worker_for(g, submission).is_some())
        })
    }
}

mod bound;
mod leaving;
mod places;
mod tasks;
#[cfg(test)]
mod tests;

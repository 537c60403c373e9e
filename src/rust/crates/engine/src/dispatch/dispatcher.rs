//! The one queue: requests of all I/O threads, and the workers that they go to. It lives in one I/O thread, the home, and is only
//! touched there; other threads post to it.
//!
//! What becomes of a request:
//! ```text
//! waiting ─▶ with a worker ─reply▶ answered ─▶ collected by its client
//!    ▲             │ taken back, or the worker died before it began
//!    └─────────────┘          └ died after: 502
//! ```
//! Neighbours: `choose` says which worker, `check` looks at clocks, `seat` is one worker, `request` one request.

use super::check::watch;
use super::choose::choose;
use super::generation::Generation;
use super::request::{Client, Entries, Key, Place};
use super::seat::{Assigned, Placed, Reply};
use super::ticket::Outcome;
use super::{Errand, Post};
use crate::http::{now, sweep};
use crate::observe::{Level, Log};
use crate::pool::{PoolEvent, PoolOrder, Seat, Shared};
use crate::respond::discard;
use admission::Limits;
use shm::Bell;
use slab::Slab;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// Ring a worker's bell after this many requests, even in the middle of a turn, so that it works alongside.
const RING_AFTER: u32 = 64;

/// See the module.
pub struct Dispatcher {
    pub(super) shared: Arc<Shared>,
    pub(super) entries: Entries,
    pub(super) generations: Vec<Generation>,
    pub(super) seats: Slab<Placed>,
    /// requests of other threads, by the numbers that they gave
    numbers: HashMap<u64, Key>,
    turn: u64,
    log: Log,
    max_queue: usize,
    pub(super) queue_timeout: u64,
    pub(super) kill_after: u64,
    /// where workers leave long bodies
    spool: PathBuf,
}

impl Dispatcher {
    /// Without any worker.
    pub fn new(shared: Arc<Shared>, limits: &Limits, spool: PathBuf, log: Log) -> Self {
        Dispatcher {
            shared,
            entries: Entries::default(),
            generations: Vec::new(),
            seats: Slab::new(),
            numbers: HashMap::new(),
            turn: 0,
            log,
            max_queue: limits.max_queue,
            queue_timeout: (limits.queue_timeout * 1000.0) as u64,
            kill_after: (limits.kill_after * 1000.0) as u64,
            spool,
        }
    }

    // ---- requests ------------------------------------------------------------------------------------------------

    /// Takes a request of this thread, whose message `encode` writes. It counts as outstanding already.
    pub(super) fn submit(&mut self, errand: Errand, encode: impl FnOnce(&mut Vec<u8>)) -> Key {
        let mut message = self.entries.buffer();
        encode(&mut message);
        self.enter(errand, message, Client::Here(None))
    }

    fn enter(&mut self, errand: Errand, message: Vec<u8>, client: Client) -> Key {
        let Errand { generation, route, timeout } = errand;
        let key = self.entries.add((generation, route), message, (now(), timeout), client);
        let Some(g) = self.generations.iter().position(|g| g.id == generation && !g.closing) else {
            self.settle(key, Outcome::Stale);
            return key;
        };
        let seat = if self.generations[g].waiting.is_empty() { self.seat_for(g, key) } else { None };
        match seat {
            Some(seat) => {
                self.hand(key, seat);
                if self.seats[seat].unrung() >= RING_AFTER {
                    self.seats[seat].ring();
                    self.drain();
                }
            }
            None => {
                self.generations[g].waiting.push_back(key);
                self.count_waiting();
                watch();
            }
        }
        key
    }

    fn seat_for(&mut self, g: usize, key: Key) -> Option<usize> {
        let route = self.entries.get(key)?.route;
        let generation = &self.generations[g];
        choose(&self.seats, generation.id, generation.expected(route))
    }

    fn hand(&mut self, key: Key, at: usize) {
        let Some(entry) = self.entries.get(key) else { return };
        let expected = self.generations.iter().find(|g| g.id == entry.generation).and_then(|g| g.expected(entry.route));
        self.turn += 1;
        let seat = &mut self.seats[at];
        seat.last_turn = self.turn;
        if let Some(id) = seat.assign(key, &entry.message, expected, entry.since + entry.timeout) {
            entry.place = Place::Seat(at, id);
        }
        if seat.assigned().len() > 1 {
            watch();
        }
    }

    /// Hands out what waits, as long as there is a worker for it.
    pub(super) fn pump(&mut self, g: usize) {
        while let Some(&key) = self.generations[g].waiting.front() {
            let live = self.entries.get(key).is_some_and(|e| !matches!(e.client, Client::Answered(_)));
            if live {
                let Some(seat) = self.seat_for(g, key) else { break };
                self.hand(key, seat);
            }
            self.generations[g].waiting.pop_front();
        }
        self.count_waiting();
    }

    fn count_waiting(&self) {
        let waiting = self.generations.iter().map(|g| g.waiting.len()).sum();
        self.shared.waiting.store(waiting, Relaxed);
    }

    /// Puts requests that a worker gave back before all that wait.
    pub(super) fn requeue(&mut self, back: &[Assigned]) {
        for assigned in back.iter().rev() {
            let Some(entry) = self.entries.get(assigned.key) else { continue };
            entry.place = Place::Queue;
            if let Some(g) = self.generations.iter_mut().find(|g| g.id == entry.generation) {
                g.waiting.push_front(assigned.key);
            }
        }
        self.count_waiting();
        watch();
    }

    /// Gives a request its outcome, and wakes who waits for it.
    pub(super) fn settle(&mut self, key: Key, outcome: Outcome) {
        let Some(entry) = self.entries.get(key) else { return };
        match std::mem::replace(&mut entry.client, Client::Here(None)) {
            Client::Here(waker) => {
                entry.client = Client::Answered(outcome);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            Client::Elsewhere(number, client) => {
                // a client that has gone has posted so, too
                let _ = client.send(outcome);
                self.numbers.remove(&number);
                self.entries.remove(key);
            }
            answered @ Client::Answered(_) => {
                entry.client = answered;
                return;
            }
        }
        self.shared.outstanding.fetch_sub(1, Relaxed);
    }

    /// What came of a request of this thread, once.
    pub(super) fn collect(&mut self, key: Key, waker: &Waker) -> Option<Outcome> {
        let entry = self.entries.get(key)?;
        match &mut entry.client {
            Client::Here(waiting) => {
                if !waiting.as_ref().is_some_and(|w| w.will_wake(waker)) {
                    *waiting = Some(waker.clone());
                }
                None
            }
            Client::Answered(_) => match self.entries.remove(key)?.client {
                Client::Answered(outcome) => Some(outcome),
                _ => None,
            },
            Client::Elsewhere(..) => None,
        }
    }

    /// The client has gone: a request that waits is taken back, one that runs is interrupted.
    pub(super) fn abandon(&mut self, key: Key) {
        // so that what runs is known
        self.drain();
        self.leave(key, now());
        if let Some(entry) = self.entries.remove(key) {
            if !matches!(entry.client, Client::Answered(_)) {
                self.shared.outstanding.fetch_sub(1, Relaxed);
            }
        }
    }

    /// The request is not wanted any more, wherever it is.
    pub(super) fn leave(&mut self, key: Key, now: u64) {
        let Some(entry) = self.entries.get(key) else { return };
        if matches!(entry.client, Client::Answered(_)) {
            return;
        }
        let (late, deadline) = (now >= entry.since + entry.timeout, entry.since + entry.timeout);
        match entry.place {
            Place::Queue => {
                for g in &mut self.generations {
                    g.waiting.retain(|waiting| *waiting != key);
                }
                self.count_waiting();
            }
            Place::Seat(at, id) => {
                let Some(seat) = self.seats.get_mut(at) else { return };
                let Some(position) = seat.position(id) else { return };
                if seat.revoke(position).is_none() {
                    seat.interrupt(id, deadline.max(now) + self.kill_after, late);
                } else {
                    self.freed(at);
                }
            }
        }
    }

    // ---- workers -------------------------------------------------------------------------------------------------

    /// Reads all replies that are there, and gives the workers that are free their next requests. `true` if there was any.
    pub(super) fn drain(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.seats.capacity() {
            if !self.seats.get(at).is_some_and(Placed::has_news) {
                continue;
            }
            any = true;
            self.read(at);
            self.freed(at);
        }
        any
    }

    fn read(&mut self, at: usize) {
        let now = Instant::now();
        while let Some(reply) = self.seats[at].receive(now) {
            self.answer(at, reply);
        }
        self.seats[at].was_used();
        self.seats[at].kill_if_broken();
    }

    fn answer(&mut self, at: usize, reply: Reply) {
        let generation = self.seats[at].generation;
        let wanted = reply.request.and_then(|r| Some((r.key, self.entries.get(r.key)?.route)));
        let Some((key, route)) = wanted else {
            discard(&reply.message, &self.spool);
            return;
        };
        if let Some(g) = self.generations.iter_mut().find(|g| g.id == generation) {
            g.took(route, wire::Reply::peek(&reply.message).0);
        }
        self.settle(key, Outcome::Reply(reply.message));
    }

    /// A worker may have become free.
    fn freed(&mut self, at: usize) {
        let seat = &mut self.seats[at];
        let generation = seat.generation;
        if seat.interrupted.is_some_and(|i| i.late && seat.position(i.id).is_none()) {
            seat.interrupted = None;
            let _ = self.shared.events.send(PoolEvent::Late(seat.worker));
        }
        if std::mem::take(&mut seat.worn) {
            let _ = self.shared.events.send(PoolEvent::Worn(seat.worker));
        }
        if let Some(g) = self.generations.iter().position(|g| g.id == generation) {
            self.pump(g);
            if self.seats[at].is_idle() && self.generations[g].waiting.is_empty() {
                self.take_back();
            }
        }
        self.let_go();
    }

    /// Lets go of workers that are to be given nothing more and have nothing left, and of generations without any.
    pub(super) fn let_go(&mut self) {
        let closing = |g: &Generation| g.closing && g.waiting.is_empty();
        if !self.seats.iter().any(|(_, s)| s.retiring) && !self.generations.iter().any(closing) {
            return;
        }
        for (_, seat) in &mut self.seats {
            seat.retiring |= self.generations.iter().any(|g| g.id == seat.generation && closing(g));
        }
        let free: Vec<usize> =
            self.seats.iter().filter(|(_, s)| s.retiring && s.is_empty()).map(|(at, _)| at).collect();
        for at in free {
            let seat = self.seats.remove(at);
            let _ = self.shared.events.send(PoolEvent::Retired(seat.worker));
        }
        let (seats, events) = (&self.seats, &self.shared.events);
        self.generations.retain(|g| {
            let stays = !closing(g) || seats.iter().any(|(_, s)| s.generation == g.id);
            if !stays {
                let _ = events.send(PoolEvent::Drained(g.id));
            }
            stays
        });
        self.count_seats();
    }

    fn count_seats(&self) {
        self.shared.most.store(self.max_queue + self.seats.len().max(1), Relaxed);
    }

    fn find(&self, worker: u32) -> Option<usize> {
        self.seats.iter().find(|(_, s)| s.worker == worker).map(|(at, _)| at)
    }

    fn attach(&mut self, seat: Seat) {
        let (worker, generation) = (seat.worker, seat.generation);
        if !self.generations.iter().any(|g| g.id == generation) {
            // its generation has ended while it started
            let _ = self.shared.events.send(PoolEvent::Retired(worker));
            return;
        }
        match Placed::new(seat) {
            Ok(placed) => {
                self.seats.insert(placed);
                self.count_seats();
                if let Some(g) = self.generations.iter().position(|g| g.id == generation) {
                    self.pump(g);
                    self.take_back();
                }
                self.let_go();
            }
            Err(e) => {
                self.log.line(Level::Error, &format!("worker {worker} cannot be watched: {e}"));
                let _ = self.shared.events.send(PoolEvent::Retired(worker));
            }
        }
    }

    fn retire(&mut self, worker: u32) {
        let Some(at) = self.find(worker) else { return };
        let seat = &mut self.seats[at];
        seat.retiring = true;
        let mut back = Vec::new();
        for position in (1..seat.assigned().len()).rev() {
            back.extend(seat.revoke(position));
        }
        back.reverse();
        self.requeue(&back);
        self.freed(at);
    }

    fn gone(&mut self, worker: u32) {
        let Some(at) = self.find(worker) else { return };
        // what it has answered counts
        self.read(at);
        let seat = self.seats.remove(at);
        let generation = seat.generation;
        let (unbegun, lost) = seat.bury();
        self.requeue(&unbegun);
        for assigned in lost {
            self.settle(assigned.key, Outcome::WorkerDied);
        }
        if let Some(g) = self.generations.iter().position(|g| g.id == generation) {
            self.pump(g);
            self.fail_orphans(g);
        }
        self.let_go();
        self.count_seats();
    }

    /// An old generation whose last worker has died gets no new one: what waits for it is told to come again.
    fn fail_orphans(&mut self, g: usize) {
        let generation = &self.generations[g];
        if generation.closing && !self.seats.iter().any(|(_, s)| s.generation == generation.id) {
            for key in std::mem::take(&mut self.generations[g].waiting) {
                self.settle(key, Outcome::Stale);
            }
        }
    }

    // ---- orders --------------------------------------------------------------------------------------------------

    pub(super) fn obey(&mut self, order: PoolOrder) {
        match order {
            PoolOrder::Add(app) => self.generations.push(Generation::new(app.generation)),
            PoolOrder::Switch(id) => {
                for g in &mut self.generations {
                    g.closing = g.id < id;
                }
                for g in 0..self.generations.len() {
                    self.fail_orphans(g);
                }
                self.let_go();
            }
            PoolOrder::Forget(id) => {
                for g in self.generations.iter_mut().filter(|g| g.id == id) {
                    g.closing = true;
                }
                self.let_go();
            }
            PoolOrder::Attach(seat) => self.attach(seat),
            PoolOrder::Retire(worker) => self.retire(worker),
            PoolOrder::Gone(worker) => self.gone(worker),
        }
    }

    /// What another thread of this server posts.
    pub(super) fn receive(&mut self, post: Post) {
        match post {
            Post::Request { number, errand, message, client } => {
                sweep::hurry();
                let key = self.enter(errand, message, Client::Elsewhere(number, client));
                if self.entries.get(key).is_some() {
                    self.numbers.insert(number, key);
                }
            }
            Post::Abandon(number) => {
                if let Some(key) = self.numbers.remove(&number) {
                    self.abandon(key);
                }
            }
        }
    }

    // ---- the thread's sleep --------------------------------------------------------------------------------------

    fn ring(&mut self) {
        for (_, seat) in &mut self.seats {
            seat.ring();
        }
    }

    /// Before the thread sleeps. Replies found here schedule tasks, and then the runtime does not sleep. All bells are armed
    /// before the last look, and stay so: a worker that replies after it rings.
    pub(super) fn park(&mut self) {
        self.ring();
        if self.drain() {
            self.ring();
        }
        Bell::doze_at_all(self.seats.iter().map(|(_, s)| s.bell()));
        if self.drain() {
            self.ring();
        }
    }

    pub(super) fn unpark(&mut self) {
        for (_, seat) in &self.seats {
            seat.bell().stay_awake();
        }
        self.drain();
    }
}

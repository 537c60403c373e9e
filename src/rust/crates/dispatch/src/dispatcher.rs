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

use crate::commands::Commands;
use crate::crew::Crew;
use crate::generation::Generation;
use crate::lane::Lane;
use crate::outcome::Outcome;
use crate::pool::{PoolOrder, Shared};
use crate::request::{Entries, Key, Waiter};
use crate::runs::Of;
use crate::submission::{Post, Word};
use crate::tasks::Tasks;
use crate::worker::Worker;
use admission::{ms, ms_or_never, Limits};
use exchange::now;
use observe::Log;
use shm::Bell;
use slab::Slab;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

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

    pub(crate) fn apply(&mut self, order: PoolOrder) {
        match order {
            PoolOrder::Add(generation, pools) => {
                self.generations.extend((0..pools).map(|pool| Generation::new(Crew { generation, pool })));
            }
            PoolOrder::Switch(id) => {
                for g in &mut self.generations {
                    g.closing = g.crew.generation < id;
                }
                for (_, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.crew.generation < id) {
                    worker.drain_streams();
                }
                for g in 0..self.generations.len() {
                    self.fail_orphans(g);
                }
                self.release_retired();
            }
            PoolOrder::Forget(id) => {
                for g in self.generations.iter_mut().filter(|g| g.crew.generation == id) {
                    g.closing = true;
                }
                self.release_retired();
            }
            PoolOrder::Attach(seat) => self.attach(*seat),
            PoolOrder::Retire(worker) => self.retire(worker),
            PoolOrder::Gone(worker) => self.gone(worker),
            PoolOrder::Look(reply) => reply(self.running()),
            PoolOrder::Drain => {
                self.draining = true;
                for (_, worker) in &mut self.workers {
                    worker.drain_streams();
                }
                self.release_retired();
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
                    let _ = client.send(Word::Outcome(Outcome::Full));
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
            Post::Answer { worker, of, message } => {
                if let Some(lane) = self.lane_of(worker, of) {
                    lane.link.answer(&message);
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

mod batches;
mod bound;
mod express;
mod leaving;
mod places;
mod requests;
mod sessions;
mod tasks;
#[cfg(test)]
mod tests;
mod workers;

//! The workers as the server sees them: attached when they are ready, given requests, retired, gone. How they are
//! started, and when, is not decided here.
//!
//! A [`Pool`] is a handle for other threads; what it orders is done by the dispatcher in its own thread (`dispatch`).

use crate::crew::{Crew, MOST_POOLS};
use crate::running::Running;
use shm::ServerEnd;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// A worker that takes requests.
#[derive(Debug)]
pub struct Seat {
    /// the caller's name for it
    pub worker: u32,
    /// of the app that it has loaded
    pub generation: u32,
    /// which of the app's pools it is in
    pub pool: u8,
    /// the server's end of its link
    pub end: ServerEnd,
    /// the same of a second one, for C handlers that run in it; `None` when it has none
    pub c_end: Option<ServerEnd>,
    /// what runs its handlers; `None` for one that is never interrupted
    pub runner: Option<Runner>,
    /// its counters
    pub stats: Arc<WorkerStats>,
}

impl Seat {
    pub(crate) fn crew(&self) -> Crew {
        Crew { generation: self.generation, pool: self.pool }
    }
}

/// What runs the handlers of a worker, and how interrupts reach it.
pub enum Runner {
    /// a process: it gets SIGINT, and is killed when it does not heed that
    Process {
        /// names it in the log
        pid: i32,
        /// the way to it
        fd: Arc<OwnedFd>,
    },
    /// a thread of this process, which this call has look at the name in the link. It is interrupted when its client
    /// has gone, and not at its deadline: it may be a user's session.
    Thread(Box<dyn Fn() + Send + Sync>),
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runner::Process { .. } => "Process",
            Runner::Thread(_) => "Thread",
        })
    }
}

/// What a worker has done. Written by the dispatcher only, but for `max_requests`.
#[derive(Debug, Default)]
pub struct WorkerStats {
    /// requests answered
    pub requests: AtomicU64,
    /// of these, with a status of 500 and above, or by its death
    pub errors: AtomicU64,
    /// microseconds that handlers took
    pub busy_us: AtomicU64,
    /// when it began with what it does now, by [`exchange::now`]; 0 while it does nothing
    pub busy_since_ms: AtomicU64,
    /// when it last answered or was attached, by [`exchange::now`]
    pub last_used_ms: AtomicU64,
    /// requests that are with it
    pub in_flight: AtomicU64,
    /// of these, those that promises of R will answer
    pub promises: AtomicU64,
    /// bytes that it has allocated, as it said last; 0 before it did
    pub heap: AtomicU64,
    /// whether it has ever had a session of a visitor
    pub had_session: AtomicBool,
    /// set before the worker is attached: after this many requests it is worn out; 0 for never
    pub max_requests: AtomicU64,
}

impl WorkerStats {
    /// Counts a request answered with this status, after this many microseconds. `true` when it was the last of
    /// `max_requests`.
    pub(crate) fn count(&self, micros: u32, status: u32) -> bool {
        self.errors.fetch_add(u64::from(status >= 500), Ordering::Relaxed);
        self.busy_us.fetch_add(u64::from(micros), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed) + 1 == self.max_requests.load(Ordering::Relaxed)
    }
}

/// What the pool tells its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolEvent {
    /// requests of the current generation wait, and no worker is free: `waiting` of them, the oldest for `waited_ms`
    Pressure {
        /// for workers of this one
        pool: u8,
        /// requests
        waiting: usize,
        /// milliseconds
        waited_ms: u64,
        /// workers that there were
        ready: usize,
    },
    /// nothing is with this worker any more, and it is given nothing more: it may end
    Retired(u32),
    /// a short request waits while all workers of this pool are at long ones, see [`Pool::set_express`]
    ShortWaits(u8),
    /// a pool of a generation that is not the current one has no worker and no request left
    Drained {
        /// which
        generation: u32,
        /// of its pools
        pool: u8,
    },
    /// a request has come for an app that is not there: see [`Pool::want`]
    Wanted,
    /// it was interrupted at the deadline of a request and has answered since: its state is unknown, and a fresh worker
    /// is better
    Late {
        /// which
        worker: u32,
        /// names the request in the log
        request: u64,
    },
    /// it has answered its `max_requests`. Told once; it serves on until it is retired.
    Worn(u32),
    /// it did not answer its interrupt and was killed
    Stuck {
        /// which
        worker: u32,
        /// names the request that it was interrupted for
        request: u64,
    },
    /// it did not come back from what R does between requests, such as a callback or the making of a piece of a stream,
    /// requests waited for it meanwhile, and it was killed
    Unresponsive {
        /// which
        worker: u32,
        /// the name in the log of the last request that left R such a thing to do, if one has
        left_by: Option<u64>,
    },
    /// a C handler has not returned long after its deadline: its thread is lost, and a fresh worker is better. Told
    /// once.
    Blocked {
        /// which
        worker: u32,
        /// names the request in the log
        request: u64,
    },
    /// it was to end, had nothing left but C handlers that do not return, and was killed
    GivenUp(u32),
}

/// Orders to the dispatcher.
pub(crate) enum PoolOrder {
    Add(u32, u8),
    Switch(u32),
    Forget(u32),
    Attach(Box<Seat>),
    Retire(u32),
    Gone(u32),
    Drain,
    Look(Look),
}

/// Told what runs in workers.
pub(crate) type Look = Box<dyn FnOnce(Vec<Running>) + Send>;

/// No address of a client, see [`crate::Origin`]: no client has the IPv6 network of this number.
pub(crate) const NOBODY: u64 = u64::MAX;

/// What the threads of a server and the owners of its pool share.
pub(crate) struct Shared {
    /// threads for C handlers, in each process
    pub(crate) cpp_workers: usize,
    orders: UnboundedSender<PoolOrder>,
    pub(crate) events: UnboundedSender<PoolEvent>,
    receiver: Mutex<Option<UnboundedReceiver<PoolEvent>>>,
    pools: [OfPool; MOST_POOLS],
    /// how many sessions of visitors a worker is given, see [`Pool::set_sessions`]
    pub(crate) sessions: AtomicUsize,
    /// workers that are attached
    pub(crate) ready: AtomicUsize,
    /// requests whose clients wait for an answer
    pub(crate) outstanding: AtomicUsize,
    /// of these, requests that no worker has begun with
    pub(crate) waiting: AtomicUsize,
    /// batches that workers were given, and requests in them
    pub(crate) batches: AtomicU64,
    pub(crate) batched: AtomicU64,
    /// the client with the most waiting requests when the queue was last full; [`NOBODY`] when none has waited since
    pub(crate) longest: AtomicU64,
    /// most that may be outstanding: `max_queue`, one for each worker and for each thread of C handlers, and the
    /// promises that clients wait for, which `max_async` bounds
    pub(crate) most: AtomicUsize,
}

/// What is known of the workers of one pool.
pub(crate) struct OfPool {
    /// whether there may be more
    pub(crate) growable: AtomicBool,
    /// how short requests pass long ones, see [`Express::encode`]
    express: AtomicUsize,
    /// short requests that did, as long ones may not have all workers
    pub(crate) passed: AtomicU64,
    /// those that are attached
    pub(crate) ready: AtomicUsize,
}

impl Default for OfPool {
    fn default() -> Self {
        OfPool {
            growable: AtomicBool::new(false),
            express: AtomicUsize::new(Express::Turns.encode()),
            passed: AtomicU64::new(0),
            ready: AtomicUsize::new(0),
        }
    }
}

impl Shared {
    /// What is known of a pool, of which there are no more than [`MOST_POOLS`].
    pub(crate) fn of(&self, pool: u8) -> &OfPool {
        &self.pools[usize::from(pool) % MOST_POOLS]
    }

    pub(crate) fn express(&self, pool: u8) -> Express {
        Express::decode(self.of(pool).express.load(Ordering::Relaxed))
    }

    /// Whether there may be more workers in any pool.
    pub(crate) fn may_grow(&self) -> bool {
        self.pools.iter().any(|pool| pool.growable.load(Ordering::Relaxed))
    }
}

/// How short requests pass long ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Express {
    /// not at all
    Off,
    /// those that wait take turns
    Turns,
    /// the same, and there may be a worker more when a short one waits: [`PoolEvent::ShortWaits`]
    Possible,
    /// the same, and there is: long ones may have so many workers at a time
    Beside(usize),
}

impl Express {
    fn encode(self) -> usize {
        match self {
            Express::Off => 0,
            Express::Turns => 1,
            Express::Possible => 2,
            Express::Beside(most) => 3 + most,
        }
    }

    fn decode(number: usize) -> Self {
        match number {
            0 => Express::Off,
            1 => Express::Turns,
            2 => Express::Possible,
            _ => Express::Beside(number - 3),
        }
    }
}

/// As many sessions for a worker as come, see [`Pool::set_sessions`].
pub const SHARED_SESSIONS: usize = usize::MAX;

/// Handle to the pool of a server.
#[derive(Clone)]
pub struct Pool(pub(crate) Arc<Shared>);

impl Pool {
    pub(crate) fn new(cpp_workers: usize, max_queue: usize) -> (Pool, UnboundedReceiver<PoolOrder>) {
        let (orders, inbox) = unbounded_channel();
        let (events, receiver) = unbounded_channel();
        let shared = Shared {
            cpp_workers,
            orders,
            events,
            receiver: Mutex::new(Some(receiver)),
            pools: Default::default(),
            sessions: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            outstanding: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            batches: AtomicU64::new(0),
            batched: AtomicU64::new(0),
            longest: AtomicU64::new(NOBODY),
            most: AtomicUsize::new(max_queue + 1),
        };
        (Pool(Arc::new(shared)), inbox)
    }

    /// Batches that workers were given of what had waited, and requests in them.
    pub fn batches(&self) -> (u64, u64) {
        (self.0.batches.load(Ordering::Relaxed), self.0.batched.load(Ordering::Relaxed))
    }

    /// There is a generation of the app, with so many pools of workers. No request goes to it before
    /// [`Pool::switch_to`].
    pub fn add_generation(&self, generation: u32, pools: u8) {
        self.order(PoolOrder::Add(generation, pools));
    }

    /// From now on requests are of this generation. The workers of older ones are retired as they have nothing left to
    /// do.
    pub fn switch_to(&self, generation: u32) {
        self.order(PoolOrder::Switch(generation));
    }

    /// A generation that was never switched to will not come. Its workers are retired.
    pub fn drop_generation(&self, generation: u32) {
        self.order(PoolOrder::Forget(generation));
    }

    /// A worker is ready for requests of its generation.
    pub fn attach(&self, seat: Seat) {
        self.order(PoolOrder::Attach(Box::new(seat)));
    }

    /// This worker is to be given nothing more; [`PoolEvent::Retired`] when it has nothing left.
    pub fn retire(&self, worker: u32) {
        self.order(PoolOrder::Retire(worker));
    }

    /// This worker is dead: what it ran gets 502, what waited for it goes to others.
    pub fn gone(&self, worker: u32) {
        self.order(PoolOrder::Gone(worker));
    }

    /// The server is to end: streams of R that have no end of their own end soon.
    pub fn drain(&self) {
        self.order(PoolOrder::Drain);
    }

    /// Has `reply` called with all requests whose handlers run in workers, from another thread. Never, when the server
    /// has ended.
    pub fn running(&self, reply: impl FnOnce(Vec<Running>) + Send + 'static) {
        self.order(PoolOrder::Look(Box::new(reply)));
    }

    /// Whether the supervisor would start more workers of a pool: without, no [`PoolEvent::Pressure`] is told.
    pub fn set_growable(&self, pool: u8, growable: bool) {
        self.0.of(pool).growable.store(growable, Ordering::Relaxed);
    }

    /// How many sessions of visitors a worker is given: further ones wait for others, of which the last is kept for
    /// requests. [`SHARED_SESSIONS`] where there will be no others, so that workers with sessions share what comes; 0
    /// where sessions are as all that stays with a worker.
    pub fn set_sessions(&self, most: usize) {
        self.0.sessions.store(most, Ordering::Relaxed);
    }

    /// The same: whether it would.
    pub fn may_grow(&self, pool: u8) -> bool {
        self.0.of(pool).growable.load(Ordering::Relaxed)
    }

    /// How short requests for workers of a pool pass long ones. [`Express::Turns`] before it is said.
    pub fn set_express(&self, pool: u8, express: Express) {
        self.0.of(pool).express.store(express.encode(), Ordering::Relaxed);
    }

    /// Short requests that were given a worker of a pool while long ones had all that they may have.
    pub fn passed(&self, pool: u8) -> u64 {
        self.0.of(pool).passed.load(Ordering::Relaxed)
    }

    /// The same of all pools.
    pub fn passed_in_all(&self) -> u64 {
        self.0.pools.iter().map(|pool| pool.passed.load(Ordering::Relaxed)).sum()
    }

    /// Says that the app, which is not loaded, has been asked for.
    pub fn want(&self) {
        // without a supervisor there is none to load it
        let _ = self.0.events.send(PoolEvent::Wanted);
    }

    /// Whether requests have a choice among workers, or will have when there are more of them.
    pub fn has_choice(&self) -> bool {
        self.ready() > 1 || self.0.may_grow()
    }

    /// Workers that are attached.
    pub fn ready(&self) -> usize {
        self.0.ready.load(Ordering::Relaxed)
    }

    /// Those of a pool.
    pub fn ready_in(&self, pool: u8) -> usize {
        self.0.of(pool).ready.load(Ordering::Relaxed)
    }

    /// Requests that wait for a worker.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// What the pool tells. For one caller: `None` after the first call.
    pub fn events(&self) -> Option<UnboundedReceiver<PoolEvent>> {
        self.0.receiver.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    fn order(&self, order: PoolOrder) {
        // a dispatcher that has ended has no workers
        let _ = self.0.orders.send(order);
    }
}

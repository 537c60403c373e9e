//! The cells of one I/O thread.
//!
//! Each cell is written by one thread, with a plain load and store, and read by scrapes in any other (both relaxed: a
//! figure may be a moment old, and figures of one scrape may be of different moments). So counting costs no locked
//! instruction and no cache line that two threads write to.

use super::refusal::Refusal;
use super::routes::{Route, MOST_CELLS};
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

thread_local! {
    static MINE: OnceCell<Arc<Cells>> = const { OnceCell::new() };
}

/// Counts in the cells of this thread, if it has some: metrics may be off.
pub fn count(f: impl FnOnce(&Cells)) {
    // a thread that is ending counts no more
    let _ = MINE.try_with(|mine| mine.get().map(|cells| f(cells)));
}

/// This thread has these cells from now on.
pub(super) fn install(cells: Arc<Cells>) {
    let _ = MINE.try_with(|mine| mine.set(cells));
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `n`. Only for the thread that owns the cell.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Upper bounds of buckets, in microseconds: from what a small handler takes to the default of `timeout`.
pub(super) const BOUNDS: [u64; 16] = [
    100, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000, 30_000_000,
];

/// Times by how long they were.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// those up to each bound and above the one before, then those above the last
    pub buckets: [Count; BOUNDS.len() + 1],
    pub nanoseconds: Count,
}

impl Histogram {
    fn observe(&self, time: Duration) {
        let micros = time.as_nanos().div_ceil(1000) as u64;
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].add(1);
        self.nanoseconds.add(time.as_nanos() as u64);
    }
}

/// Methods that are told apart; the last stands for all others.
pub(super) const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"];

/// What came of a request: classes of its status; the last one is for clients that left before there was one.
pub(super) const STATUSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "gone"];
const GONE: usize = STATUSES.len() - 1;

/// Where the time of a request went.
#[derive(Debug, Clone, Copy)]
pub struct Phases {
    /// from its head to its answer
    pub until_answer: Duration,
    /// of that, in its handler; `None` where this was not measured
    pub handler: Option<Duration>,
    /// from then on until the client had all of it
    pub write: Duration,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// what it asked for
    pub route: Route,
    /// its method, as the client wrote it; empty when no request could be made of its bytes
    pub method: &'a str,
    /// `None` when the client left before there was one
    pub status: Option<u16>,
    /// whether its client took the whole response
    pub whole: bool,
    /// `None` for what has no such times: WebSockets, and bytes that were no request
    pub phases: Option<Phases>,
}

/// The requests of one route.
#[derive(Debug, Default)]
pub(super) struct OfRoute {
    /// by method and status
    pub requests: [[Count; STATUSES.len()]; METHODS.len()],
    pub duration: Histogram,
    pub queue: Histogram,
    pub handler: Histogram,
    pub write: Histogram,
}

/// See the module. Two cache lines apart from what else there is, as processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Cells {
    /// made when the first request of a route has ended
    pub(super) routes: Box<[OnceLock<Box<OfRoute>>]>,
    pub(super) refusals: [Count; Refusal::ALL.len()],
    /// responses whose client did not take them whole
    pub cut_short: Count,
    /// requests that have begun, and of these those that have ended
    pub begun: Count,
    /// see `begun`
    pub ended: Count,
    /// connections that were accepted
    pub connections: Count,
    /// bytes that sockets gave
    pub received: Count,
    /// bytes that sockets took
    pub sent: Count,
    /// handshakes of TLS that ended well
    pub handshakes: Count,
    /// and those that did not
    pub failed_handshakes: Count,
    /// responses of R that come piece by piece, and of these those that have ended
    pub streams: Count,
    /// see `streams`
    pub ended_streams: Count,
    /// WebSockets, and of these those that have ended
    pub websockets: Count,
    /// see `sockets`
    pub ended_websockets: Count,
}

impl Default for Cells {
    fn default() -> Self {
        Cells {
            routes: (0..MOST_CELLS).map(|_| OnceLock::new()).collect(),
            refusals: Default::default(),
            cut_short: Count::default(),
            begun: Count::default(),
            ended: Count::default(),
            connections: Count::default(),
            received: Count::default(),
            sent: Count::default(),
            handshakes: Count::default(),
            failed_handshakes: Count::default(),
            streams: Count::default(),
            ended_streams: Count::default(),
            websockets: Count::default(),
            ended_websockets: Count::default(),
        }
    }
}

impl Cells {
    /// A request has ended.
    pub fn request(&self, request: &Counted<'_>) {
        let Some(cell) = self.routes.get(request.route.index()) else { return };
        let of_route = cell.get_or_init(Box::default);
        let other = METHODS.len() - 1;
        let method = METHODS[..other].iter().position(|name| *name == request.method).unwrap_or(other);
        let status = request.status.map_or(GONE, |status| usize::from(status / 100).clamp(1, 5) - 1);
        of_route.requests[method][status].add(1);
        self.cut_short.add(u64::from(!request.whole && request.status.is_some()));
        let Some(Phases { until_answer, handler, write }) = request.phases else { return };
        of_route.duration.observe(until_answer + write);
        of_route.write.observe(write);
        if let Some(handler) = handler {
            of_route.handler.observe(handler);
            of_route.queue.observe(until_answer.saturating_sub(handler));
        }
    }

    /// A request was refused.
    pub fn refused(&self, why: Refusal) {
        self.refusals[why as usize].add(1);
    }
}

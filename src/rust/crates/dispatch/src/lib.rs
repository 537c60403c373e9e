//! From the I/O threads to the workers and back: one queue. No HTTP: a request is a message of `wire`, and so is its
//! reply.
//!
//! The [`Dispatcher`](dispatcher) of an app lives in one I/O thread, its home. Requests are written into a worker's
//! ring as they come; its bell is rung once for all of a turn, when the thread is about to sleep or a few wait already.
//! Replies are read when the thread wakes, so that one wake-up serves many. Other I/O threads post their requests to
//! it.
//!
//! In reading order: `queue` (where a request is submitted), `ticket` (its future), `dispatcher`, `choose` (which
//! worker), `worker` and its lanes, `check` (clocks), `pool` (how workers come and go).
#![forbid(unsafe_code)]

mod assigned;
mod check;
mod choose;
mod commands;
mod crew;
mod dispatcher;
mod fair;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod generation;
mod home;
mod itself;
mod lane;
mod link;
mod load;
mod outcome;
mod owner;
mod pace;
mod pool;
mod queue;
mod report;
mod request;
mod running;
mod runs;
mod stream;
mod submission;
mod tasks;
mod ticket;
mod wakes;
mod worker;

pub use commands::{Commands, Later};
pub use crew::MOST_POOLS;
pub use home::{expire, install, on_park, on_unpark, turn, uninstall, Home};
pub use outcome::Outcome;
pub use owner::Owner;
pub use pool::{Express, Pool, PoolEvent, Runner, Seat, WorkerStats, SHARED_SESSIONS};
pub use queue::Queue;
pub use running::Running;
pub use runs::Runs;
pub use submission::{Batch, Origin, Submission};
pub use ticket::Ticket;

use admission::Limits;
use dispatcher::Dispatcher;
use observe::Log;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

/// The queue of an app, without workers: the handle to submit requests, the handle to attach workers, and what one I/O
/// thread is to [`install`], with those of the other apps, which have other places. Each process has `cpp_workers`
/// threads for C handlers. `commands` carries out what workers ask for beside requests. `watch_closely` is called when
/// requests are out: then [`expire`] is to be called often.
pub fn create(
    place: usize,
    limits: &Limits,
    cpp_workers: usize,
    log: Log,
    commands: Arc<dyn Commands>,
    watch_closely: fn(),
) -> (Queue, Pool, Home) {
    let (pool, orders) = Pool::new(cpp_workers, limits.max_queue);
    let (post, posts) = unbounded_channel();
    let dispatcher = Dispatcher::new(pool.0.clone(), limits, log, commands, post.clone(), watch_closely);
    (Queue::new(place, pool.0.clone(), post), pool, Home { place, dispatcher, orders, posts })
}

//! Shared memory between a server's I/O thread and a worker: segments, rings, slots and doorbells.
//!
//! A link is all that two ends share: a ring of requests one way, a ring of replies the other, a table of slots and a
//! bell for each end. Each ring has one writer and one reader. The same code serves when both ends are threads of one
//! process. A [`Channel`] passes the rare messages of their lives: orders, news, descriptors; [`Files`] what is too
//! long for a ring. Neighbours: `wire` gives the bytes a meaning; `engine` is the server's end, `worker` the other.

// What only links use is not reached by the models.
#![cfg_attr(loom, allow(dead_code))]

mod bell;
mod channel;
#[cfg(not(loom))]
mod files;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(not(loom))]
mod inherited;
mod interrupt;
#[cfg(not(loom))]
mod link;
mod memory;
#[cfg(loom)]
mod model;
mod os;
mod ring;
#[cfg(not(loom))]
mod segment;
mod slots;
mod sync;
#[cfg(not(loom))]
mod watch;

pub use bell::{Bell, Ring};
pub use channel::{Channel, Received};
#[cfg(not(loom))]
pub use files::{close_elsewhere, Files};
#[cfg(not(loom))]
pub use inherited::take_inherited;
pub use interrupt::Interrupt;
#[cfg(not(loom))]
pub use link::{pair, LinkFds, ServerEnd, WorkerEnd, FDS};
pub use memory::{give_back, give_back_what_has_grown};
#[cfg(loom)]
pub use model::Segment;
pub use os::Alarm;
pub use ring::{Assembler, Consumer, Producer, Sending};
#[cfg(not(loom))]
pub use segment::Segment;
pub use slots::{RequestId, Slots};
#[cfg(not(loom))]
pub use watch::Watched;

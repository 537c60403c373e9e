//! Shared memory between a server's I/O thread and a worker: segments, rings, slots and doorbells.
//!
//! A [`Link`] is all that two ends share: a ring of requests one way, a ring of replies the other, and a table of slots.
//! Each ring has one writer and one reader. The same code serves when both ends are threads of one process.
//! Neighbours: `wire` gives the bytes a meaning; `engine` is the server's end, `worker` the other.

mod attachment;
mod bell;
mod link;
mod memory;
mod ring;
mod segment;
mod slots;
mod watch;

pub use attachment::Attachment;
pub use bell::{Bell, Ring};
pub use link::{Link, ServerEnd, WorkerEnd};
pub use memory::give_back;
pub use ring::{Assembler, Consumer, Producer, Sending};
pub use segment::Segment;
pub use slots::{RequestId, Slots};
pub use watch::Watched;

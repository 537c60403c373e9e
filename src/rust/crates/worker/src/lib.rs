//! The side of the worker, without R: take a request, reply.
//!
//! One [`Worker`] has one link to the server. It is used from one thread. Replies may come in any order and at any
//! time, as a handler may answer with a promise. A [`CLink`] is the same for C handlers, which need no R and run on
//! threads of their own. Neighbours: `shm` (the links), `wire` (what the messages say), `binding` (the caller).
#![forbid(unsafe_code)]

mod c_link;
mod commands;
mod log_line;
mod notifying;
mod outbox;
mod packed;
mod sink;
mod spool;
mod streams;
mod wait;
mod worker;

pub use c_link::{CLink, CRest, CRoute};
pub use log_line::LogLine;
pub use streams::{Call, Rhythm};
pub use worker::{Job, Running, Worker, Written};

//! The side of the worker, without R: take a request, reply.
//!
//! One [`Worker`] has one link to the server. It is used from one thread. Replies may come in any order and at any time, as a
//! handler may answer with a promise.
//! Neighbours: `shm` (the links), `wire` (what the messages say), `binding` (who calls this).
#![forbid(unsafe_code)]

mod pace;
mod spool;
mod worker;

pub use worker::{Job, Running, Worker};

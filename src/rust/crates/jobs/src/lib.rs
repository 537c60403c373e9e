//! Jobs that outlive the request that asked for them, and the server: what was accepted, in which order attempts at it
//! are made, and what became of it. No HTTP and no R: a request is bytes, and so is a result.
//!
//! A [`Store`] is one file of SQLite (or memory), which one server at a time has open. [`Desk`] is the thread that has
//! the store: what is asked of it at once is one transaction, so that one write to the disk accepts many jobs.
//!
//! At least once: an attempt that ends with its server is made again. Every end of an attempt names it, and only the
//! latest attempt of a job is believed ([`Store::end`]).
#![forbid(unsafe_code)]

mod clock;
mod desk;
mod error;
mod id;
mod job;
mod layout;
mod store;

pub use clock::now;
pub use desk::{Answer, Desk};
pub use error::StoreError;
pub use id::JobId;
pub use job::{
    Accepted, Attempt, Bounds, Cancelled, End, Full, Job, Kept, NewJob, Outcome, Progress, Room, Rules, State,
};
pub use store::{Place, Store};

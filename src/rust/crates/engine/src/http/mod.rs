//! HTTP: from a socket to requests, and back.
//!
//! A connection's way: `nursery` until its first bytes are here, then, if it goes on, `connection`; `h1` or `h2` speaks
//! on its `line`, which is a `socket` with buffers, and calls `pipeline`. `state` is what a connection is doing,
//! `transfer` how a request's body and response move, `sweep` ends what takes too long.

mod body;
mod connection;
mod date;
mod fields;
mod h1;
mod h2;
mod lent;
mod line;
pub(crate) mod nursery;
mod socket;
mod state;
pub(crate) mod sweep;
mod transfer;
mod wakeup;

pub(crate) use body::{receive, Incoming, Received, Unread};
pub(crate) use connection::spawn;
pub(crate) use fields::check as check_fields;
#[cfg(fuzzing)]
pub use h1::fuzzing;
pub(crate) use h1::{is_token, is_value, Client};
pub(crate) use state::{now, Connection, OpenRequest};

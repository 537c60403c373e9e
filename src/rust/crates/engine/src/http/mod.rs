//! HTTP: from a socket to requests, and strictness that the HTTP library leaves open.
//!
//! A connection's way: `connection` -> `machine` (the library), which reads and writes by `stream` -> `line` (bytes, seen by `audit` before
//! the library) -> `socket`, and calls `pipeline`. `state` is what a connection is doing, `sweep` ends those that take too long at it.

mod audit;
mod body;
mod connection;
mod fields;
mod line;
mod machine;
mod socket;
mod state;
mod stream;
pub(crate) mod sweep;

pub(crate) use body::{receive, Received};
pub(crate) use connection::spawn;
pub(crate) use fields::check as check_fields;
pub(crate) use state::{now, Connection, OpenRequest};

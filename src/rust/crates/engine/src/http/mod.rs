//! HTTP: from a socket to requests, and strictness that the HTTP library leaves open.
//!
//! A connection's way: `connection` (which version) -> `stream` (bytes, seen by `audit` before the library) -> the library ->
//! `pipeline`. `state` is what a connection is doing, `sweep` ends those that take too long at it.

mod audit;
mod body;
mod connection;
mod fields;
mod state;
mod stream;
pub(crate) mod sweep;

pub(crate) use body::{receive, Received};
pub(crate) use connection::serve;
pub(crate) use fields::check as check_fields;
pub(crate) use state::{now, Connection, OpenRequest};

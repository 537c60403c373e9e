//! HTTP: from a listening socket to requests, and from responses back to their clients. What answers a request is a
//! [`Service`]: nothing here knows of routes, handlers or workers. (The crate `http`, which it uses, has the types of a
//! status or a field name.)
//!
//! A connection's way: `listen` and `accept` take it, it is in `new_connections` until its first bytes are here, then,
//! if it goes on, `serve` has it; `h1` or `h2` speaks on its `transport`, which is a `socket` with buffers, and calls
//! the service. `connection` is what it is doing, `transfer` how a request's body and response move, `timeouts` ends
//! what takes too long. `ws` is what a connection becomes that is answered with 101. `server` starts and ends it all.
#![forbid(unsafe_code)]
// what fuzz targets see is documented for those who work on it
#![cfg_attr(fuzzing, allow(missing_docs))]

mod accept;
mod body;
mod budget;
mod connection;
mod current_transport;
mod date;
mod descriptors;
mod fields;
mod h1;
mod h2;
mod head;
mod listen;
mod new_connections;
mod registry;
mod response;
mod serve;
mod server;
mod service;
mod shared;
mod socket;
mod timeouts;
mod transfer;
mod transport;
mod turn;
mod uploads;
mod wakeup;
pub mod ws;

pub use body::{receive, Incoming, Received};
pub use budget::{BodyRoom, Budget, FilePlace};
pub use connection::{Connection, OpenRequest};
pub use date::date;
pub use descriptors::make_room;
pub use fields::check as check_fields;
#[cfg(fuzzing)]
pub use h1::fuzzing;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use h2::fuzzing as fuzzing_http2;
pub use head::{ascii, Fields, Head, Version};
pub use listen::{Address, Listener};
pub use registry::watch_closely;
pub use response::{is_final, may_have_content, phrase_or_class, Body, End, Failure, Response, ResponseFields};
pub use server::{Options, Server};
pub use service::{Answering, Service};
pub use shared::{this_thread, Apart, Shared};
pub use uploads::Uploads;

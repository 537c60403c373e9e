//! HTTP: from a listening socket to requests, and from responses back to their clients. What answers a request is a
//! [`Service`]: nothing here knows of routes, handlers or workers. (The crate `http`, which it uses, has the types of a
//! status or a field name.)
//!
//! A connection's way: `listen` and `accept` take it, it is in `new_connections` until its first bytes are here, then,
//! if it goes on, `serve` has it; `h1` or `h2` speaks on its `transport`, which is a `stream` with buffers, and calls
//! the service. `connection` is what it is doing, `transfer` how a request's body and response move, `timeouts` ends
//! what takes too long. A `stream` is a `socket`, or `tls` on one. `ws` is what a connection becomes that is answered
//! with 101. `server` starts and ends it all.
#![forbid(unsafe_code)]
// items exported for fuzz targets are internal, and need no public docs
#![cfg_attr(feature = "fuzzing", allow(missing_docs))]

mod accept;
mod body;
mod budget;
mod client;
mod connection;
mod current_transport;
mod date;
mod descriptors;
mod early_hints;
mod fields;
mod forwarded;
mod h1;
mod h2;
mod head;
mod linger;
mod listen;
mod memory;
mod names;
mod new_connections;
mod places;
mod preamble;
mod registry;
mod response;
mod serve;
mod server;
mod service;
mod shared;
mod socket;
mod stream;
mod timeouts;
mod tls;
mod transfer;
mod transport;
mod turn;
mod underscores;
mod unpack;
mod uploads;
mod wakeup;
pub mod ws;

pub use body::{receive, too_large, Incoming, Received};
pub use budget::{BodyRoom, Budget, FilePlace};
pub use client::{Client, Proxies, RemoteAddress, Underscores};
pub use connection::{Connection, OpenRequest};
pub use date::date;
pub use descriptors::make_room;
pub use early_hints::EarlyHints;
pub use fields::{admit, check as check_fields};
pub use forwarded::{is_forwarded, Forwarded, REQUEST_ID};
#[cfg(feature = "fuzzing")]
pub use h1::fuzzing;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use h2::fuzzing as fuzzing_http2;
pub use head::{ascii, is_own_origin, Fields, Head, Version};
pub use listen::{Address, Listener, Role};
pub use registry::watch_closely;
pub use response::{
    is_final, may_have_content, phrase_or_class, Body, CommonFields, End, Failure, Response, ResponseFields,
};
pub use server::{Options, Server};
pub use service::{Answering, Service};
pub use shared::{this_thread, Apart, Shared};
pub use tls::{self_signed, Agreed, ClientAuth, MinVersion, SelfSigned, Tls, TlsSettings};
pub use unpack::Decoding;
pub use uploads::Uploads;

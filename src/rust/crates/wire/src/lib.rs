//! The message format between the server and a worker.
//!
//! Two messages: a [`Request`] goes to the worker, a [`Reply`] comes back; [`stream`] has what follows when a body
//! comes piece by piece, [`Notice`] what a handler says before its reply, [`websocket`] what is said of WebSockets,
//! [`task`] of what workers have others run, and [`control`] what is said beside requests.
//!
//! Each is one contiguous run of bytes: fixed words, then lengths, then the bytes that the lengths describe, in the
//! order of the fields. Numbers are in the machine's own byte order, as both ends are on one machine. A reader trusts
//! nothing: every length is checked against what is there, since the other end may be a worker that user code has
//! corrupted.
//!
//! Neighbours: `shm` carries the bytes, `engine` and `worker` are the two ends.
#![forbid(unsafe_code)]

pub mod command;
pub mod control;
mod notice;
mod reader;
mod reply;
mod request;
pub mod stream;
pub mod task;
pub mod websocket;

pub use notice::{links, Notice, Progress, LONGEST_NOTICE, MOST_LINKS};
pub use reader::WireError;
pub use reply::{stamp, ContentType, Reply, ReplyBody, ReplyHead, LONGEST_REPLY, LONGEST_SAID, SESSION};
pub use request::{tls_facts, BodyRef, Request, RequestHead, FLAG_HTTP2, FLAG_HTTPS, FLAG_NAMED, FLAG_WEBSOCKET};

/// What a message of the tests is as bytes.
#[cfg(test)]
fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

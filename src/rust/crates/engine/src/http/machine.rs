//! The HTTP/1.1 library's state machines, with their buffers. A connection needs one from the first byte of a request to the last one
//! of its answer; in between one is like another. So a thread keeps those that are free, and takes the one used last, whose memory is
//! still in the processor's cache: ten thousand idle connections cost little more than their sockets, and ten thousand busy ones
//! do not make the thread wait for memory.

use super::stream::Current;
use crate::pipeline;
use crate::server::Context as Server;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{service_fn, HttpService};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Free machines that a thread keeps while it is busy. One has some 20 kB of buffers.
const KEPT: usize = 256;

/// Header fields that the library has room for without asking for memory, which it would do for each request.
const ROOM: usize = 100;

thread_local! {
    static FREE: RefCell<Vec<Machine>> = const { RefCell::new(Vec::new()) };
    /// dropped since memory was last given back
    static DROPPED: Cell<usize> = const { Cell::new(0) };
}

/// One of them. To be polled by the task of a connection, within [`Current::is`].
pub type Machine = Pin<Box<dyn Run + Send>>;

pub trait Run {
    /// Reads, answers and writes as far as it gets. `Ready` when the connection is to end.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>;
    /// The answer that is being made is the last one.
    fn graceful_shutdown(self: Pin<&mut Self>);
}

impl<S> Run for http1::Connection<Current, S>
where
    S: HttpService<Incoming, ResBody = crate::respond::Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // an error is the client's going or a refusal: both are known from the state
        Future::poll(self, cx).map(drop)
    }

    fn graceful_shutdown(self: Pin<&mut Self>) {
        http1::Connection::graceful_shutdown(self);
    }
}

/// A machine with nothing under way.
pub fn take(server: &Arc<Server>) -> Machine {
    FREE.with(|free| free.borrow_mut().pop()).unwrap_or_else(|| new(server))
}

fn new(server: &Arc<Server>) -> Machine {
    let limits = server.limits.clone();
    let server = server.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let connection = Current::connection().expect("a machine runs for a connection");
        pipeline::handle(request, connection, &server)
    });
    let mut builder = http1::Builder::new();
    // the audit has the limits; the library needs room for the largest header section and request line that pass it
    builder.max_buf_size((limits.max_header_size + limits.max_request_line + 1024).max(8192));
    if limits.max_headers > ROOM {
        builder.max_headers(limits.max_headers);
    }
    Box::pin(builder.serve_connection(Current, service))
}

/// Takes back a machine that has nothing under way.
pub fn free(machine: Machine) {
    FREE.with(|free| {
        let mut free = free.borrow_mut();
        if free.len() < KEPT {
            free.push(machine);
        } else {
            DROPPED.set(DROPPED.get() + 1);
        }
    });
}

/// The thread has little to do: keeps one free machine only. Gives the number of machines dropped since this was last asked.
pub fn rest() -> usize {
    let free = FREE.with(|free| {
        let mut free = free.borrow_mut();
        let keep = free.len().min(1);
        free.split_off(keep)
    });
    DROPPED.replace(0) + free.len()
}

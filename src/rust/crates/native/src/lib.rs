//! C handlers: calls them, and is called by them. The one crate that knows `inst/include/drover.h`.
//!
//! The way of a request: `exchange` gives it to [`Natives`], which either calls the handler here (`inline`) or has a
//! thread of its `pool` do it. A handler of drover's interface sees a `handle` through the functions in `api`: of a
//! call that is under way (`direct`) or of a request that outlives it (`shared`). Those of drogonR's signatures are
//! called by `unary` and `stream`. Those of WebSockets, of both interfaces, are called by `websocket`, and what they
//! say goes through `open_websockets`. Every call of what users wrote goes by way of `guard`.
//!
//! Ownership: a handler's answer becomes an [`exchange::Answer`] without copies where the handler allows it; what it
//! lends is given back by the answer's drop.

mod abi;
mod api;
mod body;
mod buffers;
mod cancel;
mod check;
mod clock;
mod cookie;
mod direct;
mod draft;
mod form;
mod guard;
mod handle;
mod hold;
mod inline;
mod lent;
mod open_websockets;
mod pool;
mod received;
mod registry;
mod shared;
mod signals;
mod stream;
mod strings;
mod turn;
mod unary;
mod websocket;
mod websocket_api;

pub use registry::{Interface, Log, Spec, UserData};

use exchange::{Answer, Handlers, RequestView, Sink, WebSocketCommands};
use pool::{Job, ThreadPool};
use registry::{Callee, Registry};
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use wire::websocket::Event;

/// The C handlers of an app, ready to be called.
pub struct Natives {
    registry: Arc<Registry>,
    pool: ThreadPool,
}

impl Natives {
    /// `specs` are the handlers 1, 2, 3, ...; `threads` is how many run those that are not inline, at most. They are
    /// started when they are needed.
    ///
    /// # Errors
    /// When a spec cannot be: no function, or a content type that is none.
    ///
    /// # Safety
    /// Each function has the type of its interface. It, and what its data points at, stay what and where they are for
    /// as long as handlers may run: until [`Natives::stop`] has returned `true`, and no handle of `defer()` is left.
    pub unsafe fn new(specs: Vec<Spec>, threads: usize, log: Log) -> io::Result<Self> {
        // SAFETY: the caller's promise.
        let registry = Arc::new(unsafe { Registry::new(specs, log) }?);
        Ok(Natives { pool: ThreadPool::new(threads, registry.clone()), registry })
    }

    /// Takes no more requests, and drops those that wait. `true` when no handler runs on the pool any more, as it is
    /// within `patience` unless one is stuck: that one's thread ends after it.
    pub fn stop(&self, patience: Duration) -> bool {
        self.pool.stop(patience)
    }
}

impl Handlers for Natives {
    fn run(&self, handler: u32, request: &dyn RequestView, later: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        let Some(entry) = self.registry.entry(handler) else {
            return Some(registry::unknown());
        };
        match entry.callee {
            Callee::Unary(function) => {
                let _turn = turn::must_not_wait();
                Some(unary::call(function, entry, request))
            }
            Callee::Drover(function) => {
                let _turn = turn::must_not_wait();
                inline::call(function, handler, &self.registry, request, later)
            }
            // it waits for its client
            Callee::Stream(_) => {
                let mut message = self.buffer();
                request.encode(&mut message);
                self.submit(handler, message, Instant::now(), later());
                self.flush();
                None
            }
            Callee::Ws(_) | Callee::Socket(_) => Some(registry::no_requests()),
        }
    }

    fn submit(&self, handler: u32, message: Vec<u8>, received: Instant, sink: Arc<dyn Sink>) {
        self.pool.submit(Job { handler, message, received, sink });
    }

    fn buffer(&self) -> Vec<u8> {
        buffers::take()
    }

    fn flush(&self) {
        self.pool.flush();
    }

    fn speak_to(&self, commands: Weak<dyn WebSocketCommands>) {
        open_websockets::belong_to(commands);
    }

    fn event(&self, handler: u32, event: &Event<'_>, request: Option<&dyn RequestView>) -> Option<Answer> {
        websocket::event(handler, &self.registry, event, request)
    }
}

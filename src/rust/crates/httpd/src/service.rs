//! What answers requests, as HTTP knows it: whoever implements [`Service`] decides what a response is. HTTP knows
//! nothing of routes, handlers or workers.

use crate::body::Incoming;
use crate::connection::Connection;
use crate::head::Head;
use crate::response::{Failure, Response};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// See the module. One for a server; each of its I/O threads calls it.
pub trait Service: Send + Sync {
    /// Answers a request. What need not wait is done when this returns, and costs no task's state.
    fn answer(&self, head: Head, body: Incoming, connection: Arc<Connection>) -> Answering;

    /// Bytes of which no request could be made were refused with this failure; `id` names it in the log.
    fn refused(&self, connection: &Connection, id: u64, failure: &Failure);

    /// How much it can take, for a balancer: a line of HAProxy's agent-check.
    fn capacity(&self) -> String {
        String::new()
    }

    /// Looks at the clock of every request that is out: called many times a second while there are any. `true` while
    /// there are.
    fn expire(&self) -> bool;

    /// Memory may be given back to the system: every few seconds, and when a `crowd` of connections has gone.
    fn give_back(&self, _crowd: bool) {}

    /// An I/O thread begins, in the context of its runtime.
    fn begin(&self) {}

    /// An I/O thread ends; its runtime is still there.
    fn end(&self) {}

    /// An I/O thread has not slept for a while, nor looked at what comes from elsewhere than its sockets.
    fn turn(&self) {}

    /// An I/O thread is about to sleep.
    fn park(&self) {}

    /// An I/O thread is awake again.
    fn unpark(&self) {}
}

/// The response that a request will have.
pub enum Answering {
    /// taken when it is asked for
    Now(Option<Response>),
    /// when others have made it
    Later(Pin<Box<dyn Future<Output = Response> + Send>>),
}

//! The handlers of an app that are not R, by the numbers that its routes have.

use crate::{Answer, RequestView, Sink, WebSocketCommands};
use std::sync::{Arc, Weak};
use std::time::Instant;
use wire::websocket::Event;

/// See the module. `handler` is the number of one, from 1.
pub trait Handlers: Send + Sync {
    /// Runs a handler that has promised not to block, on this thread. `None` when it answers later: then it has called
    /// `later` for the sink, once, before this returns.
    fn run(&self, handler: u32, request: &dyn RequestView, later: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer>;

    /// Has a thread run the handler, soon: no later than after [`Handlers::flush`]. `message` is the request, of
    /// `wire`; `received` is when it came. How many may wait, and for how long, is the caller's to decide: it says so
    /// in [`Sink::start`].
    fn submit(&self, handler: u32, message: Vec<u8>, received: Instant, sink: Arc<dyn Sink>);

    /// An empty buffer for a message that is to be submitted: one that was used before, where there is one. Memory that
    /// one thread gets and another frees is dear.
    fn buffer(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Threads are to begin with what this thread has submitted. Whoever submits calls it before it sleeps, so that
    /// many requests that came together wake a thread once.
    fn flush(&self);

    /// From now on what handlers want done with WebSockets goes there, if it is still there.
    fn speak_to(&self, _commands: Weak<dyn WebSocketCommands>) {}

    /// Has a handler of WebSockets deal with what has happened on one, on this thread: it has promised not to block.
    /// `request` is that of a connect. `None` when all is well. Otherwise, of a connect: the answer with which the
    /// client is refused; of anything else: what went wrong, for the log.
    fn event(&self, _handler: u32, _event: &Event<'_>, _request: Option<&dyn RequestView>) -> Option<Answer> {
        Some(Answer::Failure { status: 500, detail: "".into(), why: "it has no handlers of WebSockets".into() })
    }
}

//! An open WebSocket with a handler in C that runs in this process: it is called as things happen, on the thread of the
//! connection, so nothing waits.

use super::entered::Entered;
use super::event::Identity;
use super::Place;
use crate::context::Context;
use httpd::ws::{Close, Handler, Message, ToSend};
use observe::Level;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use wire::websocket::{Event, What};

/// See the module.
pub struct Here {
    identity: Identity,
    /// `None` once it is over
    entered: Option<Entered>,
    /// of its route, which another app may have, too
    pattern: Arc<str>,
    context: Arc<Context>,
    /// why the server ends the connection
    close: Option<Close>,
    _place: Place,
}

impl Here {
    pub fn new(identity: Identity, entered: Entered, pattern: Arc<str>, context: Arc<Context>, place: Place) -> Self {
        Here { identity, entered: Some(entered), pattern, context, close: None, _place: place }
    }

    fn happens(&mut self, what: What<'_>) {
        let app = self.context.app();
        let route = app.websockets.with_pattern(&self.pattern).filter(|route| route.runs != dispatch::Runs::R);
        let (Some(route), Some(natives)) = (route, &app.natives) else {
            self.close = Some(Close::new(Close::SERVICE_RESTART, "this path has no such WebSocket any more"));
            return;
        };
        let event = Event { connection: self.identity.connection, state: &[], what };
        if let Some(exchange::Answer::Failure { why, .. }) = natives.handlers.event(route.asks, &event, None) {
            let server = self.identity.from.connection.server();
            let id = server.next_id();
            server.log.line(Level::Error, &self.identity.line(id, &what, &why));
        }
    }
}

impl Handler for Here {
    fn poll_ready(&mut self, _: &mut Task<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn take(&mut self, message: Message) {
        let what = if message.is_text { What::Text(&message.bytes) } else { What::Binary(&message.bytes) };
        self.happens(what);
    }

    fn poll_next(&mut self, cx: &mut Task<'_>) -> Poll<ToSend> {
        match self.close.take() {
            Some(close) => Poll::Ready(ToSend::Close(close)),
            None => self.entered.as_ref().map_or(Poll::Pending, |entered| entered.poll_next(cx)),
        }
    }

    fn poll_given_up(&mut self, cx: &mut Task<'_>) -> Poll<Close> {
        let entered = self.entered.as_ref();
        entered.map_or(Poll::Pending, |entered| entered.poll_given_up(&self.identity.from.connection, cx))
    }

    fn end(mut self: Box<Self>, close: Close) {
        // it is in no room any more when its handler hears of it
        self.entered = None;
        self.happens(What::Close { code: close.code, reason: close.reason.as_bytes() });
    }
}

//! WebSockets of a server: what follows when a request was answered with 101, or over HTTP/2 with 200 (RFC 8441). What
//! frames are is in the crate `websocket`; what a message means is for the [`Handler`].
//!
//! `handshake` reads what a client asks for; `connection` is the order of things, on a `line`; `write` adds frames to
//! that.

mod connection;
mod handshake;
mod line;
mod write;

pub use connection::serve;
pub use handshake::{is_wanted, wanting, Handshake};
pub(crate) use line::Line;
pub use websocket::{Close, Deflate, Message};

use exchange::Packet;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a WebSocket is to whoever has accepted it. All calls come from the task of the connection.
pub trait Handler: Send {
    /// Goes on with what came before. Ready when it takes another message.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// A message has come, after [`Handler::poll_ready`].
    fn take(&mut self, message: Message);

    /// The next thing to be sent.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<ToSend>;

    /// Asked while the client takes nothing: ready when that is to have an end, now.
    fn poll_given_up(&mut self, cx: &mut Context<'_>) -> Poll<Close>;

    /// The connection is over. Called once, also when it never was open: a client may leave before it is told that it
    /// was accepted.
    fn end(self: Box<Self>, close: Close);
}

/// A connection that is only closed, for this reason.
pub struct Refusing(pub Option<Close>);

impl Handler for Refusing {
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn take(&mut self, _: Message) {}

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<ToSend> {
        self.0.take().map_or(Poll::Pending, |close| Poll::Ready(ToSend::Close(close)))
    }

    fn poll_given_up(&mut self, _: &mut Context<'_>) -> Poll<Close> {
        Poll::Pending
    }

    fn end(self: Box<Self>, _: Close) {}
}

/// What goes out.
#[derive(Debug)]
pub enum ToSend {
    /// a message
    Message(Arc<Packet>),
    /// the connection ends; nothing comes after it
    Close(Close),
}

/// What may come on a WebSocket, and how long it may take. Times are in ms; `u64::MAX` for no end.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// longest message in bytes, also when it is unpacked
    pub max_message: usize,
    /// a client that has said nothing for so long is asked whether it is there, and given up after as long again
    pub ping_interval: u64,
    /// a connection on which no message has come or gone for so long ends
    pub idle_timeout: u64,
    /// whether messages that go count for that
    pub counts_sent: bool,
    /// every connection ends after so long
    pub max_lifetime: u64,
}

/// A WebSocket that was accepted: the body of the response that says so.
pub struct Accepted {
    /// what it is for
    pub handler: Box<dyn Handler>,
    /// how it is compressed, if it is
    pub deflate: Option<Deflate>,
    /// what may come
    pub bounds: Bounds,
}

impl Accepted {
    /// It is over.
    fn end(&mut self, close: Close) {
        std::mem::replace(&mut self.handler, Box::new(Refusing(None))).end(close);
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        self.end(Close::new(Close::ABNORMAL, ""));
    }
}

//! What is to be sent on a connection and was not taken yet. Bounded: a client that does not read is given up before it
//! fills the server's memory.

use exchange::Packet;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The client does not read what it is sent, or the server cannot go on for another reason: RFC 6455's registry.
const TRY_AGAIN_LATER: u16 = 1013;

/// What is to be done on a connection.
#[derive(Debug, Clone)]
pub enum Outgoing {
    /// a message goes out
    Message(Arc<Packet>),
    /// the connection ends; nothing comes after it
    Close(u16, String),
}

/// See the module.
#[derive(Debug)]
pub struct Mailbox {
    inner: Mutex<Inner>,
    /// most that may wait, in bytes
    limit: usize,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Outgoing>,
    bytes: usize,
    /// bytes of the message that was taken last: until the next is asked for, the socket may have them
    taken: usize,
    /// a close was the last thing
    is_closed: bool,
    /// that was because the client does not read
    is_over: bool,
    waker: Option<Waker>,
}

impl Mailbox {
    /// An empty mailbox with this limit in bytes.
    pub fn new(limit: usize) -> Self {
        Mailbox { inner: Mutex::default(), limit }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // no thread panics while holding it
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message for the client. One too many ends the connection, as the client does not read.
    pub fn send(&self, packet: Arc<Packet>) {
        let mut inner = self.inner();
        if inner.is_closed {
            return;
        }
        let worth = packet.worth();
        // one alone always fits: it was allowed when it was made
        if !inner.waiting.is_empty() && inner.bytes + worth > self.limit {
            inner.give_up();
        } else {
            inner.bytes += worth;
            inner.waiting.push_back(Outgoing::Message(packet));
        }
        wake(inner);
    }

    /// The connection is to end, after what waits.
    pub fn close(&self, code: u16, reason: &str) {
        let mut inner = self.inner();
        if !inner.is_closed {
            inner.end(code, reason);
            wake(inner);
        }
    }

    /// How many bytes wait here, or are with the socket. None of a client that is given up.
    pub fn held(&self) -> usize {
        let inner = self.inner();
        if inner.is_over {
            0
        } else {
            inner.bytes + inner.taken
        }
    }

    /// The client is given up, as it does not read. How many bytes are still with the socket, until that ends.
    pub fn give_up(&self) -> usize {
        let mut inner = self.inner();
        let taken = inner.taken;
        inner.give_up();
        wake(inner);
        taken
    }

    /// Ready when the client is given up. Asked instead of [`Mailbox::poll`] while nothing can be sent.
    pub fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.inner();
        if inner.is_over {
            return Poll::Ready(());
        }
        inner.waits(cx);
        Poll::Pending
    }

    /// The next thing to be done.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<Outgoing> {
        let mut inner = self.inner();
        inner.taken = 0;
        let Some(next) = inner.waiting.pop_front() else {
            inner.waits(cx);
            return Poll::Pending;
        };
        if let Outgoing::Message(packet) = &next {
            inner.taken = packet.worth();
            inner.bytes -= inner.taken;
        }
        if inner.waiting.is_empty() {
            // a crowd that was told something once does not keep the space for it
            inner.waiting = VecDeque::new();
        }
        Poll::Ready(next)
    }
}

impl Inner {
    fn waits(&mut self, cx: &mut Context<'_>) {
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
    }

    fn give_up(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
        self.is_over = true;
        self.end(TRY_AGAIN_LATER, "too much waits to be read");
    }

    fn end(&mut self, code: u16, reason: &str) {
        self.waiting.push_back(Outgoing::Close(code, reason.to_owned()));
        self.is_closed = true;
    }
}

fn wake(mut inner: MutexGuard<'_, Inner>) {
    let waker = inner.waker.take();
    drop(inner);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use exchange::Unread;

    const OVERHEAD: usize = Unread::OVERHEAD;

    fn next(mailbox: &Mailbox) -> Option<String> {
        match mailbox.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Outgoing::Message(packet)) => Some(String::from_utf8(packet.payload.to_vec()).unwrap()),
            Poll::Ready(Outgoing::Close(code, reason)) => Some(format!("{code} {reason}")),
            Poll::Pending => None,
        }
    }

    fn packet(text: &str) -> Arc<Packet> {
        Arc::new(Packet::new(true, Bytes::copy_from_slice(text.as_bytes()), &Unread::default()))
    }

    #[test]
    fn in_order_and_nothing_after_a_close() {
        let mailbox = Mailbox::new(1000);
        mailbox.send(packet("a"));
        mailbox.send(packet("b"));
        mailbox.close(4000, "bye");
        mailbox.send(packet("c"));
        mailbox.close(1000, "");
        assert_eq!([next(&mailbox), next(&mailbox)], [Some("a".into()), Some("b".into())]);
        assert_eq!([next(&mailbox), next(&mailbox)], [Some("4000 bye".into()), None]);
    }

    #[test]
    fn who_does_not_read_is_given_up() {
        let mailbox = Mailbox::new(1000);
        mailbox.send(packet(&"x".repeat(5000)));
        assert_eq!(next(&mailbox).map(|text| text.len()), Some(5000), "one is sent whatever its size");
        for _ in 0..15 {
            mailbox.send(packet("x"));
        }
        assert_eq!(next(&mailbox), Some("x".into()));
        assert!(mailbox.poll_over(&mut Context::from_waker(Waker::noop())).is_pending());
        mailbox.send(packet("y"));
        mailbox.send(packet("z"));
        assert!(mailbox.poll_over(&mut Context::from_waker(Waker::noop())).is_ready());
        assert_eq!(next(&mailbox), Some("1013 too much waits to be read".into()));
        assert_eq!(next(&mailbox), None);
    }

    #[test]
    fn what_a_client_holds_is_with_its_socket_too() {
        let mailbox = Mailbox::new(1000);
        mailbox.send(packet(&"x".repeat(400)));
        mailbox.send(packet("y"));
        assert_eq!(mailbox.held(), 401 + 2 * OVERHEAD);
        next(&mailbox);
        assert_eq!(mailbox.held(), 401 + 2 * OVERHEAD);
        next(&mailbox);
        assert_eq!(mailbox.held(), 1 + OVERHEAD, "the socket asks for more when it has sent what it had");
        next(&mailbox);
        assert_eq!(mailbox.held(), 0);
        mailbox.send(packet("z"));
        next(&mailbox);
        mailbox.send(packet("z"));
        assert_eq!((mailbox.give_up(), mailbox.held()), (1 + OVERHEAD, 0));
        assert!(mailbox.poll_over(&mut Context::from_waker(Waker::noop())).is_ready());
    }
}

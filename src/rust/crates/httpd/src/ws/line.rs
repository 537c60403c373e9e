//! What a WebSocket runs on: a connection of HTTP/1.1 that has become one, or a stream of HTTP/2.

use crate::connection::{Connection, Directive};
use crate::transport::Transport;
use bytes::Bytes;
use std::io;
use std::task::{ready, Context, Poll, Waker};
use websocket::Reader;

/// See the module. What is added is sent by [`Line::poll_flush`], before more is added to a full one.
pub trait Line {
    /// The task's turn begins, and ends: in between there are buffers.
    fn begin(&mut self);
    fn rest(&mut self);

    /// Where the task is woken that has it, and what the server wants of it.
    fn set_waker(&self, connection: &Connection, waker: &Waker);
    fn directive(&self, connection: &Connection) -> Directive;

    /// Gives what has come to the reader. The number of bytes; 0 when the client has ended its side.
    fn poll_read(&mut self, cx: &mut Context<'_>, reader: &mut Reader) -> Poll<io::Result<usize>>;

    /// Where to write what is to be sent.
    fn output(&mut self) -> &mut Vec<u8>;
    /// Adds bytes behind it.
    fn push(&mut self, bytes: Bytes);
    /// Whether it has to be sent before more is added.
    fn is_full(&self) -> bool;
    /// Sends it.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

impl Line for Box<Transport> {
    fn begin(&mut self) {
        Transport::begin(self);
    }

    fn rest(&mut self) {
        Transport::rest(self);
    }

    fn set_waker(&self, connection: &Connection, waker: &Waker) {
        connection.set_waker(waker);
    }

    fn directive(&self, connection: &Connection) -> Directive {
        connection.directive()
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, reader: &mut Reader) -> Poll<io::Result<usize>> {
        if self.input().is_empty() {
            let filled = self.poll_fill(cx);
            self.watch(cx)?;
            if ready!(filled)? == 0 {
                return Poll::Ready(Ok(0));
            }
        }
        let n = self.input().len();
        reader.add(self.input());
        self.consume(n);
        Poll::Ready(Ok(n))
    }

    fn output(&mut self) -> &mut Vec<u8> {
        Transport::output(self)
    }

    fn push(&mut self, bytes: Bytes) {
        Transport::push(self, bytes);
    }

    fn is_full(&self) -> bool {
        Transport::is_full(self)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Transport::poll_flush(self, cx)
    }
}

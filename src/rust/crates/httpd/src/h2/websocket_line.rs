//! A stream of HTTP/2 that has become a WebSocket (RFC 8441), as the WebSocket has it.

use super::stream::Stream;
use crate::connection::{Connection, Directive};
use crate::ws::{self, Accepted, Line};
use bytes::Bytes;
use h2::RecvStream;
use std::io;
use std::task::{ready, Context, Poll, Waker};
use websocket::Reader;

/// This many bytes are sent before more is added.
const FULL: usize = 16 << 10;

/// See the module.
struct SocketLine {
    stream: Stream,
    from_client: RecvStream,
    output: Vec<u8>,
}

impl SocketLine {
    fn new(stream: Stream, from_client: RecvStream) -> Self {
        SocketLine { stream, from_client, output: Vec::new() }
    }

    /// All has been said: what is left is for the client to take.
    fn into_stream(mut self) -> Stream {
        self.stream.hand_over_last();
        self.stream
    }
}

/// Serves it to its end, in a task of its own.
pub fn spawn(stream: Stream, from_client: RecvStream, accepted: Accepted) {
    let connection = stream.connection().clone();
    tokio::spawn(async move {
        let (line, _) = ws::serve(SocketLine::new(stream, from_client), accepted, &connection).await;
        line.into_stream().await;
    });
}

fn gone() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl Line for SocketLine {
    fn begin(&mut self) {}

    fn rest(&mut self) {
        if self.output.is_empty() {
            self.output = Vec::new();
        }
    }

    fn set_waker(&self, _: &Connection, waker: &Waker) {
        self.stream.transfer().set_waker(waker);
    }

    fn directive(&self, connection: &Connection) -> Directive {
        if self.stream.transfer().is_response_late() {
            return Directive::WriteTimeout;
        }
        // what is more than that ends the connection, and the stream with it
        connection.directive().min(Directive::Drain)
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, reader: &mut Reader) -> Poll<io::Result<usize>> {
        loop {
            let Some(piece) = ready!(self.from_client.poll_data(cx)) else { return Poll::Ready(Ok(0)) };
            let piece = piece.map_err(|_| gone())?;
            // an error is the connection's end, which the next poll tells
            let _ = self.from_client.flow_control().release_capacity(piece.len());
            if !piece.is_empty() {
                reader.add(&piece);
                return Poll::Ready(Ok(piece.len()));
            }
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn push(&mut self, bytes: Bytes) {
        self.output.extend_from_slice(&bytes);
    }

    fn is_full(&self) -> bool {
        self.output.len() >= FULL
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.output.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if !self.stream.transfer().is_low() {
            // its waker is told when the client has taken some
            return Poll::Pending;
        }
        let bytes = std::mem::take(&mut self.output);
        Poll::Ready(self.stream.hand_over(bytes.into(), false).ok_or_else(gone))
    }
}

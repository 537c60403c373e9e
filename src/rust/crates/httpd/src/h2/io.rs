//! The transport of the connection as the library reads and writes it.

use super::frames::Frames;
use crate::connection::{Connection, Order};
use crate::current_transport;
use crate::transport::Transport;
use exchange::now;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// See the module.
pub struct Io {
    frames: Frames,
    state: Arc<Connection>,
}

impl Io {
    pub fn new(state: Arc<Connection>) -> Self {
        Io { frames: Frames::new(now()), state }
    }

    /// Looks at what has been read, before the library does.
    fn note(&mut self, bytes: &[u8]) {
        let state = &self.state;
        let calm = self.frames.read(bytes, now(), |stream, n| state.body_moves(stream, n));
        if !calm {
            state.give(Order::Calm);
        }
        if self.frames.has_begun() {
            state.settled();
        } else {
            state.head_comes();
        }
        state.has_part(self.frames.is_in_part());
    }
}

fn poll<T>(f: impl FnOnce(&mut Transport) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    current_transport::borrow(f).unwrap_or_else(|| Poll::Ready(Err(io::ErrorKind::NotConnected.into())))
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(poll(|io| {
            if io.input().is_empty() {
                let filled = io.poll_fill(cx);
                io.watch(cx)?;
                ready!(filled)?;
            }
            let n = io.input().len().min(into.remaining());
            into.put_slice(&io.input()[..n]);
            io.consume(n);
            Poll::Ready(Ok(()))
        }))?;
        self.note(&into.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let n = ready!(poll(|io| io.poll_write(cx, bufs)))?;
        self.frames.wrote(n);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The library is through. The connection ends the sending side itself, in its own time.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

//! The line to a client as the HTTP library has it.
//!
//! The library's state machines are not bound to a client. What they take for their stream is [`Current`]: the line of the task that runs
//! them just then. So a machine that has nothing under way can serve another client next (`machine`).

use super::line::Line;
use super::state::Connection;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

thread_local! {
    static CURRENT: Cell<Option<Box<Line>>> = const { Cell::new(None) };
}

/// The line of the task that runs.
pub struct Current;

impl Current {
    /// Runs `f` with the line as the current one.
    pub fn is<T>(line: &mut Option<Box<Line>>, f: impl FnOnce() -> T) -> T {
        /// Gives the line back, also when a panic goes through.
        struct Back<'a>(&'a mut Option<Box<Line>>);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                *self.0 = CURRENT.take();
            }
        }
        CURRENT.set(line.take());
        let _back = Back(line);
        f()
    }

    /// Whose line it is. `None` outside of [`Current::is`].
    pub fn connection() -> Option<Arc<Connection>> {
        Current::with(|line| line.connection().clone())
    }

    fn with<T>(f: impl FnOnce(&mut Line) -> T) -> Option<T> {
        let mut line = CURRENT.take()?;
        let result = f(&mut line);
        CURRENT.set(Some(line));
        Some(result)
    }

    fn poll<T>(f: impl FnOnce(&mut Line) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        Current::with(f).unwrap_or_else(|| Poll::Ready(Err(io::ErrorKind::NotConnected.into())))
    }
}

impl Read for Current {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Current::poll(|line| line.poll_read(cx, buf))
    }
}

impl Write for Current {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Current::poll(|line| line.poll_write(cx, &[IoSlice::new(buf)]))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Current::poll(|line| line.poll_write(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Current::poll(|line| line.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Current::poll(|line| line.poll_shutdown(cx))
    }
}

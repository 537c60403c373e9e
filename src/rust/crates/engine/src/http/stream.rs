//! The bytes of a connection on their way to and from the HTTP library.
//!
//! Reading goes through a buffer of the thread, where the audit sees the bytes first; what it refuses never reaches the
//! library, which sees the stream end just before. Both directions keep the connection's clocks.
//!
//! Writing goes straight through, unless a further request is already here: then its answer joins this one in a single write.
//! (The library's own `pipeline_flush` would not do: it writes nothing while any byte is unread, so what stands behind a
//! `Connection: close`, or half of a request, keeps an answer from ever being written.)

use super::audit::Audit;
use super::state::Connection;
use admission::Limits;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes read at a time. One buffer for all connections of a thread.
const SCRATCH: usize = 64 << 10;

/// The client's preface and the header of its first frame (RFC 9113 sections 3.4 and 4.1).
const HTTP2_BEGINNING: usize = 24 + 9;
/// What counts as a small answer, in bytes.
const SMALL: usize = 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// Answers wait for the next one up to this many bytes.
const MAX_HELD: usize = 16 << 10;

/// Where a socket is found again when the library that had it is dropped.
#[derive(Clone, Default)]
pub struct Return(Arc<Mutex<Option<TcpStream>>>);

impl Return {
    /// The socket, once its [`Stream`] is gone.
    pub fn take(&self) -> Option<TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// See the module.
pub struct Stream {
    /// `None` only while it is being dropped
    io: Option<TcpStream>,
    back: Return,
    state: Arc<Connection>,
    /// none for HTTP/2, whose framing is binary
    audit: Option<Audit>,
    /// bytes of an HTTP/2 connection's beginning that are still to come
    unsettled: usize,
    limits: Arc<Limits>,
    /// answers that wait for the next one
    held: Vec<u8>,
}

impl Stream {
    pub fn http1(io: TcpStream, back: Return, state: Arc<Connection>, limits: Arc<Limits>) -> Self {
        Stream { io: Some(io), back, state, audit: Some(Audit::new()), unsettled: 0, limits, held: Vec::new() }
    }

    pub fn http2(io: TcpStream, back: Return, state: Arc<Connection>, limits: Arc<Limits>) -> Self {
        Stream { io: Some(io), back, state, audit: None, unsettled: HTTP2_BEGINNING, limits, held: Vec::new() }
    }

    fn io(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.io.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// How many of the bytes may pass.
    fn examine(&mut self, bytes: &[u8]) -> usize {
        let Some(audit) = &mut self.audit else {
            self.settle(bytes.len());
            return bytes.len();
        };
        match audit.read(bytes, &self.limits) {
            Ok(()) => {
                self.state.bytes_came(audit.heads(), audit.in_head());
                bytes.len()
            }
            Err((sound, refusal)) => {
                self.state.bytes_came(audit.heads(), false);
                let in_body = !audit.between_requests() && !audit.in_head();
                self.state.refuse(refusal, in_body);
                sound
            }
        }
    }

    /// HTTP/2 begins with a preface and the client's settings; only then may the connection idle.
    fn settle(&mut self, bytes: usize) {
        if self.unsettled > 0 {
            self.unsettled = self.unsettled.saturating_sub(bytes);
            if self.unsettled == 0 {
                self.state.settled();
            } else {
                self.state.bytes_came(0, true);
            }
        }
    }

    /// What to tell the library after a refusal.
    fn refused(&self) -> Poll<io::Result<()>> {
        if self.state.refusal().is_some_and(|(_, in_body)| in_body) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "refused")));
        }
        // a request before the refused one is still to be answered: the end of the stream would look like its client's end
        if self.state.open_requests() > 0 || self.state.is_behind() {
            return Poll::Pending;
        }
        self.state.refusal_reached();
        Poll::Ready(Ok(()))
    }

    /// Whether an answer may wait, because the library has another whole header section and will come with its answer,
    /// or come to flush while that is being made.
    fn holds(&self) -> bool {
        self.audit.is_some() && self.state.open_requests() == 0 && self.state.is_behind()
    }

    fn write_held(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let io = self.io.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let poll = Pin::new(io).poll_write(cx, &self.held);
            match ready!(self.note(poll))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => drop(self.held.drain(..n)),
            }
        }
        // an idle connection keeps no buffer
        self.held = Vec::new();
        Poll::Ready(Ok(()))
    }
}

impl Read for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.state.is_refused() {
            return this.refused();
        }
        BUFFER.with(|buffer| {
            let mut buffer = buffer.borrow_mut();
            let want = buf.remaining().min(SCRATCH);
            let mut into = ReadBuf::new(&mut buffer[..want]);
            ready!(this.io()?.poll_read(cx, &mut into))?;
            let bytes = into.filled();
            if bytes.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let pass = this.examine(bytes);
            if pass == 0 {
                return this.refused();
            }
            buf.put_slice(&bytes[..pass]);
            Poll::Ready(Ok(()))
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(io) = self.io.as_ref().filter(|_| !self.held.is_empty()) {
            // the library has failed without its last flush: a best effort, as after any failure
            let _ = io.try_write(&self.held);
        }
        *self.back.0.lock().unwrap_or_else(PoisonError::into_inner) = self.io.take();
    }
}

impl Stream {
    fn note<T>(&self, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.state.wrote(poll.is_ready());
        poll
    }
}

/// Head and body of a small answer side by side: copying them costs less than what the kernel does for a vector of them.
fn joined<'b>(bufs: &[IoSlice<'_>], space: &'b mut [u8; SMALL]) -> Option<&'b [u8]> {
    let mut size = 0;
    for buf in bufs {
        space.get_mut(size..size + buf.len())?.copy_from_slice(buf);
        size += buf.len();
    }
    Some(&space[..size])
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.held.is_empty() || self.holds() {
            let size = bufs.iter().map(|buf| buf.len()).sum::<usize>();
            if self.held.len() + size <= MAX_HELD {
                bufs.iter().for_each(|buf| self.held.extend_from_slice(buf));
                return Poll::Ready(Ok(size));
            }
            ready!(self.write_held(cx))?;
        }
        let poll = match bufs {
            [one] => self.io()?.poll_write(cx, one),
            _ => match joined(bufs, &mut [0; SMALL]) {
                Some(all) => self.io()?.poll_write(cx, all),
                None => self.io()?.poll_write_vectored(cx, bufs),
            },
        };
        self.note(poll)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() || self.holds() {
            return Poll::Ready(Ok(()));
        }
        self.write_held(cx)
    }

    // `connection` ends the sending side itself, in its own time
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write_held(cx)
    }
}

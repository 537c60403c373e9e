//! The line to a client: its socket, and what is known of the bytes that go through.
//!
//! Reading goes through a buffer of the thread, where the audit sees the bytes first; what it refuses never reaches the
//! library, which sees the stream end just before. Both directions keep the connection's clocks.
//!
//! Writing goes straight through, unless a further request is already here: then its answer joins this one in a single write.
//! (The library's own `pipeline_flush` would not do: it writes nothing while any byte is unread, so what stands behind a
//! `Connection: close`, or half of a request, keeps an answer from ever being written.)
//!
//! Neighbours: `stream` is what the library has of it; `connection` waits for it.

use super::audit::Audit;
use super::socket::Socket;
use super::state::Connection;
use admission::Limits;
use hyper::rt::ReadBufCursor;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// Bytes read at a time. One buffer for all connections of a thread.
const SCRATCH: usize = 64 << 10;

/// What a client with prior knowledge of HTTP/2 begins with (RFC 9113 section 3.4). Three bytes tell it from any method.
const PREFACE: &[u8] = b"PRI";
/// The client's preface and the header of its first frame (RFC 9113 sections 3.4 and 4.1).
const HTTP2_BEGINNING: usize = 24 + 9;

/// What counts as a small answer, in bytes.
const SMALL: usize = 1024;
/// Answers wait for the next one up to this many bytes.
const MAX_HELD: usize = 16 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// What the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// not known before its first bytes
    Unknown,
    Http1,
    Http2,
}

/// See the module.
pub struct Line {
    socket: Socket,
    state: Arc<Connection>,
    limits: Arc<Limits>,
    audit: Audit,
    version: Version,
    /// the client has ended its side, with nothing under way
    ended: bool,
    /// the library has asked for more since it was given something
    starved: bool,
    /// answers that wait for the next one
    held: Vec<u8>,
    /// first bytes that the library has not got: they do not tell the version yet, or tell HTTP/2
    early: Vec<u8>,
    /// bytes of an HTTP/2 connection's beginning that are still to come
    unsettled: usize,
}

impl Line {
    pub fn new(socket: Socket, state: Arc<Connection>, limits: Arc<Limits>) -> Self {
        Line {
            socket,
            state,
            limits,
            audit: Audit::new(),
            version: Version::Unknown,
            ended: false,
            starved: false,
            held: Vec::new(),
            early: Vec::new(),
            unsettled: HTTP2_BEGINNING,
        }
    }

    /// Whose line it is.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.state
    }

    /// The socket alone, once nothing is to be said any more.
    pub fn into_socket(mut self) -> Socket {
        if !self.held.is_empty() {
            // the library has failed without its last flush: a best effort, as after any failure
            let _ = self.socket.try_write(&self.held);
        }
        self.socket
    }

    /// Before the task waits: it will be woken when there is something to read.
    ///
    /// # Errors
    /// When the runtime cannot watch the socket.
    pub fn watch(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.socket.watch(cx)
    }

    /// Whether the client began with the preface of HTTP/2.
    pub fn is_http2(&self) -> bool {
        self.version == Version::Http2
    }

    /// Whether the client has ended its side with nothing under way.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether the kernel has taken all that was to be written.
    pub fn is_written(&self) -> bool {
        self.held.is_empty() && !self.state.is_write_blocked()
    }

    /// Whether nothing of a request is read or under way, nothing of a response has to be written, and the library waits for a next
    /// request with nothing of it read: then any other library of the same kind could take its place.
    pub fn is_at_rest(&self) -> bool {
        self.starved
            && self.audit.is_clean()
            && self.held.is_empty()
            && self.early.is_empty()
            && self.state.is_at_rest()
            && !self.state.is_refused()
    }

    /// Whether the client has said that it sends nothing any more, and all that it had sent is answered. Then the
    /// connection may be closed without reading on: no byte can come that would make the kernel reset it.
    pub fn is_complete(&self) -> bool {
        self.ended
            || (self.audit.was_last() && self.audit.is_clean() && !self.state.is_behind() && !self.state.is_refused())
    }

    /// The library's wish to read.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if self.is_http2() {
            return self.poll_read_http2(cx, buf);
        }
        if self.state.is_refused() {
            return self.refused();
        }
        BUFFER.with(|buffer| {
            let mut buffer = buffer.borrow_mut();
            let want = buf.remaining().min(SCRATCH).saturating_sub(self.early.len());
            loop {
                self.starved = true;
                let n = ready!(self.socket.poll_read(cx, &mut buffer[..want]))?;
                if n == 0 {
                    return self.end();
                }
                let bytes = &buffer[..n];
                if self.version == Version::Http1 || (self.early.is_empty() && bytes[0] != PREFACE[0]) {
                    self.version = Version::Http1;
                    return self.pass(bytes, &mut buf);
                }
                self.early.extend_from_slice(bytes);
                match self.recognise() {
                    Version::Unknown => continue,
                    Version::Http2 => return Poll::Pending,
                    Version::Http1 => {}
                }
                let early = std::mem::take(&mut self.early);
                return self.pass(&early, &mut buf);
            }
        })
    }

    /// No byte will come any more.
    fn end(&mut self) -> Poll<io::Result<()>> {
        let quiet = self.audit.between_requests() && self.state.open_requests() == 0 && !self.state.is_behind();
        if !quiet {
            return Poll::Ready(Ok(()));
        }
        // the library need not know: the task will see it
        self.ended = true;
        Poll::Pending
    }

    /// What the first bytes tell of the version.
    fn recognise(&mut self) -> Version {
        let n = self.early.len().min(PREFACE.len());
        if self.early[..n] != PREFACE[..n] {
            self.version = Version::Http1;
        } else if n == PREFACE.len() {
            self.version = Version::Http2;
        } else {
            self.state.bytes_came(0, true);
        }
        self.version
    }

    /// Hands to the library what the audit lets pass.
    fn pass(&mut self, bytes: &[u8], buf: &mut ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let pass = match self.audit.read(bytes, &self.limits) {
            Ok(()) => {
                self.state.bytes_came(self.audit.heads(), self.audit.in_head());
                bytes.len()
            }
            Err((sound, refusal)) => {
                self.state.bytes_came(self.audit.heads(), false);
                let in_body = !self.audit.between_requests() && !self.audit.in_head();
                self.state.refuse(refusal, in_body);
                sound
            }
        };
        if pass == 0 {
            return self.refused();
        }
        self.starved = false;
        buf.put_slice(&bytes[..pass]);
        Poll::Ready(Ok(()))
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
        self.version == Version::Http1 && self.state.open_requests() == 0 && self.state.is_behind()
    }

    fn write_held(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let poll = self.socket.poll_write(cx, &self.held);
            match ready!(self.note(poll))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => drop(self.held.drain(..n)),
            }
        }
        // an idle connection keeps no buffer
        self.held = Vec::new();
        Poll::Ready(Ok(()))
    }

    fn note<T>(&self, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.state.wrote(poll.is_ready());
        poll
    }

    pub fn poll_write(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if !self.held.is_empty() || self.holds() {
            let size = bufs.iter().map(|buf| buf.len()).sum::<usize>();
            if self.held.len() + size <= MAX_HELD {
                bufs.iter().for_each(|buf| self.held.extend_from_slice(buf));
                return Poll::Ready(Ok(size));
            }
            ready!(self.write_held(cx))?;
        }
        let poll = match bufs {
            [one] => self.socket.poll_write(cx, one),
            _ => BUFFER.with(|buffer| match joined(bufs, &mut buffer.borrow_mut()[..SMALL]) {
                Some(all) => self.socket.poll_write(cx, all),
                None => self.socket.poll_write_vectored(cx, bufs),
            }),
        };
        self.note(poll)
    }

    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() || self.holds() {
            return Poll::Ready(Ok(()));
        }
        self.write_held(cx)
    }

    /// The library is through. `connection` ends the sending side itself, in its own time.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write_held(cx)
    }

    /// No audit, as the framing of HTTP/2 is binary.
    fn poll_read_http2(&mut self, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let n = self.early.len().min(buf.remaining());
            buf.put_slice(&self.early[..n]);
            self.early.drain(..n);
            self.settle(n);
            return Poll::Ready(Ok(()));
        }
        let poll: Poll<io::Result<usize>> = BUFFER.with(|buffer| {
            let mut buffer = buffer.borrow_mut();
            let want = buf.remaining().min(SCRATCH);
            let n = ready!(self.socket.poll_read(cx, &mut buffer[..want]))?;
            buf.put_slice(&buffer[..n]);
            Poll::Ready(Ok(n))
        });
        if poll.is_pending() {
            self.socket.watch(cx)?;
        }
        let n = ready!(poll)?;
        if n > 0 {
            self.settle(n);
        }
        Poll::Ready(Ok(()))
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
}

/// Head and body of a small answer side by side: copying them costs less than what the kernel does for a vector of them.
fn joined<'b>(bufs: &[IoSlice<'_>], space: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut size = 0;
    for buf in bufs {
        space.get_mut(size..size + buf.len())?.copy_from_slice(buf);
        size += buf.len();
    }
    Some(&space[..size])
}

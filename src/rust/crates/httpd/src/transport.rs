//! The transport to a client: its stream, what has been read and not been used, and what is to be written.
//!
//! Buffers belong to the thread. A task has them for its turn ([`Transport::begin`] to [`Transport::rest`]); between
//! turns a connection holds only bytes that are left, so ten thousand idle ones cost little more than their sockets.
//!
//! Neighbours: `h1` and `h2` speak on it.

use super::h1::{BodyReader, Piece, Refusal};
use super::socket::Socket;
use crate::connection::Connection;
use crate::response::Sent;
use crate::stream::Stream;
use bytes::{Buf, Bytes};
use exchange::{streams, Promised};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// Bytes read at a time: few, as a client may send more than is needed yet, and more while a body is being received.
const READ: usize = 16 << 10;
const READ_OF_BODY: usize = 64 << 10;
/// Once this many bytes wait to be sent, they are written before more is added.
const FULL: usize = 16 << 10;
/// A body up to this many bytes is copied to stand behind its head: that costs less than what the kernel does for a
/// vector of them.
const COPIED: usize = 4 << 10;

thread_local! {
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// The last body that was written. Its memory goes when the next one has some: otherwise the allocator would
    /// give it back to the system, and have it made anew, each time.
    static WRITTEN: Cell<Bytes> = const { Cell::new(Bytes::new()) };
}

/// See the module.
pub struct Transport {
    stream: Stream,
    state: Arc<Connection>,
    input: Input,
    output: Output,
    /// reads the body of the HTTP/1.1 request that is under way
    pub body: BodyReader,
    /// the client has ended its side
    ended: bool,
    /// responses that are whole once the output is written
    ending: Vec<Sent>,
    /// how many turns its task has had
    turns: u64,
}

/// `bytes[from..to]` has been read and not been used.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

/// `head[sent..]`, and then `body`, is to be written.
#[derive(Default)]
struct Output {
    head: Vec<u8>,
    sent: usize,
    body: Bytes,
    /// how long that was
    len: usize,
    /// counts `head` while it waits for the client: pieces of streams were copied to it
    waits: Option<Promised>,
}

impl Transport {
    pub fn new(stream: Stream, state: Arc<Connection>) -> Self {
        let (input, output) = (Input::default(), Output::default());
        Transport { stream, state, input, output, body: BodyReader::none(), ended: false, ending: Vec::new(), turns: 0 }
    }

    /// The task's turn begins.
    pub fn begin(&mut self) {
        self.turns += 1;
        let mut buffer = INPUT.take();
        if buffer.is_empty() {
            buffer.resize(READ_OF_BODY, 0);
        }
        let left = std::mem::take(&mut self.input).into_left();
        if buffer.len() < left.len() {
            buffer.resize(left.len(), 0);
        }
        buffer[..left.len()].copy_from_slice(&left);
        self.input = Input { bytes: buffer, from: 0, to: left.len() };
        if self.output.head.is_empty() {
            self.output.head = OUTPUT.take();
        }
    }

    /// The task's turn ends: only what is left stays.
    pub fn rest(&mut self) {
        let left = self.input.unused().to_vec();
        let to = left.len();
        let buffer = std::mem::replace(&mut self.input, Input { bytes: left, from: 0, to }).bytes;
        // it is given out as long as it is
        if buffer.capacity() <= kept::OF_ONE {
            INPUT.set(buffer);
        }
        if self.output.is_empty() {
            let mut buffer = std::mem::take(&mut self.output.head);
            kept::empty(&mut buffer);
            OUTPUT.set(buffer);
            self.output.waits = None;
        } else {
            self.output.head.shrink_to(FULL);
            let held = self.output.head.capacity();
            self.output.waits.get_or_insert_with(|| streams().promise()).set(held);
        }
    }

    /// The socket, for callers that wait for it without a task.
    pub fn socket(&mut self) -> &mut Socket {
        self.stream.socket()
    }

    /// Whether HTTP/2 is spoken, and not HTTP/1.1, where that was agreed on before the first byte.
    pub fn is_http2_agreed(&self) -> Option<bool> {
        match &self.stream {
            Stream::Preamble(_) | Stream::Plain(_) => None,
            Stream::Tls(_) => Some(self.state.tls().is_some_and(|agreed| agreed.http2)),
        }
    }

    /// The stream, for what is said of it and not on it.
    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Whether the runtime knows the socket.
    pub fn is_watched(&self) -> bool {
        self.stream.is_watched()
    }

    /// Before the task waits: it will be woken when there is something to read.
    ///
    /// # Errors
    /// When the runtime cannot watch the socket.
    pub fn watch(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.stream.watch(cx)
    }

    /// The stream alone, once nothing is to be said any more.
    pub fn into_stream(mut self) -> Stream {
        if !self.output.is_empty() {
            // the connection has failed: a best effort
            let _ = self.stream.try_write(&self.output.head[self.output.sent..]);
        }
        self.stream
    }

    /// What has been read and not been used.
    pub fn input(&self) -> &[u8] {
        self.input.unused()
    }

    /// `n` bytes of it are used now.
    pub fn consume(&mut self, n: usize) {
        self.input.from += n;
    }

    /// Gives to `take` what is there of the body. `true` when that was the last of it.
    ///
    /// # Errors
    /// A refusal, or the error of `take`.
    pub fn read_body<E: From<Refusal>>(
        &mut self,
        max_body: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        loop {
            let (used, piece) = self.body.read(self.input.unused(), max_body)?;
            match piece {
                Piece::Data(bytes) => take(bytes)?,
                Piece::Wanting | Piece::End => {
                    let has_ended = piece == Piece::End;
                    self.consume(used);
                    return Ok(has_ended);
                }
            }
            self.consume(used);
        }
    }

    /// Bytes that are still to come of the body of the request that is under way, when the client has said so.
    pub fn still_to_come(&self) -> Option<u64> {
        self.body.left().map(|left| left.saturating_sub(self.input.unused().len() as u64))
    }

    /// Whether the client has ended its side.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads what is there behind what was read before. Gives the number of bytes; 0 when the client has ended its
    /// side.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Ready(Ok(0));
        }
        let most = if self.body.has_ended() { READ } else { READ_OF_BODY };
        let n = ready!(self.stream.poll_read(cx, self.input.room(most)))?;
        self.input.to += n;
        self.ended = n == 0;
        Poll::Ready(Ok(n))
    }

    /// Where to write what is to be sent. A body that is held back stands behind it: see [`Transport::push`].
    pub fn output(&mut self) -> &mut Vec<u8> {
        debug_assert!(self.output.body.is_empty(), "what comes behind a body waits for it");
        &mut self.output.head
    }

    /// Adds bytes behind [`Transport::output`]. Long ones are not copied: then [`Transport::is_full`] until they are
    /// written.
    pub fn push(&mut self, bytes: Bytes) {
        if bytes.len() <= COPIED {
            self.output().extend_from_slice(&bytes);
        } else {
            self.output.len = bytes.len();
            self.output.body = bytes;
        }
    }

    /// Whether what is to be sent has to be written before more is added.
    pub fn is_full(&self) -> bool {
        !self.output.body.is_empty() || self.output.head.len() >= FULL
    }

    /// Which turn of its task this is.
    pub fn turn(&self) -> u64 {
        self.turns
    }

    /// Whether nothing is left to be used or to be written.
    pub fn is_idle(&self) -> bool {
        self.input.unused().is_empty() && self.output.is_empty()
    }

    /// Writes all that is to be sent.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.output.is_empty() {
            let Output { head, sent, body, .. } = &self.output;
            let poll = match (&head[*sent..], &body[..]) {
                (head, []) => self.stream.poll_write(cx, head),
                ([], body) => self.stream.poll_write(cx, body),
                (head, body) => self.stream.poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(body)]),
            };
            match ready!(self.note(poll))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.output.advance(n),
            }
        }
        self.output.head.clear();
        self.output.sent = 0;
        if self.output.len > 0 {
            // an empty end of it keeps all of it in memory, and idle connections are many
            let written = std::mem::take(&mut self.output.body);
            if self.output.len <= kept::OF_ONE {
                WRITTEN.set(written);
            }
            self.output.len = 0;
        }
        self.ending.drain(..).for_each(|mut sent| sent.is_whole());
        Poll::Ready(Ok(()))
    }

    /// The last of a response is in the output.
    pub fn ends(&mut self, sent: Sent) {
        if sent.is_watched() {
            self.ending.push(sent);
        }
    }

    /// Writes past the output, which is empty.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let poll = match bufs {
            [one] => self.stream.poll_write(cx, one),
            _ => self.stream.poll_write_vectored(cx, bufs),
        };
        self.note(poll)
    }

    fn note<T>(&self, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.state.wrote(poll.is_ready());
        poll
    }
}

impl Input {
    fn unused(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    fn into_left(mut self) -> Vec<u8> {
        self.bytes.truncate(self.to);
        self.bytes.drain(..self.from);
        self.bytes
    }

    /// Room for at most `most` bytes behind what was read.
    fn room(&mut self, most: usize) -> &mut [u8] {
        if self.from > 0 {
            self.bytes.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        if self.to == self.bytes.len() {
            // a limit on lines above the usual
            self.bytes.resize(2 * self.to + READ, 0);
        }
        let end = self.bytes.len().min(self.to + most);
        &mut self.bytes[self.to..end]
    }
}

impl Output {
    fn is_empty(&self) -> bool {
        self.sent == self.head.len() && self.body.is_empty()
    }

    fn advance(&mut self, n: usize) {
        let of_head = n.min(self.head.len() - self.sent);
        self.sent += of_head;
        self.body.advance(n - of_head);
    }
}

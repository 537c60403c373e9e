//! Receiving a request's body: within its limits, in memory while small, in a temporary file when not.

use super::h1::{self, BodyReader};
use super::transfer::Transfer;
use crate::budget::{BodyRoom, FilePlace};
use crate::connection::Connection;
use crate::current_transport;
use crate::response::Failure;
use crate::shared::Shared;
use crate::transport::Transport;
use crate::unpack::{Decoding, Unpacking};
use admission::Limits;
use bytes::Bytes;
use h2::RecvStream;
use http::StatusCode;
use std::future::poll_fn;
use std::io::{self, Write};
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tempfile::{NamedTempFile, TempPath};

/// A body that is here.
#[derive(Debug)]
pub enum Received {
    /// none
    Empty,
    /// in memory
    Memory(Bytes),
    /// in a file, which goes when this is dropped
    Spooled(TempPath, u64),
}

/// The body of a request as the pipeline gets it.
pub enum Incoming {
    /// all of it, if there is any
    Here(Received),
    /// of HTTP/1.1: it is read from the transport of the task, and this many bytes are announced
    Coming(u64),
    /// of HTTP/2
    Http2(Stream),
    /// of a CONNECT of HTTP/2: what comes is of the protocol that is wanted, and no body
    Line(RecvStream),
}

/// See [`Incoming::Http2`].
pub struct Stream {
    pub body: RecvStream,
    /// bytes that the client has said will come; 0 when it has not
    pub announced: u64,
    pub transfer: Arc<Transfer>,
}

/// What was not read of the body of an HTTP/2 request: the library gives it up when this is dropped.
pub type Unread = RecvStream;

impl Received {
    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        match self {
            Received::Empty => 0,
            Received::Memory(bytes) => bytes.len() as u64,
            Received::Spooled(_, len) => *len,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Incoming {
    /// That of a request whose header section has just been read. One that came with it, and is small, is taken at
    /// once.
    pub fn of(io: &mut Transport, limits: &Limits) -> Self {
        if io.body.has_ended() {
            return Incoming::Here(Received::Empty);
        }
        match io.body.left() {
            Some(n) if n <= io.input().len() as u64 && n <= limits.max_body.min(limits.spool_above) => {
                let bytes = Bytes::copy_from_slice(&io.input()[..n as usize]);
                io.body = BodyReader::none();
                io.consume(bytes.len());
                Incoming::Here(Received::Memory(bytes))
            }
            announced => Incoming::Coming(announced.unwrap_or(0)),
        }
    }

    /// The body, if all of it is here.
    pub fn here(&self) -> Option<&Received> {
        match self {
            Incoming::Here(received) => Some(received),
            Incoming::Http2(stream) if stream.body.is_end_stream() => Some(&Received::Empty),
            Incoming::Line(_) => Some(&Received::Empty),
            Incoming::Coming(_) | Incoming::Http2(_) => None,
        }
    }

    /// What was not read of it.
    pub fn into_unread(self) -> Option<Unread> {
        match self {
            Incoming::Http2(stream) if !stream.body.is_end_stream() => Some(stream.body),
            Incoming::Line(line) => Some(line),
            _ => None,
        }
    }
}

/// Reads the whole body, of at most `max_body` bytes, and unpacks it where it is packed.
///
/// # Errors
/// The failure to answer with: 413 too large, 408 too slow, 400 malformed, 503 too many files open, 507 no room on
/// disk.
pub async fn receive(
    body: &mut Incoming,
    connection: &Connection,
    decoding: Option<Decoding>,
    max_body: u64,
) -> Result<Received, Failure> {
    let (announced, stream) = match body {
        Incoming::Here(Received::Memory(bytes)) if decoding.is_some() => (bytes.len() as u64, None),
        Incoming::Here(received) if received.len() > max_body => return Err(too_large(max_body)),
        Incoming::Here(received) => return Ok(std::mem::replace(received, Received::Empty)),
        Incoming::Line(_) => return Ok(Received::Empty),
        Incoming::Coming(announced) => (*announced, None),
        Incoming::Http2(stream) => (stream.announced, Some(stream.transfer.clone())),
    };
    let transfer = stream.as_deref().unwrap_or(&connection.transfer);
    let server = &**connection.server();
    let unpacking = decoding.and_then(|decoding| Unpacking::new(decoding, &server.budget));
    if announced > max_body {
        return Err(too_large(max_body));
    }
    let mut store = Store::new(announced, server, unpacking, max_body);
    transfer.body_begins();
    let _clock = Clock(transfer);
    poll_fn(|cx| {
        transfer.set_waker(cx.waker());
        if transfer.is_body_late() {
            return Poll::Ready(Err(too_slow(&server.limits)));
        }
        match body {
            Incoming::Here(received) => {
                if let Received::Memory(bytes) = std::mem::replace(received, Received::Empty) {
                    store.add(&bytes)?;
                }
                store.poll_unpack(cx)
            }
            Incoming::Line(_) => Poll::Ready(Ok(())),
            Incoming::Coming(_) => current_transport::borrow(|io| poll_http1(io, cx, transfer, &mut store))
                .unwrap_or_else(|| Poll::Ready(Err(ended_early()))),
            Incoming::Http2(stream) => poll_http2(&mut stream.body, cx, &mut store),
        }
    })
    .await?;
    store.finish()
}

/// Stops the body's clock however the wait for it ends.
struct Clock<'a>(&'a Transfer);

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        self.0.body_ends();
    }
}

fn poll_http1(
    io: &mut Transport,
    cx: &mut Context<'_>,
    transfer: &Transfer,
    store: &mut Store<'_>,
) -> Poll<Result<(), Failure>> {
    if io.body.is_expected() && io.input().is_empty() {
        // it is written when the task waits for the body
        io.output().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    io.body.begins();
    loop {
        let has_ended = io.read_body(store.max_body, |piece| store.add(piece))?;
        ready!(store.poll_unpack(cx))?;
        if has_ended {
            return Poll::Ready(Ok(()));
        }
        match ready!(io.poll_fill(cx)) {
            Ok(n) if n > 0 => transfer.body_moves(n),
            _ => return Poll::Ready(Err(ended_early())),
        }
    }
}

/// Trailers are left to the library. The clock is told of bytes when they are read from the socket: see `h2`.
fn poll_http2(body: &mut RecvStream, cx: &mut Context<'_>, store: &mut Store<'_>) -> Poll<Result<(), Failure>> {
    loop {
        ready!(store.poll_unpack(cx))?;
        let Some(piece) = ready!(body.poll_data(cx)) else { return Poll::Ready(Ok(())) };
        let piece = piece.map_err(|_| ended_early())?;
        // an error is the connection's end, which the next poll tells
        let _ = body.flow_control().release_capacity(piece.len());
        store.add(&piece)?;
    }
}

fn ended_early() -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "the body ended early").closing()
}

/// Of which of the two it was the clock does not say, and it is the same to whoever changes them.
fn too_slow(limits: &Limits) -> Failure {
    let Limits { body_timeout, min_body_rate, .. } = limits;
    let why = format_args!("over `body_timeout` = {body_timeout} s, or below `min_body_rate` = {min_body_rate}");
    Failure::new(StatusCode::REQUEST_TIMEOUT, "the body came too slowly").because(why).closing()
}

/// The answer to a longer body.
pub fn too_large(max_body: u64) -> Failure {
    h1::too_large(max_body).into()
}

struct Store<'a> {
    /// of one that is packed: what comes goes there first
    unpacking: Option<Unpacking>,
    /// what has come of one that is packed
    came: u64,
    len: u64,
    announced: u64,
    max_body: u64,
    server: &'a Shared,
    place: Place,
}

enum Place {
    Memory(Vec<u8>, BodyRoom),
    File { file: NamedTempFile, _place: FilePlace },
}

/// At most this many bytes of an announced body are reserved at once: a client that announces more has to send it
/// first.
const MADE_AT_ONCE: u64 = 64 << 10;

impl<'a> Store<'a> {
    fn new(announced: u64, server: &'a Shared, unpacking: Option<Unpacking>, max_body: u64) -> Self {
        // how long it will be is not known of one that is packed
        let announced = if unpacking.is_some() { 0 } else { announced };
        let place = Place::Memory(Vec::new(), server.budget.body());
        Store { unpacking, came: 0, len: 0, announced, max_body, server, place }
    }

    /// The next piece, as it came.
    fn add(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let Some(unpacking) = &mut self.unpacking else { return self.keep(piece) };
        self.came += piece.len() as u64;
        unpacking.add(piece);
        if self.came > self.max_body {
            return Err(too_large(self.max_body));
        }
        Ok(())
    }

    /// Unpacks what has come, if it is packed: ready when that is done. A long piece takes several turns of the task.
    fn poll_unpack(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let Some(mut unpacking) = self.unpacking.take() else { return Poll::Ready(Ok(())) };
        let is_done = unpacking.advance(|piece| self.keep(piece))?;
        self.unpacking = Some(unpacking);
        if is_done {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The next bytes of the body.
    fn keep(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.len += piece.len() as u64;
        if self.len > self.max_body {
            return Err(too_large(self.max_body));
        }
        if let Place::Memory(so_far, room) = &mut self.place {
            if self.len.max(self.announced) <= self.server.limits.spool_above && room.grow(piece.len()) {
                if so_far.is_empty() {
                    so_far.reserve_exact((self.announced.min(MADE_AT_ONCE) as usize).max(piece.len()));
                }
                so_far.extend_from_slice(piece);
                return Ok(());
            }
            let so_far = std::mem::take(so_far);
            self.place = self.file(&so_far)?;
        }
        match &mut self.place {
            Place::File { file, .. } => file.write_all(piece).map_err(not_stored),
            Place::Memory(..) => Ok(()),
        }
    }

    /// A file that begins with these bytes.
    fn file(&self, so_far: &[u8]) -> Result<Place, Failure> {
        let place = self.server.budget.file().ok_or_else(|| {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many bodies are being received").closing()
        })?;
        let mut file = NamedTempFile::new_in(&self.server.upload_path).map_err(not_stored)?;
        file.write_all(so_far).map_err(not_stored)?;
        Ok(Place::File { file, _place: place })
    }

    /// The whole body. A file is closed: its readers open it by name.
    fn finish(self) -> Result<Received, Failure> {
        if let Some(unpacking) = &self.unpacking {
            unpacking.finish()?;
        }
        Ok(match self.place {
            Place::Memory(bytes, _) if bytes.is_empty() => Received::Empty,
            Place::Memory(bytes, _) => Received::Memory(bytes.into()),
            Place::File { file, .. } => Received::Spooled(file.into_temp_path(), self.len),
        })
    }
}

fn not_stored(e: io::Error) -> Failure {
    Failure::new(StatusCode::INSUFFICIENT_STORAGE, format!("the body could not be stored: {}", e.kind())).closing()
}

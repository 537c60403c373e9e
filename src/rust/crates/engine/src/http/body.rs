//! Receiving a request's body: within its limits, in memory while small, in a temporary file when not.

use super::h1::BodyReader;
use super::lent;
use super::line::Line;
use super::state::Connection;
use crate::respond::Failure;
use admission::Limits;
use bytes::Bytes;
use http::StatusCode;
use http_body::Body as _;
use hyper::body as http2;
use std::future::poll_fn;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tempfile::NamedTempFile;

/// A body that is here.
#[derive(Debug)]
pub enum Received {
    /// none
    Empty,
    /// in memory
    Memory(Bytes),
    /// in a file, which goes when this is dropped
    Spooled(NamedTempFile, u64),
}

/// The body of a request as the pipeline gets it.
pub enum Incoming {
    /// all of it, if there is any
    Here(Received),
    /// of HTTP/1.1: it is read from the line of the task, and so many bytes are announced
    Coming(u64),
    /// of HTTP/2
    Http2(http2::Incoming),
}

impl Incoming {
    /// That of a request whose header section has just been read. One that came with it, and is small, is taken at once.
    pub fn of(line: &mut Line, limits: &Limits) -> Self {
        if line.body.has_ended() {
            return Incoming::Here(Received::Empty);
        }
        match line.body.left() {
            Some(n) if n <= line.input().len() as u64 && n <= limits.max_body.min(limits.spool_above) => {
                let bytes = Bytes::copy_from_slice(&line.input()[..n as usize]);
                line.body = BodyReader::none();
                line.consume(bytes.len());
                Incoming::Here(Received::Memory(bytes))
            }
            announced => Incoming::Coming(announced.unwrap_or(0)),
        }
    }

    /// The body, if all of it is here.
    pub fn here(&self) -> Option<&Received> {
        match self {
            Incoming::Here(received) => Some(received),
            Incoming::Http2(body) if body.is_end_stream() => Some(&Received::Empty),
            Incoming::Coming(_) | Incoming::Http2(_) => None,
        }
    }

    /// What was not read of an HTTP/2 body: the library gives it up when it is dropped.
    pub fn into_unread(self) -> Option<http2::Incoming> {
        match self {
            Incoming::Http2(body) if !body.is_end_stream() => Some(body),
            _ => None,
        }
    }
}

/// Reads the whole body.
///
/// # Errors
/// The failure to answer with: 413 too large, 408 too slow, 400 malformed, 507 no room on disk.
pub async fn receive(
    body: &mut Incoming,
    state: &Connection,
    limits: &Limits,
    spool_in: &Path,
) -> Result<Received, Failure> {
    let announced = match body {
        Incoming::Here(received) => return Ok(std::mem::replace(received, Received::Empty)),
        Incoming::Coming(announced) => *announced,
        Incoming::Http2(body) => body.size_hint().lower(),
    };
    let mut store = Store::new(announced, limits, spool_in);
    if announced > limits.max_body {
        return Err(store.too_large());
    }
    state.body_begins();
    let _clock = Clock(state);
    poll_fn(|cx| {
        if state.is_body_late() {
            return Poll::Ready(Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the body came too slowly").closing()));
        }
        match body {
            Incoming::Here(_) => Poll::Ready(Ok(())),
            Incoming::Coming(_) => lent::borrow(|line| poll_http1(line, cx, state, limits, &mut store))
                .unwrap_or_else(|| Poll::Ready(Err(ended_early()))),
            Incoming::Http2(body) => poll_http2(body, cx, state, &mut store),
        }
    })
    .await?;
    Ok(store.finish())
}

/// Stops the body's clock however the wait for it ends.
struct Clock<'a>(&'a Connection);

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        self.0.body_ends();
    }
}

fn poll_http1(
    line: &mut Line,
    cx: &mut Context<'_>,
    state: &Connection,
    limits: &Limits,
    store: &mut Store<'_>,
) -> Poll<Result<(), Failure>> {
    if line.body.is_expected() && line.input().is_empty() {
        // it is written when the task waits for the body
        line.output().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    line.body.begins();
    loop {
        if line.read_body(limits, |piece| store.add(piece))? {
            return Poll::Ready(Ok(()));
        }
        match ready!(line.poll_fill(cx)) {
            Ok(n) if n > 0 => state.body_moves(n),
            _ => return Poll::Ready(Err(ended_early())),
        }
    }
}

fn poll_http2(
    body: &mut http2::Incoming,
    cx: &mut Context<'_>,
    state: &Connection,
    store: &mut Store<'_>,
) -> Poll<Result<(), Failure>> {
    loop {
        match ready!(Pin::new(&mut *body).poll_frame(cx)) {
            None => return Poll::Ready(Ok(())),
            // trailers are read and ignored
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    state.body_moves(piece.len());
                    store.add(&piece)?;
                }
            }
            Some(Err(_)) => return Poll::Ready(Err(ended_early())),
        }
    }
}

fn ended_early() -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "the body ended early").closing()
}

struct Store<'a> {
    len: u64,
    announced: u64,
    limits: &'a Limits,
    spool_in: &'a Path,
    place: Place,
}

enum Place {
    Memory(Vec<u8>),
    File(NamedTempFile),
}

/// Room is made at once for an announced body of up to this many bytes: who announces more has to send it first.
const MADE_AT_ONCE: u64 = 64 << 10;

impl<'a> Store<'a> {
    fn new(announced: u64, limits: &'a Limits, spool_in: &'a Path) -> Self {
        Store { len: 0, announced, limits, spool_in, place: Place::Memory(Vec::new()) }
    }

    fn too_large(&self) -> Failure {
        let detail = format!("the body may have at most {} bytes", self.limits.max_body);
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, detail).closing()
    }

    fn add(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.len += piece.len() as u64;
        if self.len > self.limits.max_body {
            return Err(self.too_large());
        }
        self.write(piece).map_err(|e| {
            Failure::new(StatusCode::INSUFFICIENT_STORAGE, format!("the body could not be stored: {}", e.kind()))
                .closing()
        })
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.place {
            Place::File(file) => file.write_all(piece)?,
            Place::Memory(so_far) if self.len.max(self.announced) > self.limits.spool_above => {
                let mut file = NamedTempFile::new_in(self.spool_in)?;
                file.write_all(so_far)?;
                file.write_all(piece)?;
                self.place = Place::File(file);
            }
            Place::Memory(so_far) => {
                if so_far.is_empty() {
                    so_far.reserve_exact((self.announced.min(MADE_AT_ONCE) as usize).max(piece.len()));
                }
                so_far.extend_from_slice(piece);
            }
        }
        Ok(())
    }

    fn finish(self) -> Received {
        match self.place {
            Place::Memory(bytes) if bytes.is_empty() => Received::Empty,
            Place::Memory(bytes) => Received::Memory(bytes.into()),
            Place::File(file) => Received::Spooled(file, self.len),
        }
    }
}

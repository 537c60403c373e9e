//! Receiving a request's body: within its limits, in memory while small, in a temporary file when not.

use super::state::Connection;
use crate::respond::Failure;
use admission::Limits;
use bytes::Bytes;
use http::StatusCode;
use http_body::Body as _;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::task::Poll;
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
    if body.is_end_stream() {
        return Ok(Received::Empty);
    }
    let too_large = || {
        let detail = format!("the body may have at most {} bytes", limits.max_body);
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, detail).closing()
    };
    let announced = body.size_hint().lower();
    if announced > limits.max_body {
        return Err(too_large());
    }
    state.body_begins();
    let clock = Clock(state);
    let mut store = Store::new(announced, limits.spool_above, spool_in);
    while let Some(piece) = next_piece(body, state).await? {
        state.body_moves(piece.len());
        if store.len + piece.len() as u64 > limits.max_body {
            return Err(too_large());
        }
        store.add(piece).map_err(|e| {
            Failure::new(StatusCode::INSUFFICIENT_STORAGE, format!("the body could not be stored: {}", e.kind()))
                .closing()
        })?;
    }
    drop(clock);
    Ok(store.finish())
}

/// Stops the body's clock however the wait for it ends.
struct Clock<'a>(&'a Connection);

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        self.0.body_ends();
    }
}

async fn next_piece(body: &mut Incoming, state: &Connection) -> Result<Option<Bytes>, Failure> {
    poll_fn(|cx| {
        if state.is_body_late() {
            return Poll::Ready(Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the body came too slowly").closing()));
        }
        loop {
            return match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(None) => Poll::Ready(Ok(None)),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => Poll::Ready(Ok(Some(data))),
                    // trailers are read and ignored
                    Err(_) => continue,
                },
                Poll::Ready(Some(Err(_))) => Poll::Ready(Err(malformed(state))),
            };
        }
    })
    .await
}

fn malformed(state: &Connection) -> Failure {
    match state.refusal() {
        Some((refusal, _)) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            Failure::new(status, refusal.why).closing()
        }
        None => Failure::new(StatusCode::BAD_REQUEST, "the body ended early").closing(),
    }
}

struct Store<'a> {
    len: u64,
    spool_above: u64,
    spool_in: &'a Path,
    announced: u64,
    place: Place,
}

enum Place {
    /// the first piece is kept as it came: most bodies are one
    One(Bytes),
    Memory(Vec<u8>),
    File(NamedTempFile),
}

impl<'a> Store<'a> {
    fn new(announced: u64, spool_above: u64, spool_in: &'a Path) -> Self {
        Store { len: 0, spool_above, spool_in, announced, place: Place::One(Bytes::new()) }
    }

    fn add(&mut self, piece: Bytes) -> std::io::Result<()> {
        self.len += piece.len() as u64;
        let spool = self.len.max(self.announced) > self.spool_above;
        match &mut self.place {
            Place::File(file) => file.write_all(&piece)?,
            Place::One(first) if spool => {
                let mut file = NamedTempFile::new_in(self.spool_in)?;
                file.write_all(first)?;
                file.write_all(&piece)?;
                self.place = Place::File(file);
            }
            Place::Memory(so_far) if spool => {
                let mut file = NamedTempFile::new_in(self.spool_in)?;
                file.write_all(so_far)?;
                file.write_all(&piece)?;
                self.place = Place::File(file);
            }
            Place::One(first) if first.is_empty() => *first = piece,
            Place::One(first) => {
                let mut all = Vec::with_capacity((self.announced as usize).max(first.len() + piece.len()));
                all.extend_from_slice(first);
                all.extend_from_slice(&piece);
                self.place = Place::Memory(all);
            }
            Place::Memory(all) => all.extend_from_slice(&piece),
        }
        Ok(())
    }

    fn finish(self) -> Received {
        match self.place {
            Place::One(bytes) if bytes.is_empty() => Received::Empty,
            Place::One(bytes) => Received::Memory(bytes),
            Place::Memory(bytes) => Received::Memory(bytes.into()),
            Place::File(file) => Received::Spooled(file, self.len),
        }
    }
}

//! The body of a response: nothing, bytes, a piece of a file that is read as it is sent, or what comes through a pipe.

use super::PipeReader;
use crate::http::OpenRequest;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::task::JoinHandle;

/// Bytes of a file read at a time: large enough to need few turns, small enough that many downloads fit in memory.
const PIECE: u64 = 128 << 10;

/// See the module.
pub struct Body {
    source: Source,
    _until_end: Option<(OpenRequest, Option<Incoming>)>,
}

enum Source {
    Empty,
    Bytes(Bytes),
    File(Piecewise),
    Pipe(PipeReader),
}

struct Piecewise {
    file: Arc<File>,
    offset: u64,
    left: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Body {
    /// No body.
    pub fn empty() -> Self {
        Body { source: Source::Empty, _until_end: None }
    }

    /// These bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let source = if bytes.is_empty() { Source::Empty } else { Source::Bytes(bytes) };
        Body { source, _until_end: None }
    }

    /// `len` bytes of the file from `offset` on.
    pub fn file(file: File, offset: u64, len: u64) -> Self {
        if len == 0 {
            return Body::empty();
        }
        let piecewise = Piecewise { file: Arc::new(file), offset, left: len, reading: None };
        Body { source: Source::File(piecewise), _until_end: None }
    }

    /// What comes through the pipe, however long.
    pub fn pipe(reader: PipeReader) -> Self {
        Body { source: Source::Pipe(reader), _until_end: None }
    }

    /// Bytes in all; `None` when that is not known.
    pub fn len(&self) -> Option<u64> {
        match &self.source {
            Source::Empty => Some(0),
            Source::Bytes(b) => Some(b.len() as u64),
            Source::File(f) => Some(f.left),
            Source::Pipe(_) => None,
        }
    }

    /// All of it, if it is here.
    pub fn take_bytes(&mut self) -> Option<Bytes> {
        match &mut self.source {
            Source::Empty => Some(Bytes::new()),
            Source::Bytes(bytes) => Some(std::mem::take(bytes)),
            Source::File(_) | Source::Pipe(_) => None,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Keeps the request open, and what was not read of its body, until this body has been handed over whole, or dropped.
    pub fn keeping(mut self, open: OpenRequest, unread: Option<Incoming>) -> Self {
        self._until_end = Some((open, unread));
        self
    }
}

impl Piecewise {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let reading = self.reading.get_or_insert_with(|| {
            let (file, offset, size) = (self.file.clone(), self.offset, self.left.min(PIECE) as usize);
            tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; size];
                let n = file.read_at(&mut piece, offset)?;
                piece.truncate(n);
                Ok(Bytes::from(piece))
            })
        });
        let piece = ready!(Pin::new(reading).poll(cx)).map_err(io::Error::other).and_then(|r| r);
        self.reading = None;
        Poll::Ready(Some(match piece {
            Ok(b) if b.is_empty() => {
                self.left = 0;
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was sent"))
            }
            Ok(b) => {
                self.offset += b.len() as u64;
                self.left -= b.len() as u64;
                Ok(b)
            }
            Err(e) => Err(e),
        }))
    }
}

use std::future::Future as _;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.source {
            Source::Empty => Poll::Ready(None),
            Source::Bytes(b) => {
                let b = std::mem::take(b);
                self.source = Source::Empty;
                Poll::Ready(Some(Ok(Frame::data(b))))
            }
            Source::File(f) => f.poll(cx).map(|piece| piece.map(|r| r.map(Frame::data))),
            Source::Pipe(p) => p.poll(cx).map(|piece| piece.map(|r| r.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.len().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

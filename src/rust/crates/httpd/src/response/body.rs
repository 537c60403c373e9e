//! The body of a response: nothing, bytes, a piece of a file that is read as it is sent, or what comes through a pipe.

use crate::body::Unread;
use crate::budget::FilePlace;
use crate::connection::OpenRequest;
use bytes::Bytes;
use exchange::PipeReader;
use std::fs::File;
use std::future::Future as _;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::task::JoinHandle;

/// Most bytes of a file read at a time: large enough to need few turns, small enough that many downloads fit in memory.
const PIECE: usize = 128 << 10;

/// See the module.
pub struct Body {
    source: Source,
    _until_end: Option<(Option<OpenRequest>, Option<Unread>)>,
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
    place: Option<FilePlace>,
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
        let piecewise = Piecewise { file: Arc::new(file), offset, left: len, reading: None, place: None };
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

    /// Whether it is read from an open file.
    pub fn is_file(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// Keeps the place that the server has for its open file, until the body is dropped.
    pub fn occupy(&mut self, place: FilePlace) {
        if let Source::File(file) = &mut self.source {
            file.place = Some(place);
        }
    }

    /// Keeps the request open, and what was not read of its body, until this body has been handed over whole, or dropped.
    pub fn keeping(mut self, open: Option<OpenRequest>, unread: Option<Unread>) -> Self {
        self._until_end = Some((open, unread));
        self
    }

    /// The next bytes, no more than `most` of them when they come from a file; `None` after the last ones.
    pub fn poll(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Option<io::Result<Bytes>>> {
        match &mut self.source {
            Source::Empty => Poll::Ready(None),
            Source::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                self.source = Source::Empty;
                Poll::Ready(Some(Ok(bytes)))
            }
            Source::File(file) => file.poll(cx, most.min(PIECE)),
            Source::Pipe(pipe) => pipe.poll(cx),
        }
    }
}

impl Piecewise {
    fn poll(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let reading = self.reading.get_or_insert_with(|| {
            let (file, offset, size) = (self.file.clone(), self.offset, self.left.min(most as u64) as usize);
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

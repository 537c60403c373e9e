//! The body of a response: nothing, bytes, a piece of a file that is read as it is sent, or what comes through a pipe.

use super::{Failure, ResponseFields};
use crate::body::Unread;
use crate::budget::{BodyRoom, FilePlace};
use crate::connection::OpenRequest;
use crate::shared::Shared;
use crate::ws::Accepted;
use bytes::Bytes;
use exchange::PipeReader;
use http::StatusCode;
use rustix::io::{preadv2, ReadWriteFlags};
use std::fs::File;
use std::future::Future;
use std::io::{self, IoSliceMut, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::sync::Semaphore;

/// Most bytes of a file read at a time: large enough to need few turns, small enough that many downloads fit in memory.
const PIECE: usize = 128 << 10;

/// Most bytes of a file read by the I/O thread itself.
const CACHED: usize = 64 << 10;

/// Pieces that are read at a time, until their connections take them: more than enough to keep the disk busy, and few
/// enough that a thousand downloads do not hold up all other connections.
static READS: Semaphore = Semaphore::const_new(16);

/// A body of at least this many bytes counts against the memory budget while it waits.
const LONG: usize = 64 << 10;

/// See the module.
pub struct Body {
    source: Source,
    until_end: Option<(Option<OpenRequest>, Option<Unread>)>,
}

enum Source {
    Empty,
    Bytes(Bytes),
    File(Piecewise),
    Pipe(PipeReader),
    Socket(Box<Accepted>),
}

struct Piecewise {
    file: Arc<File>,
    offset: u64,
    left: u64,
    reading: Option<Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>>,
    place: Option<FilePlace>,
    /// an unnamed file, which only this response uses
    own: bool,
}

impl Body {
    /// No body.
    pub fn empty() -> Self {
        Body { source: Source::Empty, until_end: None }
    }

    /// These bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let source = if bytes.is_empty() { Source::Empty } else { Source::Bytes(bytes) };
        Body { source, until_end: None }
    }

    /// `len` bytes of the file from `offset` on.
    pub fn file(file: File, offset: u64, len: u64) -> Self {
        if len == 0 {
            return Body::empty();
        }
        let piecewise = Piecewise { file: Arc::new(file), offset, left: len, reading: None, place: None, own: false };
        Body { source: Source::File(piecewise), until_end: None }
    }

    /// A file without a name: what was too long for memory.
    pub fn spooled(file: File, len: u64) -> Self {
        let mut body = Body::file(file, 0, len);
        if let Source::File(file) = &mut body.source {
            file.own = true;
        }
        body
    }

    /// What comes through the pipe, however long.
    pub fn pipe(reader: PipeReader) -> Self {
        Body { source: Source::Pipe(reader), until_end: None }
    }

    /// What is said on a WebSocket, which the connection becomes.
    pub fn socket(accepted: Accepted) -> Self {
        Body { source: Source::Socket(Box::new(accepted)), until_end: None }
    }

    /// The WebSocket, if it is one. What is left is kept as long as that is open.
    pub fn take_socket(&mut self) -> Option<Accepted> {
        match std::mem::replace(&mut self.source, Source::Empty) {
            Source::Socket(accepted) => Some(*accepted),
            other => {
                self.source = other;
                None
            }
        }
    }

    /// Whether something was not read of the request's body.
    pub fn has_unread(&self) -> bool {
        matches!(self.until_end, Some((_, Some(_))))
    }

    /// The unread rest of the request's body, for the caller to read.
    pub fn take_unread(&mut self) -> Option<Unread> {
        self.until_end.as_mut().and_then(|(_, unread)| unread.take())
    }

    /// Whether it is one.
    pub fn is_websocket(&self) -> bool {
        matches!(self.source, Source::Socket(_))
    }

    /// Bytes in all; `None` when that is not known.
    pub fn len(&self) -> Option<u64> {
        match &self.source {
            Source::Empty => Some(0),
            Source::Bytes(b) => Some(b.len() as u64),
            Source::File(f) => Some(f.left),
            Source::Pipe(_) | Source::Socket(_) => None,
        }
    }

    /// All of it, if it is here.
    pub fn take_bytes(&mut self) -> Option<Bytes> {
        match &mut self.source {
            Source::Empty => Some(Bytes::new()),
            Source::Bytes(bytes) => Some(std::mem::take(bytes)),
            Source::File(_) | Source::Pipe(_) | Source::Socket(_) => None,
        }
    }

    /// Whether all of it was made for this response, and is here or in a file without a name.
    pub fn is_own(&self) -> bool {
        match &self.source {
            Source::Empty | Source::Bytes(_) => true,
            Source::File(file) => file.own,
            Source::Pipe(_) | Source::Socket(_) => false,
        }
    }

    /// All of it, if it is here, or in a file and no longer than `most`, which is read at once. May block.
    pub fn read(&mut self, most: u64) -> Option<Bytes> {
        let Source::File(file) = &self.source else { return self.take_bytes() };
        if file.left > most {
            return None;
        }
        let mut bytes = vec![0; file.left as usize];
        file.file.read_exact_at(&mut bytes, file.offset).ok()?;
        self.source = Source::Empty;
        Some(bytes.into())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Whether it is read from an open file.
    pub fn is_file(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// Takes what it needs of what all connections may hold together: a place for its open file, room for its bytes
    /// when they are many, or, where there is none, a file for them.
    ///
    /// # Errors
    /// 503, when there are too many files.
    pub fn take_place(&mut self, server: &Shared) -> Result<(), Failure> {
        if let Source::Bytes(bytes) = &mut self.source {
            if bytes.len() < LONG {
                return Ok(());
            }
            let mut room = server.budget.response();
            if room.grow(bytes.len()) {
                *bytes = Bytes::from_owner(Roomy { bytes: std::mem::take(bytes), _room: room });
                return Ok(());
            }
            let (file, len) = (in_file(bytes, &server.upload_path).map_err(not_kept)?, bytes.len() as u64);
            let until_end = self.until_end.take();
            *self = Body { until_end, ..Body::file(file, 0, len) };
        }
        if let Source::File(file) = &mut self.source {
            file.place = Some(server.budget.file().ok_or_else(|| unavailable("too many files are being sent"))?);
        }
        Ok(())
    }

    /// The trailers, once the caller has taken the last piece.
    ///
    /// # Errors
    /// When that cannot be there: the body is not whole then.
    pub fn trailers(&self) -> io::Result<ResponseFields> {
        match &self.source {
            Source::Pipe(pipe) => ResponseFields::of_trailers(&pipe.trailers()).map_err(io::Error::other),
            _ => Ok(ResponseFields::default()),
        }
    }

    /// Keeps the request open, and what was not read of its body, until this body has been handed over whole, or
    /// dropped.
    pub fn keeping(mut self, open: Option<OpenRequest>, unread: Option<Unread>) -> Self {
        self.until_end = Some((open, unread));
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
            // `take_socket` has taken it before
            Source::Socket(_) => Poll::Ready(None),
        }
    }
}

/// Bytes with the room that they take.
struct Roomy {
    bytes: Bytes,
    _room: BodyRoom,
}

impl AsRef<[u8]> for Roomy {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes in a file without a name.
fn in_file(bytes: &[u8], folder: &Path) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn not_kept(e: io::Error) -> Failure {
    unavailable(&format!("too many responses wait to be taken, and one cannot be written to a file: {}", e.kind()))
}

fn unavailable(why: &str) -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, why)
}

impl Piecewise {
    /// By another thread, which may wait for a disk.
    fn read_elsewhere(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<io::Result<Bytes>> {
        let reading = self.reading.get_or_insert_with(|| {
            let (file, offset, size) = (self.file.clone(), self.offset, self.left.min(most as u64) as usize);
            Box::pin(async move {
                let _place = READS.acquire().await;
                let read = move || {
                    let mut piece = vec![0; size];
                    let n = file.read_at(&mut piece, offset)?;
                    piece.truncate(n);
                    Ok(Bytes::from(piece))
                };
                tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
            })
        });
        let piece = ready!(reading.as_mut().poll(cx));
        self.reading = None;
        Poll::Ready(piece)
    }

    /// What the system has in memory, which is cheaper than to have another thread read it. `None` when it would have
    /// to wait for a disk, and where there are file systems that cannot tell.
    fn read_cached(&self, most: usize) -> Option<Bytes> {
        let mut piece = vec![0; self.left.min(most.min(CACHED) as u64) as usize];
        let into = &mut [IoSliceMut::new(&mut piece)];
        let n = preadv2(&self.file, into, self.offset, ReadWriteFlags::NOWAIT).ok().filter(|n| *n > 0)?;
        piece.truncate(n);
        Some(piece.into())
    }

    fn poll(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let cached = if self.reading.is_none() { self.read_cached(most) } else { None };
        let piece = match cached {
            Some(piece) => Ok(piece),
            None => ready!(self.read_elsewhere(cx, most)),
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use admission::Limits;
    use std::task::Waker;

    fn server(folder: &Path) -> Shared {
        let log = observe::Log::open("none", observe::Screen::default()).unwrap();
        Shared::new(Limits::default(), folder.into(), log, 1, 64)
    }

    #[test]
    fn long_bodies_are_in_memory_while_there_is_room_and_in_files_beyond() {
        const LEN: usize = 16 << 20;
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path());
        let bodies: Vec<Body> = (0..6)
            .map(|i| {
                let mut body = Body::bytes(vec![i; LEN]);
                body.take_place(&server).unwrap();
                assert_eq!((body.is_file(), body.len()), (i >= 4, Some(LEN as u64)));
                body
            })
            .collect();
        assert_eq!(server.budget.in_use(), (2, 0, 4 * LEN as u64));
        assert!(server.budget.is_scarce());
        let Source::File(last) = &bodies[5].source else { panic!("no file") };
        let mut end = [0; 7];
        last.file.read_exact_at(&mut end, LEN as u64 - 7).unwrap();
        assert_eq!(end, [5; 7]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the files have no names");
        drop(bodies);
        assert_eq!(server.budget.in_use(), (0, 0, 0));
    }

    #[test]
    fn bytes_count_until_the_last_of_them_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path());
        let mut body = Body::bytes(vec![0; LONG]);
        body.take_place(&server).unwrap();
        let Poll::Ready(Some(Ok(mut bytes))) = body.poll(&mut Context::from_waker(Waker::noop()), LONG) else {
            panic!()
        };
        drop(body);
        let rest = bytes.split_off(LONG - 1);
        drop(bytes);
        assert_eq!(server.budget.in_use(), (0, 0, LONG as u64));
        drop(rest);
        assert_eq!(server.budget.in_use(), (0, 0, 0));
        // short ones are not worth it
        let mut body = Body::bytes(vec![0; LONG - 1]);
        body.take_place(&server).unwrap();
        assert_eq!(server.budget.in_use(), (0, 0, 0));
    }

    /// All of a file, and whether its first piece was there without waiting.
    async fn all(path: &Path, len: u64) -> (Vec<u8>, bool) {
        let mut body = Body::file(File::open(path).unwrap(), 0, len);
        let Source::File(file) = &body.source else { panic!("no file") };
        let cached = file.read_cached(usize::MAX).is_some();
        let mut all = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| body.poll(cx, usize::MAX)).await {
            all.extend_from_slice(&piece.unwrap());
        }
        (all, cached)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn files_are_read_at_once_where_that_is_possible_and_by_a_thread_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..3 * PIECE as u32).map(|i| (i / 7) as u8).collect();
        let path = folder.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        let (all_of_it, _) = all(&path, bytes.len() as u64).await;
        assert!(all_of_it == bytes);
        // the system makes these up as they are read, and cannot say whether that takes long
        let version = Path::new("/proc/version");
        let text = std::fs::read(version).unwrap();
        assert_eq!(all(version, text.len() as u64).await, (text, false));
    }
}

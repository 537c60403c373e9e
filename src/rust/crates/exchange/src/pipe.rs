//! A streamed body: its producer writes at one end, on any thread; the response reads at the other, on the I/O thread
//! of its connection. Neighbours: the response (whose body reads), C handlers and workers (which write).
//!
//! The reader is woken for the first piece and for the end; a writer that waits is woken when enough has been taken.
//! Dropping the writer without an end breaks the response off, so that a client never takes a part for the whole.

use crate::Unread;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What counts the bytes of all pipes until they have been written to their clients, and what workers are promised
/// room for. Of the process, as its memory is.
static STREAMS: LazyLock<Unread> = LazyLock::new(Unread::default);

/// See [`STREAMS`].
pub fn streams() -> &'static Unread {
    &STREAMS
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// bytes in `pieces`
    held: usize,
    /// the writer's last word: whether the body is whole
    end: Option<bool>,
    /// fields behind the body, as text
    trailers: Bytes,
    reader_gone: bool,
    waker: Option<Waker>,
}

/// What the reading end reports to `follow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// the client has taken this many bytes
    Took(usize),
    /// the reader has gone: the body has ended, or the client has left
    Left,
}

/// Called on the I/O thread of the connection.
type Follow = Box<dyn Fn(Reading) + Send + Sync>;

struct Pipe {
    state: Mutex<State>,
    room: Condvar,
    follow: Option<Follow>,
}

impl Pipe {
    fn state(&self) -> MutexGuard<'_, State> {
        // no thread panics while it holds the lock
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing end.
pub struct PipeWriter(Arc<Pipe>);

/// The reading end.
pub struct PipeReader(Arc<Pipe>);

/// Both ends of a new pipe. `follow` is told of the reading end.
pub fn pipe(follow: Option<Follow>) -> (PipeWriter, PipeReader) {
    let pipe = Arc::new(Pipe { state: Mutex::default(), room: Condvar::new(), follow });
    (PipeWriter(pipe.clone()), PipeReader(pipe))
}

/// What became of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// it is in the pipe
    Done,
    /// too much is there already
    Full,
    /// the reader has gone, or the body has ended
    Gone,
}

impl PipeWriter {
    /// Writes a piece; `wait`s for room, or not.
    pub fn write(&self, piece: Bytes, wait: bool) -> Written {
        let mut state = self.0.state();
        while state.held >= STREAMS.window() && !state.reader_gone {
            if !wait {
                return Written::Full;
            }
            state = self.0.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        push(state, piece)
    }

    /// Writes a piece that has been promised room, and the few bytes that stand at the end of a body.
    pub fn write_promised(&self, piece: Bytes) -> Written {
        push(self.0.state(), piece)
    }

    /// The body is complete, or, if not `whole`, never will be.
    pub fn end(&self, whole: bool) {
        self.end_with(whole, Bytes::new());
    }

    /// The same, with the text of the fields that follow it: see `grammar::trailers`.
    pub fn end_with(&self, whole: bool, trailers: Bytes) {
        let mut state = self.0.state();
        if state.end.is_none() {
            state.trailers = trailers;
        }
        state.end.get_or_insert(whole);
        wake(state);
    }
}

fn push(mut state: MutexGuard<'_, State>, piece: Bytes) -> Written {
    if state.reader_gone || state.end.is_some() {
        return Written::Gone;
    }
    if !piece.is_empty() {
        state.held += piece.len();
        state.pieces.push_back(STREAMS.hold(piece));
        wake(state);
    }
    Written::Done
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl PipeReader {
    fn report(&self, what: Reading) {
        if let Some(follow) = &self.0.follow {
            follow(what);
        }
    }

    /// The next piece; `None` after the last one.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut state = self.0.state();
        let Some(piece) = state.pieces.pop_front() else {
            return match state.end {
                Some(true) => Poll::Ready(None),
                Some(false) => Poll::Ready(Some(Err(io::Error::other("the body was not completed")))),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            };
        };
        state.held -= piece.len();
        // whether there was too much is not known: windows change
        if state.held < STREAMS.window() {
            self.0.room.notify_all();
        }
        drop(state);
        self.report(Reading::Took(piece.len()));
        Poll::Ready(Some(Ok(piece)))
    }

    /// What stands behind the last piece, once that has been taken.
    pub fn trailers(&self) -> Bytes {
        self.0.state().trailers.clone()
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.reader_gone = true;
        state.pieces.clear();
        self.0.room.notify_all();
        drop(state);
        self.report(Reading::Left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use wire::stream::WINDOW;

    fn read(reader: &PipeReader) -> Poll<Option<io::Result<Bytes>>> {
        reader.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn pieces_come_in_order_and_an_end_is_whole_or_not() {
        let (writer, reader) = pipe(None);
        assert!(read(&reader).is_pending());
        assert_eq!(writer.write(Bytes::from_static(b"a"), false), Written::Done);
        writer.end(true);
        assert_eq!(writer.write(Bytes::from_static(b"late"), false), Written::Gone);
        assert!(matches!(read(&reader), Poll::Ready(Some(Ok(b))) if b == "a"));
        assert!(matches!(read(&reader), Poll::Ready(None)));
        let (writer, reader) = pipe(None);
        drop(writer);
        assert!(matches!(read(&reader), Poll::Ready(Some(Err(_)))));
    }

    #[test]
    fn a_writer_waits_for_its_reader() {
        let (writer, reader) = pipe(None);
        let piece = Bytes::from(vec![0; WINDOW]);
        assert_eq!(writer.write(piece.clone(), false), Written::Done);
        assert_eq!(writer.write(piece.clone(), false), Written::Full);
        let waiting = std::thread::spawn(move || (writer.write(piece, true), writer));
        assert!(matches!(read(&reader), Poll::Ready(Some(Ok(_)))));
        let (written, writer) = waiting.join().unwrap();
        assert_eq!(written, Written::Done);
        drop(reader);
        assert_eq!(writer.write(Bytes::from_static(b"x"), true), Written::Gone);
    }

    #[test]
    fn who_follows_is_told() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = told.clone();
        let (writer, reader) = pipe(Some(Box::new(move |what| log.lock().unwrap().push(what))));
        writer.write(Bytes::from_static(b"abc"), true);
        assert!(read(&reader).is_ready());
        drop(reader);
        assert_eq!(*told.lock().unwrap(), [Reading::Took(3), Reading::Left]);
    }
}

//! The transport of the connection as the library reads and writes it.

use super::frames::Frames;
use crate::budget::BodyRoom;
use crate::connection::{Connection, Directive};
use crate::current_transport;
use crate::transport::Transport;
use crate::turn::give_way;
use exchange::now;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are written in a turn: with sockets that take megabytes, clients of large responses would keep others
/// waiting. Enough that the turns cost next to nothing.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// See the module.
pub struct Io {
    frames: Frames,
    /// the turn that this is, and bytes written in it
    turn: u64,
    written: usize,
    /// what a header section takes that comes in several frames
    room: Option<BodyRoom>,
    state: Arc<Connection>,
}

impl Io {
    pub fn new(state: Arc<Connection>) -> Self {
        Io { frames: Frames::new(now()), turn: 0, written: 0, room: None, state }
    }

    /// Counts anew in a new turn.
    fn begin(&mut self, turn: u64) {
        if self.turn != turn {
            self.turn = turn;
            self.written = 0;
            self.frames.begin_turn();
        }
    }

    /// Looks at what has come, before the library does. Gives how much of it is for this turn.
    fn note(&mut self, bytes: &[u8]) -> usize {
        let state = &self.state;
        let read = self.frames.read(bytes, now(), |stream, n| state.body_moves(stream, n));
        if self.frames.are_a_flood() {
            state.give(Directive::Flood);
        }
        if self.frames.has_begun() {
            state.settled();
        } else {
            state.head_comes();
        }
        state.has_part(self.frames.is_in_part());
        self.take_room_for_head();
        read
    }

    /// The library holds what has come of a header section, unpacked: as few bytes as it may have been, that may be all
    /// that one may have.
    fn take_room_for_head(&mut self) {
        if !self.frames.is_in_headers() {
            self.room = None;
        } else if self.room.is_none() {
            let server = self.state.server();
            let mut room = server.budget.head();
            if !room.fit(server.limits.max_header_size) {
                let remote = self.state.remote_addr();
                server.log.of_client(|| format!("{remote} 503 too many long header sections are being received"));
                self.state.give(Directive::Close);
            }
            self.room = Some(room);
        }
    }
}

fn poll<T>(f: impl FnOnce(&mut Transport) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    current_transport::borrow(f).unwrap_or_else(|| Poll::Ready(Err(io::ErrorKind::NotConnected.into())))
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        poll(|io| {
            self.begin(io.turn());
            if io.input().is_empty() {
                let filled = io.poll_fill(cx);
                io.watch(cx)?;
                ready!(filled)?;
            }
            let come = &io.input()[..io.input().len().min(into.remaining())];
            let n = self.note(come);
            if n == 0 && !come.is_empty() {
                give_way(cx);
                return Poll::Pending;
            }
            into.put_slice(&come[..n]);
            io.consume(n);
            Poll::Ready(Ok(()))
        })
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        poll(|io| {
            self.begin(io.turn());
            if self.written >= WRITTEN_AT_ONCE {
                give_way(cx);
                return Poll::Pending;
            }
            let n = ready!(io.poll_write(cx, bufs))?;
            self.written += n;
            self.frames.wrote(n);
            Poll::Ready(Ok(n))
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The library is through. The connection ends the sending side itself, in its own time.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

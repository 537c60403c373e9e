//! A client's socket. The runtime gets to know it only when something has to be waited for: a connection whose request
//! is here when it is accepted, and that ends with its answer, costs the four system calls that it must.
//!
//! States: `Fresh` -> `Watched`, when a task is about to wait for it.

use crate::listen::Peer;
use observe::metrics::count;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{sendmsg, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::task::{ready, Context, Poll};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// R waits for its own sockets with `select()`, which knows no descriptor from 1024 on. Connections beyond the first
/// few are moved up there, so that the low numbers stay for R however many clients there are. Those that end at once
/// need no move.
const LOW_DESCRIPTORS: i32 = 256;
const SELECT_LIMIT: i32 = 1024;

/// See the module.
pub struct Socket {
    io: Io,
    kind: Kind,
    /// a fresh socket had fewer bytes than there was room for: it will hardly have more yet
    drained: bool,
    /// a read returned `Pending`, though nothing wakes its task yet
    unwatched: bool,
}

/// What the runtime has to know of it.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Tcp,
    Unix,
}

impl From<Peer> for Kind {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Inet(_) => Kind::Tcp,
            Peer::Unix => Kind::Unix,
        }
    }
}

enum Io {
    Fresh(OwnedFd),
    Watched(Watched),
    /// in between, and after [`Socket::take`]
    None,
}

/// A socket that the runtime knows.
enum Watched {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Watched {
    fn new(io: OwnedFd, kind: Kind) -> io::Result<Self> {
        Ok(match kind {
            Kind::Tcp => Watched::Tcp(TcpStream::from_std(io.into())?),
            Kind::Unix => Watched::Unix(UnixStream::from_std(io.into())?),
        })
    }

    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Watched::Tcp(io) => io.poll_read_ready(cx),
            Watched::Unix(io) => io.poll_read_ready(cx),
        }
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Watched::Tcp(io) => io.poll_write_ready(cx),
            Watched::Unix(io) => io.poll_write_ready(cx),
        }
    }

    fn try_io<T>(&self, interest: Interest, f: impl FnOnce(BorrowedFd<'_>) -> io::Result<T>) -> io::Result<T> {
        match self {
            Watched::Tcp(io) => io.try_io(interest, || f(io.as_fd())),
            Watched::Unix(io) => io.try_io(interest, || f(io.as_fd())),
        }
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Watched::Tcp(io) => io.as_fd(),
            Watched::Unix(io) => io.as_fd(),
        }
    }
}

impl Socket {
    /// The socket, which must not block.
    pub fn new(io: OwnedFd, kind: Kind) -> Self {
        Socket { io: Io::Fresh(io), kind, drained: false, unwatched: false }
    }

    /// Moves the socket out. Nothing is left here: every later operation is an error.
    pub fn take(&mut self) -> Socket {
        let io = std::mem::replace(&mut self.io, Io::None);
        Socket { io, ..*self }
    }

    /// The socket, if the runtime does not know it: then the caller may wait for its first bytes, and the next read
    /// looks for them.
    pub fn fresh(&mut self) -> Option<&OwnedFd> {
        match &self.io {
            Io::Fresh(io) => {
                self.drained = false;
                Some(io)
            }
            _ => None,
        }
    }

    /// Whether it has one of the descriptors that are for R.
    pub fn is_in_rs_way(&self) -> bool {
        matches!(&self.io, Io::Fresh(io) if is_in_rs_way(io))
    }

    /// Gives it another one, if it is new and the system has one.
    pub fn step_aside(&mut self) {
        if let Io::Fresh(io) = std::mem::replace(&mut self.io, Io::None) {
            self.io = Io::Fresh(out_of_rs_way(io));
        }
    }

    /// Whether the runtime knows it.
    pub fn is_watched(&self) -> bool {
        matches!(self.io, Io::Watched(_))
    }

    /// Reads what is there. After `Pending` call [`Socket::watch`] before the task waits.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Watched(io) => loop {
                ready!(io.poll_read_ready(cx))?;
                match io.try_io(Interest::READABLE, |fd| receive(fd, into)) {
                    Ok(n) => {
                        if n > 0 && n < into.len() {
                            // that was all: the kernel need not be asked again, as what comes next is news
                            let _ = io.try_io(Interest::READABLE, |_| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                        }
                        return Poll::Ready(Ok(n));
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    Err(e) => return Poll::Ready(Err(e)),
                }
            },
            Io::Fresh(io) if !self.drained => match receive(io.as_fd(), into) {
                Ok(n) => {
                    self.drained = n < into.len();
                    Poll::Ready(Ok(n))
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.wait(),
                Err(e) => Poll::Ready(Err(e)),
            },
            Io::Fresh(_) => self.wait(),
            Io::None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Looks at what is there, without taking it, until `f` has made something of it: of no bytes when there will be
    /// none. After `Pending` as for [`Socket::poll_read`].
    pub fn poll_peek<T>(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
        mut f: impl FnMut(&[u8]) -> Option<T>,
    ) -> Poll<io::Result<T>> {
        let mut look = |io: BorrowedFd<'_>| {
            let n = rustix::net::recv(io, &mut *into, RecvFlags::PEEK)?.0;
            // what is not enough is as if it had not come: the next bytes are news again
            f(&into[..n]).ok_or_else(|| io::ErrorKind::WouldBlock.into())
        };
        match &mut self.io {
            Io::Watched(io) => loop {
                ready!(io.poll_read_ready(cx))?;
                match io.try_io(Interest::READABLE, &mut look) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    result => return Poll::Ready(result),
                }
            },
            Io::Fresh(io) if !self.drained => match look(io.as_fd()) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.wait(),
                result => Poll::Ready(result),
            },
            Io::Fresh(_) => self.wait(),
            Io::None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Takes as many bytes as `seen` has, which were looked at before.
    ///
    /// # Errors
    /// When they are not there any more.
    pub fn skip(&mut self, seen: &mut [u8]) -> io::Result<()> {
        let n = match &self.io {
            Io::Fresh(io) => receive(io.as_fd(), seen)?,
            Io::Watched(io) => receive(io.as_fd(), seen)?,
            Io::None => 0,
        };
        if n < seen.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn wait<T>(&mut self) -> Poll<T> {
        self.drained = true;
        self.unwatched = true;
        Poll::Pending
    }

    /// Has the task woken when there is more to read, if a read was told to wait.
    ///
    /// # Errors
    /// When the runtime cannot take the socket.
    pub fn watch(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !std::mem::take(&mut self.unwatched) {
            return Ok(());
        }
        if self.watched()?.poll_read_ready(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Ok(())
    }

    fn watched(&mut self) -> io::Result<&Watched> {
        self.io = match std::mem::replace(&mut self.io, Io::None) {
            Io::Fresh(io) => Io::Watched(Watched::new(out_of_rs_way(io), self.kind)?),
            other => other,
        };
        match &self.io {
            Io::Watched(io) => Ok(io),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Writes what the kernel takes.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, |fd| send(fd, bytes))
    }

    /// Writes what the kernel takes of these.
    pub fn poll_write_vectored(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, |fd| sent(sendmsg(fd, bufs, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?))
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        send: impl Fn(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        // most is taken at once: the runtime is asked when the kernel takes no more
        let sent = match &self.io {
            Io::Fresh(io) => send(io.as_fd()),
            Io::Watched(io) => send(io.as_fd()),
            Io::None => Err(io::ErrorKind::NotConnected.into()),
        };
        match sent {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result),
        }
        let io = self.watched()?;
        loop {
            ready!(io.poll_write_ready(cx))?;
            match io.try_io(Interest::WRITABLE, &send) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Writes what the kernel takes at once: a last effort.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.io {
            Io::Fresh(io) => send(io.as_fd(), bytes),
            Io::Watched(io) => send(io.as_fd(), bytes),
            Io::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Ends the sending side.
    ///
    /// # Errors
    /// When the client has gone.
    pub fn shutdown(&self) -> io::Result<()> {
        let fd = match &self.io {
            Io::Fresh(io) => io.as_fd(),
            Io::Watched(io) => io.as_fd(),
            Io::None => return Err(io::ErrorKind::NotConnected.into()),
        };
        Ok(rustix::net::shutdown(fd, Shutdown::Write)?)
    }
}

fn is_in_rs_way(io: &OwnedFd) -> bool {
    (LOW_DESCRIPTORS..SELECT_LIMIT).contains(&io.as_raw_fd())
}

fn out_of_rs_way(io: OwnedFd) -> OwnedFd {
    if is_in_rs_way(&io) {
        if let Ok(moved) = fcntl_dupfd_cloexec(&io, SELECT_LIMIT) {
            return moved;
        }
    }
    io
}

/// These ask the kernel directly: the C library's calls are points where a thread may be cancelled, which costs some.
fn receive(io: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    let (n, _) = rustix::net::recv(io, into, RecvFlags::empty())?;
    count(|cells| cells.received.add(n as u64));
    Ok(n)
}

fn send(io: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    sent(rustix::net::send(io, bytes, SendFlags::NOSIGNAL)?)
}

fn sent(n: usize) -> io::Result<usize> {
    count(|cells| cells.sent.add(n as u64));
    Ok(n)
}

//! TLS on a client's socket: what the transport reads and writes is encrypted here.
//!
//! ```text
//! Silent ─first bytes▶ Handshake ─▶ Open ─▶ closed, with a word (close_notify)
//!    └─ no TLS ▶ Plain                └─▶ Failed, with an alert
//! ```
//! The library's state is made when the first bytes are here: a client that says nothing holds little. What it has
//! encrypted is the socket's before more is encrypted, so a client that does not read holds [`AT_ONCE`] bytes here.
//!
//! Neighbours: `stream` (which the transport has), `socket`.

use super::{Agreed, Handshake, Tls};
use crate::connection::Connection;
use crate::socket::Socket;
use observe::metrics::count;
use rustls::ServerConnection;
use std::cell::Cell;
use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// Bytes that are read from the socket at a time, into a buffer of the thread.
const READ: usize = 64 << 10;
/// Bytes that are encrypted at a time: two records of the longest kind.
const AT_ONCE: usize = 32 << 10;
/// The type of the first record of a handshake (RFC 8446 section 5.1).
const HANDSHAKE: u8 = 0x16;

thread_local! {
    static RECEIVED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// See the module.
pub struct TlsStream {
    socket: Socket,
    state: State,
    tls: Arc<Tls>,
    connection: Arc<Connection>,
    /// while there is one
    handshake: Option<Handshake>,
    /// what was read and not decrypted, as there was no room for it
    left: Vec<u8>,
    /// bytes that the socket is to take before the transport hears that they are written
    owed: usize,
    /// the last response is not whole, and the client is to notice
    broken: bool,
}

enum State {
    Silent,
    Tls(Box<ServerConnection>),
    /// the client does not speak TLS
    Plain,
    /// nothing more can be said
    Failed,
}

impl TlsStream {
    /// On a new connection.
    pub fn new(socket: Socket, tls: Arc<Tls>, handshake: Handshake, connection: Arc<Connection>) -> Self {
        let (state, handshake, left) = (State::Silent, Some(handshake), Vec::new());
        TlsStream { socket, state, tls, connection, handshake, left, owed: 0, broken: false }
    }

    /// What it runs on.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The same.
    pub fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// Whether the client's handshake is still to come, or to end.
    pub fn is_in_handshake(&self) -> bool {
        self.handshake.is_some()
    }

    /// Whether the client speaks no TLS.
    pub fn is_plain(&self) -> bool {
        matches!(self.state, State::Plain)
    }

    /// The client is to notice that what it got is not all.
    pub fn breaks_off(&mut self) {
        self.broken = true;
    }

    /// Reads what is there. After `Pending` have the socket watched before the task waits.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if !self.left.is_empty() {
            let left = std::mem::take(&mut self.left);
            if let Some(n) = self.decrypt(&left, into)? {
                return Poll::Ready(Ok(n));
            }
        } else if let State::Tls(session) = &mut self.state {
            if let Some(n) = decrypted(session, into)? {
                return Poll::Ready(Ok(n));
            }
        }
        loop {
            // its own words: of the handshake, and answers to those of the client
            if self.poll_send(cx)?.is_pending() && self.is_in_handshake() {
                return Poll::Pending;
            }
            if let State::Plain | State::Failed = self.state {
                return self.socket.poll_read(cx, into);
            }
            let mut buffer = RECEIVED.take();
            buffer.resize(READ, 0);
            let read = self.socket.poll_read(cx, &mut buffer).map(|read| match read? {
                0 => Ok(Some(self.ends())),
                n => self.receive(&buffer[..n], into),
            });
            RECEIVED.set(buffer);
            if let Some(n) = ready!(read)? {
                return Poll::Ready(Ok(n));
            }
        }
    }

    /// The client has ended its side: whether with a word or not, what it has sent says itself where it ends.
    fn ends(&mut self) -> usize {
        if let State::Tls(session) = &mut self.state {
            // the library gets to know it
            let _ = session.read_tls(&mut io::empty());
        }
        0
    }

    /// Takes bytes of the socket. What can be read of them; `None` when that is nothing yet.
    fn receive(&mut self, bytes: &[u8], into: &mut [u8]) -> io::Result<Option<usize>> {
        if let State::Silent = self.state {
            if bytes[0] != HANDSHAKE && (bytes[0].is_ascii_graphic() || matches!(bytes[0], b'\r' | b'\n')) {
                self.state = State::Plain;
                self.handshake = None;
                self.connection.handshake_ends(None);
                self.connection.head_comes();
            } else {
                let session = ServerConnection::new(self.tls.config()).map_err(io::Error::other)?;
                self.state = State::Tls(Box::new(session));
            }
        }
        self.decrypt(bytes, into)
    }

    /// Gives bytes to the library, and takes what it makes of them. Where no TLS is spoken they are taken as they are.
    fn decrypt(&mut self, mut bytes: &[u8], into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut filled = 0;
        loop {
            let State::Tls(session) = &mut self.state else {
                let (now, later) = bytes.split_at(bytes.len().min(into.len()));
                into[..now.len()].copy_from_slice(now);
                self.left = later.to_vec();
                return Ok(Some(now.len()));
            };
            // before the library gets more, of which it holds one record's worth only
            match decrypted(session, &mut into[filled..])? {
                Some(0) if filled < into.len() => return Ok(Some(filled)),
                n => filled += n.unwrap_or(0),
            }
            if filled == into.len() || bytes.is_empty() {
                self.left = bytes.to_vec();
                return Ok((filled > 0).then_some(filled));
            }
            session.read_tls(&mut bytes)?;
            if let Err(e) = session.process_new_packets() {
                return Err(self.fails(&e));
            }
            if self.handshake.is_some() && !session.is_handshaking() {
                count(|cells| cells.handshakes.add(1));
                self.handshake = None;
                self.connection.handshake_ends(Some(Agreed::of(session)));
            }
        }
    }

    /// What the client has said is wrong, or not wanted: it gets the library's alert.
    fn fails(&mut self, e: &rustls::Error) -> io::Error {
        let when = if self.is_in_handshake() { "handshake" } else { "connection" };
        count(|cells| cells.failed_handshakes.add(u64::from(self.is_in_handshake())));
        let remote = self.connection.remote_addr();
        self.connection.server().log.of_client(|| format!("{remote} TLS {when} failed: {e}"));
        if let State::Tls(session) = &mut self.state {
            // what is not taken at once is not worth waiting for
            let _ = session.write_tls(&mut AtOnce(&mut self.socket));
        }
        self.state = State::Failed;
        self.handshake = None;
        io::ErrorKind::InvalidData.into()
    }

    /// Writes what the kernel takes. After `Pending` the same bytes are to be written again, as they may be encrypted
    /// already.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let session = match &mut self.state {
            State::Tls(session) => session,
            State::Plain => return self.socket.poll_write_vectored(cx, bufs),
            State::Silent | State::Failed => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        };
        if self.owed == 0 {
            self.owed = encrypt(session, bufs)?;
        }
        ready!(self.poll_send(cx))?;
        Poll::Ready(Ok(std::mem::take(&mut self.owed)))
    }

    /// Has the socket take what is encrypted.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let State::Tls(session) = &mut self.state else { return Poll::Ready(Ok(())) };
        while session.wants_write() {
            match session.write_tls(&mut Waiting { socket: &mut self.socket, cx }) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what the kernel takes at once: a last effort.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Tls(session) => {
                let new = bytes.get(self.owed..).unwrap_or_default();
                encrypt(session, &[IoSlice::new(new)])?;
                session.write_tls(&mut AtOnce(&mut self.socket))
            }
            State::Plain => self.socket.try_write(bytes),
            State::Silent | State::Failed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Ends the sending side.
    ///
    /// # Errors
    /// When the client has gone.
    pub fn shutdown(&mut self) -> io::Result<()> {
        self.say_goodbye();
        self.socket.shutdown()
    }

    /// Says that nothing comes any more (RFC 8446 section 6.1): without that, the client takes the end for an attack.
    /// Once, and never when it is right to do so.
    fn say_goodbye(&mut self) {
        let is_over = !self.is_in_handshake() && !self.broken;
        if let State::Tls(session) = &mut self.state {
            if is_over {
                session.send_close_notify();
            }
            while session.wants_write() {
                if session.write_tls(&mut AtOnce(&mut self.socket)).is_err() {
                    break;
                }
            }
            self.state = State::Failed;
        }
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

/// What the library has decrypted; 0 when the client has ended its side, `None` when nothing is there.
fn decrypted(session: &mut ServerConnection, into: &mut [u8]) -> io::Result<Option<usize>> {
    match session.reader().read(into) {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(0)),
        Err(e) => Err(e),
    }
}

/// Encrypts the first of these bytes, and gives their number.
fn encrypt(session: &mut ServerConnection, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
    let all: usize = bufs.iter().map(|buf| buf.len()).sum();
    if all <= AT_ONCE {
        return session.writer().write_vectored(bufs);
    }
    let mut left = AT_ONCE;
    for buf in bufs {
        let n = buf.len().min(left);
        session.writer().write_all(&buf[..n])?;
        left -= n;
    }
    Ok(AT_ONCE)
}

/// The socket, for a task that waits for it.
struct Waiting<'a, 'c, 'w> {
    socket: &'a mut Socket,
    cx: &'c mut Context<'w>,
}

fn or_block(poll: Poll<io::Result<usize>>) -> io::Result<usize> {
    match poll {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Write for Waiting<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_block(self.socket.poll_write(self.cx, bytes))
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match bufs {
            [one] => self.write(one),
            _ => or_block(self.socket.poll_write_vectored(self.cx, bufs)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket, for what is not waited for.
struct AtOnce<'a>(&'a mut Socket);

impl Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! What a transport reads and writes: a socket, or TLS on one, behind a header of a balancer where one is required.
//! Everything that is sent to a client goes through it, refusals and last words too.

use crate::connection::Connection;
use crate::preamble::Preamble;
use crate::socket::Socket;
use crate::tls::TlsStream;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// See the module.
pub enum Stream {
    Preamble(Box<Preamble>),
    Plain(Socket),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Of a new connection. `None` when its client has as many connections, or handshakes, as it may: then it is
    /// closed.
    pub fn new(socket: Socket, connection: &Arc<Connection>) -> Option<Self> {
        if connection.is_announced() {
            return Some(Stream::Preamble(Box::new(Preamble::new(socket, connection.clone()))));
        }
        Self::of_client(socket, connection)
    }

    /// The same, once the client's address is known.
    fn of_client(socket: Socket, connection: &Arc<Connection>) -> Option<Self> {
        let server = connection.server();
        let refused = |why: &str| {
            server.log.of_client(|| format!("{} closed: {why}", connection.remote_addr()));
            server.refuses();
        };
        if !connection.takes_place() {
            let most = server.limits.max_connections_per_address;
            refused(&format!("over `max_connections_per_address` = {most}"));
            return None;
        }
        let Some(tls) = server.tls.as_ref().filter(|_| connection.begins_with_tls()) else {
            return Some(Stream::Plain(socket));
        };
        let Some(handshake) = tls.handshake(connection.share_of_handshakes()) else {
            refused("too many TLS handshakes are under way");
            return None;
        };
        connection.handshake_begins();
        Some(Stream::Tls(Box::new(TlsStream::new(socket, tls.clone(), handshake, connection.clone()))))
    }

    /// Goes on behind the header of the balancer. `false` when nothing comes.
    fn poll_preamble(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Stream::Preamble(preamble) = self else { return Poll::Ready(Ok(true)) };
        if !ready!(preamble.poll(cx))? {
            return Poll::Ready(Ok(false));
        }
        let (socket, connection) = preamble.hand_on();
        *self = Self::of_client(socket, &connection).ok_or(io::ErrorKind::ConnectionRefused)?;
        Poll::Ready(Ok(true))
    }

    /// The socket below it, for callers that wait for that.
    pub fn socket(&mut self) -> &mut Socket {
        match self {
            Stream::Preamble(preamble) => preamble.socket_mut(),
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => tls.socket_mut(),
        }
    }

    /// Whether the runtime knows the socket.
    pub fn is_watched(&self) -> bool {
        match self {
            Stream::Preamble(preamble) => preamble.socket().is_watched(),
            Stream::Plain(socket) => socket.is_watched(),
            Stream::Tls(tls) => tls.socket().is_watched(),
        }
    }

    /// What is still to come, or to end, before anything can be said.
    pub fn awaits(&self) -> Option<&'static str> {
        match self {
            Stream::Preamble(_) => Some("header of PROXY protocol"),
            Stream::Plain(_) => None,
            Stream::Tls(tls) => tls.is_in_handshake().then_some("TLS handshake"),
        }
    }

    /// Whether the client does not speak TLS, though the server does.
    pub fn is_misdirected(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.is_plain())
    }

    /// The client is to notice that what it got is not all.
    pub fn breaks_off(&mut self) {
        if let Stream::Tls(tls) = self {
            tls.breaks_off();
        }
    }

    /// See [`Socket::poll_read`].
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if !ready!(self.poll_preamble(cx))? {
            return Poll::Ready(Ok(0));
        }
        match self {
            Stream::Preamble(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            Stream::Plain(socket) => socket.poll_read(cx, into),
            Stream::Tls(tls) => tls.poll_read(cx, into),
        }
    }

    /// See [`Socket::watch`].
    ///
    /// # Errors
    /// When the runtime cannot take the socket.
    pub fn watch(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.socket().watch(cx)
    }

    /// See [`Socket::poll_write`]. After `Pending` the same bytes are to be written again.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Preamble(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            Stream::Plain(socket) => socket.poll_write(cx, bytes),
            Stream::Tls(tls) => tls.poll_write(cx, &[IoSlice::new(bytes)]),
        }
    }

    /// The same with several pieces.
    pub fn poll_write_vectored(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Stream::Preamble(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            Stream::Plain(socket) => socket.poll_write_vectored(cx, bufs),
            Stream::Tls(tls) => tls.poll_write(cx, bufs),
        }
    }

    /// Writes what the kernel takes at once: a last effort.
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Preamble(_) => Err(io::ErrorKind::NotConnected.into()),
            Stream::Plain(socket) => socket.try_write(bytes),
            Stream::Tls(tls) => tls.try_write(bytes),
        }
    }

    /// Ends the sending side.
    ///
    /// # Errors
    /// When the client has gone.
    pub fn shutdown(&mut self) -> io::Result<()> {
        match self {
            Stream::Preamble(preamble) => preamble.socket().shutdown(),
            Stream::Plain(socket) => socket.shutdown(),
            Stream::Tls(tls) => tls.shutdown(),
        }
    }
}

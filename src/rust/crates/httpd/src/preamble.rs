//! The header of PROXY protocol, which a balancer sends before all else, TLS too: until it is here, nothing of the
//! connection is read, and nothing is said. It is looked at where the kernel has it, and taken when it is whole.
//!
//! Neighbours: `stream`, which goes on when it is here; `proxies::header`, which reads it.

use crate::connection::Connection;
use crate::socket::Socket;
use proxies::Header;
use std::io;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// See the module.
pub struct Preamble {
    socket: Socket,
    connection: Arc<Connection>,
}

impl Preamble {
    /// Of a new connection from a balancer.
    pub fn new(socket: Socket, connection: Arc<Connection>) -> Self {
        connection.handshake_begins();
        Preamble { socket, connection }
    }

    /// What it comes by.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The same.
    pub fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// Waits for the header. `false` when the balancer has gone, as one does that only looks whether the server is
    /// there.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut bytes = [0; proxies::LONGEST];
        let mut wrong = None;
        let found = ready!(self.socket.poll_peek(cx, &mut bytes, |bytes| match proxies::header(bytes) {
            Header::Part if bytes.is_empty() => Some((0, None)),
            Header::Part => None,
            Header::Whole { len, client } => Some((len, client)),
            Header::Wrong(why) => {
                wrong = Some(why);
                Some((0, None))
            }
        }))?;
        if let Some(why) = wrong {
            let remote = self.connection.remote_addr();
            let line = || format!("{remote} closed: a header of PROXY protocol is required, and {why}");
            self.connection.server().log.of_client(line);
            drop(self.socket.take());
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let (len, client) = found;
        if len == 0 {
            return Poll::Ready(Ok(false));
        }
        self.socket.skip(&mut bytes[..len])?;
        if let Some(client) = client {
            self.connection.is_from(client);
        }
        self.connection.settled();
        Poll::Ready(Ok(true))
    }

    /// The socket, behind the header. Nothing is left here.
    pub fn hand_on(&mut self) -> (Socket, Arc<Connection>) {
        (self.socket.take(), self.connection.clone())
    }
}

//! One connection, from its first byte to its end.
//!
//! While it waits for a request it has no buffer and none of the HTTP library's state: it borrows both (`machine`) from the first
//! byte of a request to the last one of its answer. A client that begins with HTTP/2 gets a machine of its own.

use super::line::Line;
use super::machine::{self, Machine};
use super::socket::Socket;
use super::state::{Connection, Order};
use super::stream::Current;
use super::sweep;
use crate::observe::Level;
use crate::pipeline;
use crate::respond::{plain_head, Failure};
use crate::server::{Context as Server, Open};
use http::StatusCode;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use std::future::{poll_fn, Future};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// After an answer that ends a connection, what the client still sends is read for this long, so that the answer is not lost to a reset.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 4 << 20;

/// Has this thread serve a connection to its end.
pub fn spawn(io: TcpStream, peer: SocketAddr, open: Open) {
    tokio::spawn(serve(io, peer, open));
}

async fn serve(io: TcpStream, peer: SocketAddr, open: Open) {
    let state = Arc::new(Connection::new(peer));
    let _registered = sweep::register(&state);
    let line = Line::new(Socket::new(io), state.clone(), open.context().limits.clone());
    let mut client = Client { line: Some(Box::new(line)), machine: None, draining: false, known: false, state, open };
    let ended = poll_fn(|cx| client.poll(cx)).await;
    let Client { line, machine, state, open, .. } = client;
    // and with it the requests under way
    drop(machine);
    let Some(line) = line else { return };
    // the rest is rare, and larger than all before
    match ended {
        Ended::Complete => drop(line.into_socket()),
        Ended::Linger => Box::pin(linger(line.into_socket())).await,
        Ended::Refused(failure) => Box::pin(refuse(line.into_socket(), failure, &state, open.context())).await,
        Ended::Http2 => Box::pin(serve_http2(line, &state, open.context())).await,
    }
}

/// How a connection ends, or goes on.
enum Ended {
    /// there is nothing more to say
    Complete,
    /// the client may still be sending
    Linger,
    /// it has to be told why
    Refused(Failure),
    /// it goes on in HTTP/2
    Http2,
}

/// A connection that speaks HTTP/1.1, as far as one knows.
struct Client {
    /// `None` only while the machine has it
    line: Option<Box<Line>>,
    /// when there is something under way
    machine: Option<Machine>,
    /// the machine knows that the next answer is the last one
    draining: bool,
    /// the sweep can wake the task
    known: bool,
    state: Arc<Connection>,
    open: Open,
}

impl Client {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        if !self.known {
            // the task's waker is the same for as long as the connection lives
            self.state.set_waker(cx.waker());
            self.known = true;
        }
        match self.state.order() {
            Order::None => {}
            Order::Drain => match &mut self.machine {
                None => return Poll::Ready(self.after_last()),
                Some(machine) if !self.draining => {
                    self.draining = true;
                    machine.as_mut().graceful_shutdown();
                }
                Some(_) => {}
            },
            Order::Close => return Poll::Ready(Ended::Complete),
            Order::HeaderTimeout => {
                let failure = Failure::new(StatusCode::REQUEST_TIMEOUT, "the header section came too slowly");
                return Poll::Ready(Ended::Refused(failure));
            }
            Order::WriteTimeout => {
                self.open.context().log.line(Level::Warn, &format!("{} write timeout", self.state.remote_addr));
                return Poll::Ready(Ended::Complete);
            }
        }
        let mut machine = self.machine.take().unwrap_or_else(|| machine::take(self.open.context()));
        if Current::is(&mut self.line, || machine.as_mut().poll(cx)).is_ready() {
            return Poll::Ready(self.done());
        }
        let Some(line) = &mut self.line else { return Poll::Ready(Ended::Complete) };
        if !self.draining && line.is_at_rest() {
            machine::free(machine);
        } else {
            self.machine = Some(machine);
        }
        // a client that has ended its side still gets what it has asked for
        if line.is_ended() && line.is_written() {
            return Poll::Ready(Ended::Complete);
        }
        if line.is_http2() {
            return Poll::Ready(Ended::Http2);
        }
        match line.watch(cx) {
            Ok(()) => Poll::Pending,
            Err(e) => {
                self.open
                    .context()
                    .log
                    .line(Level::Error, &format!("{} cannot be served: {e}", self.state.remote_addr));
                Poll::Ready(Ended::Complete)
            }
        }
    }

    /// The machine has come to its end.
    fn done(&self) -> Ended {
        match self.state.refusal() {
            Some((refusal, false)) if self.state.is_refusal_reached() => {
                let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
                Ended::Refused(Failure::new(status, refusal.why))
            }
            _ => self.after_last(),
        }
    }

    /// After the last answer. Closing a socket with unread bytes resets the connection, and a reset can overtake the answer:
    /// so what the client still sends is read for a while, unless it has nothing more to say.
    fn after_last(&self) -> Ended {
        // a client of a server that is ending has nothing more to say either
        if self.open.context().is_draining() || self.line.as_ref().is_none_or(|line| line.is_complete()) {
            Ended::Complete
        } else {
            Ended::Linger
        }
    }
}

/// Tells why no request could be made of the bytes, and ends the connection.
async fn refuse(socket: Socket, failure: Failure, state: &Connection, server: &Server) {
    let id = server.next_id();
    let line = format!("id={id:016x} {} - {} {}", state.remote_addr, failure.status.as_u16(), failure.detail);
    server.log.line(Level::Warn, &line);
    let Ok(mut io) = socket.into_watched() else { return };
    if io.write_all(&plain_head(&failure, id)).await.is_ok() {
        drain(io).await;
    }
}

async fn linger(socket: Socket) {
    if let Ok(io) = socket.into_watched() {
        drain(io).await;
    }
}

/// Ends the sending side, then reads what still comes for a while.
async fn drain(mut io: tokio::net::TcpStream) {
    if io.shutdown().await.is_err() {
        return;
    }
    let drain = async {
        let mut sink = [0u8; 4096];
        let mut left = LINGER_BYTES;
        while left > 0 {
            match io.read(&mut sink).await {
                Ok(n) if n > 0 => left = left.saturating_sub(n),
                _ => return,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, drain).await;
}

#[derive(Clone, Copy)]
struct OnThisThread;

impl<F> hyper::rt::Executor<F> for OnThisThread
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        tokio::spawn(future);
    }
}

async fn serve_http2(line: Box<Line>, state: &Arc<Connection>, server: &Arc<Server>) {
    let service = {
        let (state, server) = (state.clone(), server.clone());
        service_fn(move |request| pipeline::handle(request, state.clone(), &server))
    };
    state.speaks_http2();
    if server.is_draining() {
        state.give(Order::Drain);
    }
    let limits = &server.limits;
    let mut machine = http2::Builder::new(OnThisThread)
        .max_concurrent_streams(limits.max_streams)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(1 << 20)
        .max_header_list_size(u32::try_from(limits.max_header_size).unwrap_or(u32::MAX))
        // rapid reset: streams that the client resets before they are accepted, and those that its errors make us reset
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(Some(1024))
        .serve_connection(Current, service);
    let mut draining = false;
    let mut line = Some(line);
    poll_fn(|cx| {
        match state.order() {
            Order::None => {}
            Order::Drain if !draining => {
                draining = true;
                Pin::new(&mut machine).graceful_shutdown();
            }
            Order::Drain => {}
            Order::Close | Order::HeaderTimeout | Order::WriteTimeout => return Poll::Ready(()),
        }
        Current::is(&mut line, || Pin::new(&mut machine).poll(cx)).map(drop)
    })
    .await;
    drop(machine);
    if let Some(line) = line {
        linger(line.into_socket()).await;
    }
}

//! One connection, from its first byte to its end.
//!
//! It waits for the first bytes without any buffer, sees from them which version of HTTP the client speaks, and hands the
//! socket to the HTTP library. When an HTTP/1.1 connection has been idle for a while, the library's state and buffers are dropped and it
//! waits like a new one: ten thousand idle connections cost little more than their sockets.

use super::state::{Connection, Order};
use super::stream::{Return, Stream};
use super::sweep;
use crate::observe::Level;
use crate::pipeline;
use crate::respond::{plain_head, Failure};
use crate::server::Context;
use http::StatusCode;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use std::future::{poll_fn, Future};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// What a client with prior knowledge of HTTP/2 begins with (RFC 9113 section 3.4). Three bytes tell it from any method.
const PREFACE: &[u8] = b"PRI";

/// After an answer that ends a connection, what the client still sends is read for this long, so that the answer is not lost to a reset.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 4 << 20;

/// Serves a connection to its end.
pub async fn serve(io: TcpStream, context: Arc<Context>) {
    let Ok(peer) = io.peer_addr() else { return };
    // without it, a response in two writes waits 40 ms for the client's acknowledgement
    let _ = io.set_nodelay(true);
    let state = Arc::new(Connection::new(peer));
    let _registered = sweep::register(&state);
    let mut io = io;
    loop {
        match first_bytes(&io, &state).await {
            First::Http1 => match Box::pin(serve_http1(io, &state, &context)).await {
                Some(idle) => io = idle,
                None => return,
            },
            First::Http2 => return Box::pin(serve_http2(io, &state, &context)).await,
            First::Ended => return,
        }
    }
}

enum First {
    Http1,
    Http2,
    Ended,
}

async fn first_bytes(io: &TcpStream, state: &Connection) -> First {
    loop {
        let mut space = [0u8; PREFACE.len()];
        let seen = poll_fn(|cx| {
            // the task's waker is the same for as long as the connection lives
            state.set_waker(cx.waker());
            if state.order() > Order::Hibernate {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            state.hibernated();
            io.poll_peek(cx, &mut ReadBuf::new(&mut space))
        })
        .await;
        match seen {
            Err(_) | Ok(0) => return First::Ended,
            Ok(n) if space[..n] != PREFACE[..n] => return First::Http1,
            Ok(n) if n == PREFACE.len() => return First::Http2,
            // "P" or "PR": the socket stays readable, so waiting for it would spin
            Ok(_) => {
                state.bytes_came(0, true);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// `Some` when the connection is idle and has given up its buffers.
async fn serve_http1(io: TcpStream, state: &Arc<Connection>, context: &Arc<Context>) -> Option<TcpStream> {
    let service = {
        let (state, context) = (state.clone(), context.clone());
        service_fn(move |request| pipeline::handle(request, state.clone(), context.clone()))
    };
    let limits = &context.limits;
    let back = Return::default();
    let stream = Stream::http1(io, back.clone(), state.clone(), context.limits.clone());
    let mut connection = Box::pin(
        http1::Builder::new()
            .max_headers(limits.max_headers + 1)
            // the audit has the limits; the library needs room for the largest header section and request line that pass it
            .max_buf_size((limits.max_header_size + limits.max_request_line + 1024).max(8192))
            .serve_connection(stream, service),
    );
    state.wakes_up();
    let mut draining = false;
    let ended = poll_fn(|cx| {
        match state.order() {
            Order::None => {}
            Order::Hibernate => {
                let rest = state.at_rest();
                state.hibernated();
                if rest {
                    return Poll::Ready(Ended::AtRest);
                }
            }
            Order::Drain if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
            Order::Drain => {}
            Order::Close => return Poll::Ready(Ended::Closed),
            Order::HeaderTimeout => return Poll::Ready(Ended::HeaderTimeout),
            Order::WriteTimeout => return Poll::Ready(Ended::WriteTimeout),
        }
        // an error is the client's going or a refusal: both are known from the state
        connection.as_mut().poll(cx).map(|_| Ended::Done)
    })
    .await;
    drop(connection);
    let io = back.take()?;
    match ended {
        Ended::AtRest => {
            state.goes_dormant();
            sweep::hibernated();
            return Some(io);
        }
        Ended::HeaderTimeout => {
            let failure = Failure::new(StatusCode::REQUEST_TIMEOUT, "the header section came too slowly");
            refuse(io, failure, state, context).await;
        }
        Ended::Closed => {}
        Ended::WriteTimeout => context.log.line(Level::Warn, &format!("{} write timeout", state.remote_addr)),
        Ended::Done => match state.refusal() {
            Some((refusal, false)) if state.is_refusal_reached() => {
                let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
                refuse(io, Failure::new(status, refusal.why), state, context).await;
            }
            // a client of a server that is ending has nothing more to say
            _ if context.is_draining() => {}
            _ => linger(io).await,
        },
    }
    None
}

enum Ended {
    AtRest,
    HeaderTimeout,
    WriteTimeout,
    Closed,
    Done,
}

/// Tells why no request could be made of the bytes, and ends the connection.
async fn refuse(mut io: TcpStream, failure: Failure, state: &Connection, context: &Context) {
    let id = context.next_id();
    let line = format!("id={id:016x} {} - {} {}", state.remote_addr, failure.status.as_u16(), failure.detail);
    context.log.line(Level::Warn, &line);
    if io.write_all(&plain_head(&failure, id)).await.is_ok() {
        linger(io).await;
    }
}

/// Ends the sending side, then reads what still comes for a while. Closing a socket with unread bytes resets the connection, and a reset
/// can overtake the last answer.
async fn linger(mut io: TcpStream) {
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

async fn serve_http2(io: TcpStream, state: &Arc<Connection>, context: &Arc<Context>) {
    let service = {
        let (state, context) = (state.clone(), context.clone());
        service_fn(move |request| pipeline::handle(request, state.clone(), context.clone()))
    };
    state.speaks_http2();
    if context.is_draining() {
        state.give(Order::Drain);
    }
    let limits = &context.limits;
    let back = Return::default();
    let stream = Stream::http2(io, back.clone(), state.clone(), context.limits.clone());
    let mut connection = http2::Builder::new(OnThisThread)
        .max_concurrent_streams(limits.max_streams)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(1 << 20)
        .max_header_list_size(u32::try_from(limits.max_header_size).unwrap_or(u32::MAX))
        // rapid reset: streams that the client resets before they are accepted, and those that its errors make us reset
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(Some(1024))
        .serve_connection(stream, service);
    let mut draining = false;
    let _ = poll_fn(|cx| {
        match state.order() {
            Order::None | Order::Hibernate => state.hibernated(),
            Order::Drain if !draining => {
                draining = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            Order::Drain => {}
            Order::Close | Order::HeaderTimeout | Order::WriteTimeout => return Poll::Ready(Ok(())),
        }
        Pin::new(&mut connection).poll(cx)
    })
    .await;
    drop(connection);
    if let Some(io) = back.take() {
        linger(io).await;
    }
}

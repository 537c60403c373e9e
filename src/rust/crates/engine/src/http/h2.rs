//! HTTP/2 without TLS, for clients that know it: the library's, on a line.

use super::lent;
use super::line::Line;
use super::state::{Connection, Order};
use crate::head::Head;
use crate::http::Incoming;
use crate::pipeline;
use crate::server::Context as Server;
use http::Request;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use std::future::{poll_fn, Future};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// What a client with prior knowledge of HTTP/2 begins with (RFC 9113 section 3.4). Three bytes tell it from any method.
const PREFACE: &[u8] = b"PRI";
/// The client's preface and the header of its first frame (RFC 9113 sections 3.4 and 4.1).
const BEGINNING: usize = 24 + 9;

/// Whether the first bytes of a connection are those of HTTP/2; `None` while that cannot be told.
pub fn recognise(bytes: &[u8]) -> Option<bool> {
    let n = bytes.len().min(PREFACE.len());
    if bytes[..n] != PREFACE[..n] {
        return Some(false);
    }
    (n == PREFACE.len()).then_some(true)
}

/// Serves a connection to its end, and gives its line back.
pub async fn serve(line: Box<Line>, state: &Arc<Connection>, server: &Arc<Server>) -> Option<Box<Line>> {
    let service = {
        let (state, server) = (state.clone(), server.clone());
        service_fn(move |request: Request<hyper::body::Incoming>| {
            let (parts, body) = request.into_parts();
            pipeline::handle(Head::from_http2(&parts), Incoming::Http2(body), state.clone(), &server)
        })
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
        .serve_connection(Stream { unsettled: BEGINNING, state: state.clone() }, service);
    let mut draining = false;
    let mut line = Some(line);
    poll_fn(|cx| {
        state.set_waker(cx.waker());
        match state.order() {
            Order::None => {}
            Order::Drain if !draining => {
                draining = true;
                Pin::new(&mut machine).graceful_shutdown();
            }
            Order::Drain => {}
            Order::Close | Order::HeaderTimeout | Order::WriteTimeout => return Poll::Ready(()),
        }
        if let Some(line) = &mut line {
            line.begin();
        }
        let ended = lent::lend(&mut line, || Pin::new(&mut machine).poll(cx)).map(drop);
        if let Some(line) = &mut line {
            line.rest();
        }
        ended
    })
    .await;
    line
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

/// The line as the library has it.
struct Stream {
    /// bytes of the connection's beginning that are still to come
    unsettled: usize,
    state: Arc<Connection>,
}

impl Stream {
    /// HTTP/2 begins with a preface and the client's settings; only then may the connection idle.
    fn settle(&mut self, bytes: usize) {
        if self.unsettled > 0 {
            self.unsettled = self.unsettled.saturating_sub(bytes);
            if self.unsettled == 0 {
                self.state.settled();
            } else {
                self.state.head_comes();
            }
        }
    }
}

fn poll<T>(f: impl FnOnce(&mut Line) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    lent::borrow(f).unwrap_or_else(|| Poll::Ready(Err(io::ErrorKind::NotConnected.into())))
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let read = poll(|line| {
            if line.input().is_empty() {
                let filled = line.poll_fill(cx);
                line.watch(cx)?;
                ready!(filled)?;
            }
            let n = line.input().len().min(buf.remaining());
            buf.put_slice(&line.input()[..n]);
            line.consume(n);
            Poll::Ready(Ok(n))
        });
        let n = ready!(read)?;
        self.settle(n);
        Poll::Ready(Ok(()))
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        poll(|line| line.poll_write(cx, &[IoSlice::new(buf)]))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        poll(|line| line.poll_write(cx, bufs))
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

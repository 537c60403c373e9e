//! One connection, from its first byte to its end: HTTP/1.1, as far as one knows, or HTTP/2, if the client begins with it.

use super::h1::{Client, Ended};
use super::h2;
use super::line::Line;
use super::socket::Socket;
use super::state::Connection;
use super::sweep;
use crate::observe::Level;
use crate::respond::{plain_head, Failure};
use crate::server::{Context as Server, Open};
use std::cell::Cell;
use std::future::poll_fn;
use std::net::{SocketAddr, TcpStream};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// After an answer that ends a connection, what the client still sends is read for this long, so that the answer is not lost to a reset.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 4 << 20;

/// Is woken before there is a task.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

static NOBODY: LazyLock<Waker> = LazyLock::new(|| Arc::new(Nobody).into());

thread_local! {
    static EARLY: Early = const { Early { score: Cell::new(0) } };
}

/// Whether requests tend to be here when their connection is: so it is when there are more than the thread can keep up with.
struct Early {
    /// above 0 when they were lately
    score: Cell<i32>,
}

impl Early {
    const MOST: i32 = 8;

    /// Whether to look. When it is of no use mostly, it is tried now and then.
    fn is_worth_a_look(&self) -> bool {
        let score = self.score.get();
        if score < 0 {
            self.score.set(score + 1);
        }
        score >= 0
    }

    fn note(&self, was_here: bool) {
        let score = self.score.get();
        self.score.set(if was_here {
            (score + 2).min(Self::MOST)
        } else if score > 0 {
            score - 1
        } else {
            -Self::MOST
        });
    }
}

/// Has this thread serve a connection to its end.
pub fn spawn(io: TcpStream, peer: SocketAddr, open: Open) {
    let state = Arc::new(Connection::new(peer));
    let early = EARLY.with(Early::is_worth_a_look);
    let line = Line::new(Socket::new(io, early), state.clone());
    let mut client = Client::new(Box::new(line), state, open);
    if !early {
        drop(tokio::spawn(serve(client)));
        return;
    }
    // what came with the connection is answered here and now: one that ends with that needs no task. A panic is one client's.
    let first = catch_unwind(AssertUnwindSafe(|| client.turn(&mut Context::from_waker(&NOBODY))));
    EARLY.with(|early| early.note(!client.is_new()));
    match first {
        Ok(Poll::Ready(Ended::Complete)) | Err(_) => {}
        Ok(Poll::Ready(ended)) => drop(tokio::spawn(end(client, ended))),
        Ok(Poll::Pending) => drop(tokio::spawn(serve(client))),
    }
}

async fn serve(mut client: Client) {
    let registered = sweep::register(client.state());
    let mut known = false;
    let ended = poll_fn(|cx| {
        if !known {
            // the task's waker is the same for as long as the connection lives
            client.state().set_waker(cx.waker());
            known = true;
        }
        client.poll(cx)
    })
    .await;
    drop(registered);
    // what is left is rare, and larger than all before
    if !matches!(ended, Ended::Complete) {
        Box::pin(end(client, ended)).await;
    }
}

async fn end(client: Client, ended: Ended) {
    // and with it the request under way
    let (line, state, open) = client.into_line();
    match ended {
        Ended::Complete => {}
        Ended::Linger => linger(line.into_socket()).await,
        Ended::Refused(failure) => refuse(line.into_socket(), failure, &state, open.context()).await,
        Ended::Http2 => {
            let _registered = sweep::register(&state);
            if let Some(line) = h2::serve(line, &state, open.context()).await {
                linger(line.into_socket()).await;
            }
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

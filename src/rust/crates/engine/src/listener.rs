//! Accepting connections: one task takes them and deals them to the I/O threads in turn, so that each has its share.

use crate::observe::Level;
use crate::server::{Command, Context};
use rustix::io::fcntl_dupfd_cloexec;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::Notify;

/// After an error that a moment may mend (no descriptors left), and between two log lines about it.
const PAUSE: Duration = Duration::from_millis(50);
const LOG_EVERY: Duration = Duration::from_secs(10);

/// R waits for its own sockets with `select()`, which knows no descriptor from 1024 on. Connections beyond the first
/// few are moved up there, so that the low numbers stay for R however many clients there are.
const LOW_DESCRIPTORS: i32 = 256;
const SELECT_LIMIT: i32 = 1024;

/// The task. At the last call it takes the connections that the kernel has accepted already, as their clients have been told so, and
/// ends: the listener closes, and then all threads drain.
pub async fn accept(
    listener: TcpListener,
    threads: Vec<UnboundedSender<Command>>,
    context: Arc<Context>,
    last_call: Arc<Notify>,
) {
    let mut turn = 0;
    let mut complained: Option<Instant> = None;
    let mut deal = |io: TcpStream| {
        let io = out_of_rs_way(io);
        context.open.fetch_add(1, Ordering::Relaxed);
        // a thread that has ended takes nothing: the server is stopping
        let _ = threads[turn].send(Command::Serve(io));
        turn = (turn + 1) % threads.len();
    };
    loop {
        let next = async {
            while context.open.load(Ordering::Relaxed) >= context.max_connections {
                context.one_closed.notified().await;
            }
            listener.accept().await
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = last_call.notified() => break,
        };
        match accepted {
            Ok((io, _)) => {
                if let Ok(io) = io.into_std() {
                    deal(io);
                }
            }
            Err(e) if is_clients(&e) => {}
            Err(e) => {
                if complained.is_none_or(|at| at.elapsed() > LOG_EVERY) {
                    complained = Some(Instant::now());
                    context.log.line(Level::Error, &format!("cannot accept connections: {e}"));
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    // by the kernel's own word, not the runtime's, which may be behind
    if let Ok(listener) = listener.into_std() {
        while let Ok((io, _)) = listener.accept() {
            deal(io);
        }
    }
    context.drains();
    for thread in &threads {
        let _ = thread.send(Command::Drain);
    }
    context.accepting.store(false, Ordering::Relaxed);
}

/// Errors of one connection, gone before it was accepted.
fn is_clients(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted)
}

fn out_of_rs_way(io: TcpStream) -> TcpStream {
    if (LOW_DESCRIPTORS..SELECT_LIMIT).contains(&io.as_raw_fd()) {
        if let Ok(moved) = fcntl_dupfd_cloexec(&io, SELECT_LIMIT) {
            return OwnedFd::into(moved);
        }
    }
    io
}

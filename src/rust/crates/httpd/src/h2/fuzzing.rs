//! A connection of HTTP/2 as the fuzz target `h2_connection` of `tests/fuzz` has it: served in the target's own thread,
//! turn by turn, at the time that the target says. Compiled with the feature `fuzzing` only.

use super::serve;
use crate::connection::{Connection, Directive};
use crate::listen::{Peer, Role};
use crate::service::Service;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::timeouts;
use crate::transport::Transport;
use admission::Limits;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::{spawn_blocking, yield_now, JoinHandle};

/// A server without threads or a listener.
pub struct Http2 {
    runtime: Runtime,
    server: Arc<Shared>,
    service: Arc<dyn Service>,
}

/// A connection that it serves.
pub struct Served {
    state: Arc<Connection>,
    task: JoinHandle<()>,
}

/// What is still there when no connection is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub tasks: usize,
    pub files: usize,
    /// bytes of bodies that are not complete, and of responses that are not taken
    pub bodies: u64,
    pub responses: u64,
}

impl Http2 {
    pub fn new(service: Arc<dyn Service>, limits: Limits, upload_path: PathBuf) -> Http2 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            // what is read of files is here when the next one begins: see `turn`
            .max_blocking_threads(1)
            .build()
            .expect("a runtime");
        let log = observe::Log::open("none", observe::Screen::default()).expect("no log needs nothing");
        let server = Arc::new(Shared::new(limits, upload_path, log, 1, 64));
        Http2 { runtime, server, service }
    }

    /// Serves a client whose first bytes are those of HTTP/2.
    pub fn serve(&self, socket: OwnedFd) -> Served {
        let state = Arc::new(Connection::new(Peer::Unix, Role::App, self.server.clone()));
        let io = Box::new(Transport::new(Stream::Plain(Socket::new(socket, Peer::Unix.into())), state.clone()));
        let (of_task, service) = (state.clone(), self.service.clone());
        let task = self.runtime.spawn(async move { drop(serve(io, &of_task, &service).await) });
        Served { state, task }
    }

    /// Everything that can go on does, `n` times; what is read of files is there as well.
    pub fn turn(&self, n: usize, reads_files: bool) {
        self.runtime.block_on(async {
            for _ in 0..n {
                yield_now().await;
                if reads_files {
                    spawn_blocking(|| ()).await.expect("a thread");
                    yield_now().await;
                }
            }
        });
    }

    /// Looks for what takes too long.
    pub fn look(&self, served: &Served) {
        timeouts::look(&self.server, &served.state);
    }

    pub fn left(&self) -> Left {
        let (files, bodies, responses) = self.server.budget.in_use();
        Left { tasks: self.runtime.metrics().num_alive_tasks(), files, bodies, responses }
    }
}

impl Served {
    /// The server wants to end.
    pub fn drain(&self) {
        self.state.give(Directive::Drain);
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Bytes of responses that wait to be taken, and the requests that are under way.
    pub fn waiting(&self) -> (usize, usize) {
        let (mut bytes, mut transfers) = (0, 0);
        self.state.for_each_transfer(|transfer| {
            bytes += transfer.waiting();
            transfers += 1;
        });
        // that of HTTP/1.1 is always there
        (bytes, transfers - 1)
    }

    /// Whether nothing else holds the connection any more.
    pub fn is_alone(&self) -> bool {
        Arc::strong_count(&self.state) == 1
    }
}

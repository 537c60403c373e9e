//! Accepting connections: every I/O thread takes them from the one listener, and keeps them unless another has far fewer.

use crate::http::nursery;
use crate::observe::Level;
use crate::server::{Command, Context, Open};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::SocketFlags;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::Notify;

/// After an error that a moment may mend (no descriptors left), and between two log lines about it.
const PAUSE: Duration = Duration::from_millis(50);
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Connections taken before those that are open have their turn.
const AT_A_TIME: usize = 32;

/// The listener, as all threads have it. It closes when the last of them has left.
pub(crate) struct Door {
    listener: TcpListener,
    context: Arc<Context>,
    threads: Vec<UnboundedSender<Command>>,
    complained: Mutex<Option<Instant>>,
}

impl Door {
    /// For these threads, each of which is to run [`accept`].
    pub fn new(listener: TcpListener, context: Arc<Context>, threads: Vec<UnboundedSender<Command>>) -> Arc<Self> {
        Arc::new(Door { listener, context, threads, complained: Mutex::new(None) })
    }

    /// A connection that the kernel has accepted.
    fn next(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (io, peer) = rustix::net::acceptfrom_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).ok_or(io::ErrorKind::ConnectionAborted)?;
        Ok((io.into(), peer))
    }

    /// Whether a connection waits to be accepted.
    fn has_more(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&at_once)) != Ok(0)
    }

    /// Gives a connection to the thread that took it, or to one that has far fewer: an eighth of all, at least two.
    fn deal(&self, me: usize, io: TcpStream, peer: SocketAddr, open: Open) {
        let mine = self.context.open_of(me);
        let slack = 1 + self.context.open() / 8;
        let least = (0..self.threads.len()).map(|at| (self.context.open_of(at), at)).min();
        let to = least.filter(|(n, _)| mine > n + slack).map_or(me, |(_, at)| at);
        // counted at once, so that the next one is dealt by it
        let open = open.of(to);
        if to == me {
            nursery::receive(io, peer, open);
        } else {
            // a thread that has ended takes nothing: the server is stopping
            let _ = self.threads[to].send(Command::Serve(io, peer, open));
        }
    }

    fn complain(&self, e: &io::Error) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if complained.is_none_or(|at| at.elapsed() > LOG_EVERY) {
            *complained = Some(Instant::now());
            self.context.log.line(Level::Error, &format!("cannot accept connections: {e}"));
        }
    }

    /// A thread accepts no more. When that was the last one, the door is closed, and all threads are told to drain: nobody is told to
    /// come again before, as who did so would find nobody.
    fn leave(self: Arc<Self>) {
        let Some(Door { listener, context, threads, .. }) = Arc::into_inner(self) else { return };
        drop(listener);
        context.drains();
        for thread in &threads {
            let _ = thread.send(Command::Drain);
        }
        context.accepting.store(false, Ordering::Relaxed);
    }
}

/// The door as a descriptor that a thread waits for.
struct Handle(Arc<Door>);

impl AsRawFd for Handle {
    fn as_raw_fd(&self) -> RawFd {
        self.0.listener.as_raw_fd()
    }
}

/// The task of a thread, by its number. At the last call it takes the connections that the kernel has accepted already, as their clients
/// have been told so, and ends.
pub(crate) async fn accept(door: Arc<Door>, me: usize, last_call: Arc<Notify>) {
    // deprecated for one that is unsafe, as the compiler cannot see that a descriptor stays what it is: the door keeps its own
    #[allow(deprecated)]
    let watched = AsyncFd::with_interest(Handle(door.clone()), Interest::READABLE);
    let door = match watched {
        Ok(handle) => {
            drop(door);
            let mut last_call = pin!(last_call.notified());
            let mut crowd = true;
            loop {
                tokio::select! {
                    biased;
                    () = &mut last_call => break,
                    () = some(&handle, me, &mut crowd) => {}
                }
            }
            handle.into_inner().0
        }
        Err(e) => {
            door.complain(&e);
            return door.leave();
        }
    };
    // by the kernel's own word, not the runtime's, which may be behind
    while let Ok((io, peer)) = door.next() {
        door.deal(me, io, peer, door.context.enter());
    }
    door.leave();
}

/// Takes connections as they come, a few at a time. `crowd`: there was more than one the last time.
async fn some(handle: &AsyncFd<Handle>, me: usize, crowd: &mut bool) {
    let door = &handle.get_ref().0;
    let Ok(mut ready) = poll_fn(|cx| handle.poll_read_ready(cx)).await else {
        return tokio::time::sleep(PAUSE).await;
    };
    let was_crowd = std::mem::replace(crowd, false);
    for n in 0..AT_A_TIME {
        // to accept a connection that is not there costs nearly as much as one that is: where they come one by one, the kernel is asked first
        if n == 1 && !was_crowd && !door.has_more() {
            return ready.clear_ready();
        }
        *crowd = n > 1;
        let Some(open) = door.context.try_enter() else { return door.context.one_closed.notified().await };
        match door.next() {
            Ok((io, peer)) => door.deal(me, io, peer, open),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return ready.clear_ready(),
            Err(e) if is_clients(&e) => {}
            Err(e) => {
                drop(open);
                door.complain(&e);
                return tokio::time::sleep(PAUSE).await;
            }
        }
    }
    tokio::task::yield_now().await;
}

/// Errors of one connection, gone before it was accepted.
fn is_clients(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted)
}

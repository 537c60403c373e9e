//! Accepting connections: every I/O thread takes them from the one listener. Neighbour: `new_connections`, which gets
//! them.

use crate::listen::{Listener, Role};
use crate::new_connections;
use crate::service::Service;
use crate::shared::Shared;
use crate::timeouts;
use observe::Level;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::sync::watch;

thread_local! {
    /// whether it is time to accept no more, of this I/O thread
    static LAST_CALL: watch::Sender<bool> = watch::Sender::new(false);
}

/// After an error that a moment may mend (no descriptors left), and between two log lines about it.
const PAUSE: Duration = Duration::from_millis(50);
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Connections taken before those that are open have their turn.
const AT_A_TIME: usize = 32;

/// After this many single accepts in a row a thread pauses this long. Not longer: the threads that still accept may be
/// kept from it by what they do.
const SINGLE_ACCEPTS: u32 = 8;
const STEP_BACK: Duration = Duration::from_millis(3);

/// A listener, as all threads have it. It closes when the last of them has left.
pub(crate) struct Acceptor {
    listener: Listener,
    server: Arc<Shared>,
    service: Arc<dyn Service>,
    /// listeners of the server that are open
    open: Arc<AtomicUsize>,
    /// threads that wait for connections
    waiting: AtomicUsize,
    complained: Mutex<Option<Instant>>,
    said_full: Mutex<Option<Instant>>,
}

impl Acceptor {
    /// One for each listener, and each for all I/O threads, which are to run [`run`].
    pub fn all(listeners: Vec<Listener>, server: &Arc<Shared>, service: &Arc<dyn Service>) -> Vec<Arc<Self>> {
        let open = Arc::new(AtomicUsize::new(listeners.len()));
        let acceptor = |listener| {
            let (server, service, open) = (server.clone(), service.clone(), open.clone());
            let (complained, said_full) = (Mutex::default(), Mutex::default());
            Arc::new(Acceptor { listener, server, service, open, waiting: AtomicUsize::new(0), complained, said_full })
        };
        listeners.into_iter().map(acceptor).collect()
    }

    /// Whether a connection waits to be accepted.
    fn has_more(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(self.listener.socket(), PollFlags::IN)], Some(&at_once)) != Ok(0)
    }

    /// A thread waits no more for a while, if that leaves another one that does.
    fn step_back(&self) -> bool {
        let one_less = |waiting| (waiting > 1).then(|| waiting - 1);
        self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    fn complain(&self, e: &io::Error) {
        Self::now_and_then(&self.complained, || {
            self.server.log.line(Level::Error, &format!("cannot accept connections: {e}"));
        });
    }

    /// There are as many connections as there may be, and a further one waits.
    fn is_full(&self) {
        Self::now_and_then(&self.said_full, || {
            let why = self.server.why_full();
            self.server.log.line(Level::Warn, &format!("new connections wait: {} are open, {why}", self.server.open()));
        });
    }

    fn now_and_then(last: &Mutex<Option<Instant>>, say: impl FnOnce()) {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|at| at.elapsed() > LOG_EVERY) {
            *last = Some(Instant::now());
            say();
        }
    }

    /// A thread accepts no more. The last one closes the listener; only when all listeners are closed are threads told
    /// to drain: a client that reconnected before would wait in a backlog from which nothing accepts.
    fn leave(self: Arc<Self>) {
        let Some(Acceptor { listener, server, open, .. }) = Arc::into_inner(self) else { return };
        drop(listener);
        if open.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        server.drains();
        server.run_on_all(timeouts::drain);
        server.accepting.store(false, Ordering::Relaxed);
    }
}

/// The acceptor as a descriptor that a thread waits for.
struct Handle(Arc<Acceptor>);

impl AsRawFd for Handle {
    fn as_raw_fd(&self) -> RawFd {
        self.0.listener.socket().as_raw_fd()
    }
}

/// The thread is to accept what the kernel has accepted already, and no more.
pub(crate) fn last_call() {
    LAST_CALL.with(|last_call| last_call.send_replace(true));
}

/// The task of a thread. At the last call it takes the connections that the kernel has accepted already, as their
/// clients have been told so, and ends.
///
/// The kernel wakes every thread that waits, for each connection. Where they come one by one, one thread can do with
/// less: so the others step back for a moment, again and again.
pub(crate) async fn run(acceptor: Arc<Acceptor>) {
    let mut last_call = LAST_CALL.with(watch::Sender::subscribe);
    let mut last_call = pin!(last_call.wait_for(|is_over| *is_over));
    loop {
        let stepped_back = tokio::select! {
            biased;
            _ = &mut last_call => break,
            stepped_back = wait(&acceptor) => stepped_back,
        };
        if let Err(e) = stepped_back {
            acceptor.complain(&e);
            return acceptor.leave();
        }
        tokio::select! {
            biased;
            _ = &mut last_call => break,
            () = tokio::time::sleep(STEP_BACK) => {}
        }
    }
    // by the kernel's own word, not the runtime's, which may be behind
    while let Ok((io, peer)) = acceptor.listener.accept() {
        new_connections::receive(
            io,
            (peer, acceptor.listener.role()),
            acceptor.server.enter(acceptor.listener.role()),
            &acceptor.service,
        );
    }
    acceptor.leave();
}

/// Waits for connections, and takes them, until the thread steps back.
///
/// # Errors
/// When the runtime cannot watch the listener.
async fn wait(acceptor: &Arc<Acceptor>) -> io::Result<()> {
    // deprecated for one that is unsafe, as the compiler cannot see that a descriptor stays what it is: the acceptor
    // keeps its own
    #[allow(deprecated)]
    let handle = AsyncFd::with_interest(Handle(acceptor.clone()), Interest::READABLE)?;
    acceptor.waiting.fetch_add(1, Ordering::Relaxed);
    let mut crowd = true;
    let mut single_accepts = 0;
    loop {
        some(&handle, &mut crowd).await;
        single_accepts = if crowd { 0 } else { single_accepts + 1 };
        if single_accepts >= SINGLE_ACCEPTS && acceptor.step_back() {
            return Ok(());
        }
    }
}

/// Takes connections as they come, a few at a time. `crowd`: there was more than one the last time.
async fn some(handle: &AsyncFd<Handle>, crowd: &mut bool) {
    let acceptor = &handle.get_ref().0;
    let Ok(mut ready) = poll_fn(|cx| handle.poll_read_ready(cx)).await else {
        return tokio::time::sleep(PAUSE).await;
    };
    let was_crowd = std::mem::replace(crowd, false);
    for n in 0..AT_A_TIME {
        // to accept a connection that is not there costs nearly as much as one that is: where they come one by one, the
        // kernel is asked first
        if n == 1 && !was_crowd && !acceptor.has_more() {
            return ready.clear_ready();
        }
        let role = acceptor.listener.role();
        let Some(open) = acceptor.server.try_enter(role) else {
            if role != Role::App {
                return tokio::time::sleep(PAUSE).await;
            }
            acceptor.is_full();
            return acceptor.server.budget.one_freed.notified().await;
        };
        match acceptor.listener.accept() {
            Ok((io, peer)) => {
                *crowd = n > 0;
                new_connections::receive(io, (peer, role), open, &acceptor.service);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return ready.clear_ready(),
            Err(e) if is_clients(&e) => {}
            Err(e) => {
                drop(open);
                acceptor.complain(&e);
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

//! Connections that have sent nothing yet, of one I/O thread.
//!
//! A task, and the runtime's memory for a socket, cost more than to answer a request: too much for a connection that
//! has only one. So new connections wait here together, the thread is woken when bytes of any of them are here, and
//! most of those with one request end in that turn. A connection that goes on for longer gets a task (`serve`), as does
//! one whose first byte is late.

use super::h1::{Ended, Http1Connection};
use super::serve::{end, spawn};
use super::socket::Socket;
use super::stream::Stream;
use crate::connection::Connection;
use crate::listen::{Peer, Role};
use crate::registry::watch_closely;
use crate::service::Service;
use crate::shared::OpenConnection;
use crate::transport::Transport;
use exchange::now;
use observe::metrics::count;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::net::{recv, send, shutdown, RecvFlags, SendFlags, Shutdown};
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// How long one may stay, in ms: a request that follows its connection at once comes sooner, unless its client has very
/// many to send.
const STAYS: u64 = 1000;
/// At most this many new connections, over all threads, keep descriptors from 256 to 1023, which R's `select()` needs.
const IN_RS_WAY: usize = 384;
/// Connections looked after before tasks have their turn.
const AT_A_TIME: usize = 32;

thread_local! {
    static NEW: RefCell<Option<NewConnections>> = const { RefCell::new(None) };
    static EARLY: Early = const { Early { score: Cell::new(0) } };
}

struct NewConnections {
    epoll: Handle,
    waiting: Slab<Waiting>,
    in_rs_way: usize,
}

impl NewConnections {
    fn leave(&mut self, key: usize) -> Option<Http1Connection> {
        let Waiting { client, in_rs_way, .. } = self.waiting.try_remove(key)?;
        self.in_rs_way -= usize::from(in_rs_way);
        Some(client)
    }
}

struct Waiting {
    client: Http1Connection,
    since: u64,
    in_rs_way: bool,
}

/// The set of their sockets.
#[derive(Clone)]
struct Handle(Arc<OwnedFd>);

impl AsRawFd for Handle {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Whether requests tend to be here when their connection is accepted: so it is when there are more than the thread can
/// keep up with.
struct Early {
    /// not below 0 when they were lately
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

/// The waker for turns without a task: it does nothing.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

static NOBODY: LazyLock<Waker> = LazyLock::new(|| Arc::new(Nobody).into());

/// Opens that of this thread, in the context of its runtime. Without one, every connection has a task from the
/// beginning.
///
/// # Errors
/// When the system has no descriptor for it.
pub fn open() -> io::Result<()> {
    let epoll = Handle(Arc::new(epoll::create(CreateFlags::CLOEXEC)?));
    // deprecated for one that is unsafe, as the compiler cannot see that a descriptor stays what it is: the handle
    // keeps its own
    #[allow(deprecated)]
    let watched = AsyncFd::with_interest(epoll.clone(), Interest::READABLE)?;
    NEW.set(Some(NewConnections { epoll, waiting: Slab::new(), in_rs_way: 0 }));
    tokio::spawn(look_after(watched));
    Ok(())
}

/// Whether no connection waits in it.
pub fn is_empty() -> bool {
    NEW.with_borrow(|new| new.as_ref().is_none_or(|new| new.waiting.is_empty()))
}

/// Frees the places of those that have gone.
pub fn give_back() {
    NEW.with_borrow_mut(|new| new.iter_mut().for_each(|new| new.waiting.shrink_to_fit()));
}

/// Closes it, and the connections in it.
pub fn close() {
    drop(NEW.take());
}

/// Takes a new connection.
pub fn receive(io: OwnedFd, (peer, role): (Peer, Role), open: OpenConnection, service: &Arc<dyn Service>) {
    if role == Role::Agent {
        return send_last(&io, &service.capacity());
    }
    count(|cells| cells.connections.add(1));
    let state = Arc::new(Connection::new(peer, role, open.server().clone()));
    let look = EARLY.with(Early::is_worth_a_look);
    let Some(stream) = Stream::new(Socket::new(io, peer.into()), &state) else { return };
    let io = Transport::new(stream, state.clone());
    let client = Http1Connection::new(Box::new(io), state, open, service.clone());
    if !look {
        return wait(client);
    }
    let was_here = first_turn(client, wait);
    EARLY.with(|early| early.note(was_here));
}

/// Sends a line to the client and ends the connection. There is nothing to wait for: a new socket has room for it.
fn send_last(io: &OwnedFd, line: &str) {
    // an error means that the client has gone
    let _ = send(io, line.as_bytes(), SendFlags::NOSIGNAL).and_then(|_| shutdown(io, Shutdown::Write));
    // unread bytes from the client would reset the connection before the line arrives
    let _ = recv(io, &mut [0; 256], RecvFlags::empty());
}

/// Has it do what can be done at once. `true` when something of a request was here; otherwise `if_not` gets it.
fn first_turn(mut client: Http1Connection, if_not: impl FnOnce(Http1Connection)) -> bool {
    // a panic is one client's
    let turn = catch_unwind(AssertUnwindSafe(|| client.turn(&mut Context::from_waker(&NOBODY))));
    match turn {
        Ok(Poll::Ready(Ended::Complete)) | Err(_) => {}
        Ok(Poll::Ready(ended)) => drop(tokio::spawn(end(client, ended))),
        Ok(Poll::Pending) if client.is_new() => {
            if_not(client);
            return false;
        }
        Ok(Poll::Pending) => go_on(client),
    }
    true
}

/// Gives it a task, on this thread or on another.
fn go_on(mut client: Http1Connection) {
    match client.settle() {
        Some(other) => client.state().server().clone().run_on(other, || spawn(client)),
        None => spawn(client),
    }
}

/// Has it wait here for its first bytes.
fn wait(mut client: Http1Connection) {
    let refused = NEW.with_borrow_mut(|new| {
        let Some(new) = new else { return Some(client) };
        if new.in_rs_way >= IN_RS_WAY / client.state().server().threads() && client.socket().is_in_rs_way() {
            client.socket().step_aside();
        }
        let in_rs_way = client.socket().is_in_rs_way();
        let Some(socket) = client.socket().fresh() else { return Some(client) };
        let entry = new.waiting.vacant_entry();
        let data = EventData::new_u64(entry.key() as u64);
        // once only: it leaves with its first event
        if epoll::add(&new.epoll.0, socket, data, EventFlags::IN | EventFlags::ONESHOT).is_err() {
            return Some(client);
        }
        entry.insert(Waiting { client, since: now(), in_rs_way });
        new.in_rs_way += usize::from(in_rs_way);
        None
    });
    match refused {
        Some(client) => go_on(client),
        None => watch_closely(),
    }
}

/// The task.
async fn look_after(watched: AsyncFd<Handle>) {
    loop {
        let Ok(mut ready) = watched.readable().await else { return };
        let more = look(&watched.get_ref().0, || ready.clear_ready());
        if more {
            tokio::task::yield_now().await;
        }
    }
}

/// Looks after those whose first bytes are here. `true` when there may be more of them; when there are not, `all_seen`
/// is called before.
fn look(epoll: &OwnedFd, all_seen: impl FnOnce()) -> bool {
    let mut space = [const { MaybeUninit::<Event>::uninit() }; AT_A_TIME];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let Ok((events, _)) = epoll::wait(epoll, &mut space, Some(&at_once)) else { return true };
    let more = events.len() == AT_A_TIME;
    if !more {
        all_seen();
    }
    for event in events {
        let key = event.data.u64() as usize;
        if let Some(client) = NEW.with_borrow_mut(|new| new.as_mut()?.leave(key)) {
            first_turn(client, go_on);
        }
    }
    more
}

/// Gives a task to those that have waited for long, or for more than `most` ms.
pub fn rest(most: u64) {
    let before = now().saturating_sub(STAYS.min(most));
    let leaving: Vec<_> = NEW.with_borrow_mut(|new| {
        let Some(new) = new else { return Vec::new() };
        let keys: Vec<_> = new.waiting.iter().filter(|(_, w)| w.since <= before).map(|(key, _)| key).collect();
        let mut leaving: Vec<_> = keys.into_iter().filter_map(|key| new.leave(key)).collect();
        for client in &mut leaving {
            if let Some(socket) = client.socket().fresh() {
                // its key will be another's
                let _ = epoll::delete(&new.epoll.0, socket);
            }
        }
        leaving
    });
    leaving.into_iter().for_each(go_on);
}

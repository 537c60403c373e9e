//! What a connection is doing, since when, and what the server wants of it.
//!
//! All fields are used by the tasks of one I/O thread; they are atomics only because the runtime asks for `Send`, and
//! need no read-modify-write. Activities: `Idle` -> `Head` (a part of a header section) -> `Busy` (the pipeline has it)
//! -> `Idle`, and `Lingering` last of all. While `Busy`, bodies may be coming in and responses may be going out, each
//! with its own clock: see `transfer`.

use super::transfer::Transfer;
use super::wakeup::Wakeup;
use crate::client::{Client, RemoteAddress};
use crate::early_hints::WaitingHints;
use crate::listen::{Peer, Role};
use crate::places::Place;
use crate::shared::Shared;
use crate::tls::Agreed;
use exchange::now;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;

/// What the server wants of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Directive {
    /// go on
    None = 0,
    /// end when the requests in flight are answered
    Drain = 1,
    /// end: the client has nothing to wait for, and has not ended the connection itself
    Close = 2,
    /// end: the header section did not come in time
    HeaderTimeout = 3,
    /// end: the client floods the server with frames
    Flood = 4,
    /// end: the client does not read its response
    WriteTimeout = 5,
}

impl Directive {
    fn from_u8(n: u8) -> Directive {
        match n {
            1 => Directive::Drain,
            2 => Directive::Close,
            3 => Directive::HeaderTimeout,
            4 => Directive::Flood,
            5 => Directive::WriteTimeout,
            _ => Directive::None,
        }
    }
}

const WATCH_NOT: u8 = 0;
const WATCH_WANTED: u8 = 1;
const WATCH_NOW: u8 = 2;

const IDLE: u8 = 0;
const HEAD: u8 = 1;
const BUSY: u8 = 2;
const LINGERING: u8 = 3;

/// See the module. Times are of [`now`]; 0 means "not".
pub struct Connection {
    server: Arc<Shared>,
    peer: Client,
    /// whom it is from, where a balancer has said so before all else
    announced: OnceLock<Client>,
    /// of those that each client has
    place: OnceLock<Place>,
    role: Role,
    activity: AtomicU8,
    since: AtomicU64,
    /// requests without a whole response
    open: AtomicU32,
    write_blocked_since: AtomicU64,
    /// since when a part of a header section has been here of HTTP/2, where requests may be under way beside it
    part_since: AtomicU64,
    /// the request of HTTP/1.1
    pub transfer: Transfer,
    /// what the client of the request that is being answered is told ahead
    pub hints: WaitingHints,
    /// the requests of HTTP/2, by stream
    streams: Mutex<Vec<(u32, Arc<Transfer>)>>,
    directive: AtomicU8,
    /// whether the socket of a client that waits for its answer is to be watched
    watch: AtomicU8,
    task: Wakeup,
    http2: AtomicBool,
    /// it has no end of its own: when the server ends it has to be told
    lasts: AtomicBool,
    /// what was agreed on in TLS, if that is spoken
    tls: OnceLock<Box<Agreed>>,
}

impl Connection {
    pub(crate) fn new(peer: Peer, role: Role, server: Arc<Shared>) -> Self {
        Connection {
            server,
            peer: Client { address: RemoteAddress::new(peer.address()), port: peer.port() },
            announced: OnceLock::new(),
            place: OnceLock::new(),
            role,
            activity: AtomicU8::new(IDLE),
            since: AtomicU64::new(now()),
            open: AtomicU32::new(0),
            write_blocked_since: AtomicU64::new(0),
            part_since: AtomicU64::new(0),
            transfer: Transfer::default(),
            hints: WaitingHints::default(),
            streams: Mutex::default(),
            directive: AtomicU8::new(Directive::None as u8),
            watch: AtomicU8::new(WATCH_NOT),
            task: Wakeup::default(),
            http2: AtomicBool::new(false),
            lasts: AtomicBool::new(false),
            tls: OnceLock::new(),
        }
    }

    /// What it shares with the others of its server.
    pub fn server(&self) -> &Arc<Shared> {
        &self.server
    }

    /// Whom it is from.
    pub fn client(&self) -> &Client {
        self.announced.get().unwrap_or(&self.peer)
    }

    /// Where it comes from, if that is a process of this machine, and not one that speaks for others.
    pub fn local_peer(&self) -> Option<SocketAddr> {
        let Client { address, port } = &self.peer;
        let ip = address.ip().map(|ip| ip.to_canonical()).filter(IpAddr::is_loopback)?;
        self.announced.get().is_none().then(|| SocketAddr::new(ip, *port))
    }

    /// A balancer says whom it is from.
    pub(crate) fn is_from(&self, client: SocketAddr) {
        let client = Client { address: RemoteAddress::new(Some(client.ip())), port: client.port() };
        self.announced.get_or_init(|| client);
    }

    /// Whether a balancer is to say so before all else.
    pub(crate) fn is_announced(&self) -> bool {
        self.role == Role::App && self.server.proxies.announcing.has(self.peer.address.ip())
    }

    /// Takes one of the places for connections that its client has. `false` when there is none left.
    pub(crate) fn takes_place(&self) -> bool {
        let Some(places) = self.server.by_address.as_ref().filter(|_| self.is_one_clients()) else { return true };
        places.take(self.remote_addr()).map(|place| self.place.get_or_init(|| place)).is_some()
    }

    /// The places for handshakes that its client has; `None` when it has no bound of its own.
    pub(crate) fn share_of_handshakes(&self) -> Option<&RemoteAddress> {
        self.is_one_clients().then(|| self.remote_addr())
    }

    /// Whether its address stands for one client: neither a trusted proxy nor whoever runs the server is that.
    fn is_one_clients(&self) -> bool {
        self.role == Role::App && self.remote_addr().ip().is_some() && !self.is_of_proxy()
    }

    /// Its address.
    pub fn remote_addr(&self) -> &RemoteAddress {
        &self.client().address
    }

    /// Whether it is a proxy's that is trusted with what it says of clients.
    pub fn is_of_proxy(&self) -> bool {
        self.server.proxies.trusted.has(self.remote_addr().ip())
    }

    /// Whom the listener is for that it came by.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether it is to begin with TLS, where the server has that: a client of this machine that comes by a socket in
    /// the file system needs none, nor does whoever runs the server.
    pub(crate) fn begins_with_tls(&self) -> bool {
        self.role == Role::App && self.peer.address.ip().is_some()
    }

    fn set(&self, activity: u8) {
        self.activity.store(activity, Relaxed);
        self.since.store(now(), Relaxed);
    }

    /// A partial header section has arrived, even if only line ends: the header timeout starts.
    pub fn head_comes(&self) {
        if self.activity.load(Relaxed) == IDLE {
            self.set(HEAD);
        }
    }

    /// A handshake of TLS has begun, or is to begin: it has to end in time, as a header section has.
    pub fn handshake_begins(&self) {
        self.head_comes();
    }

    /// It has ended; without anything to show for it when the client does not speak TLS.
    pub fn handshake_ends(&self, agreed: Option<Agreed>) {
        if let Some(agreed) = agreed {
            self.tls.get_or_init(|| Box::new(agreed));
        }
        self.settled();
    }

    /// What was agreed on in TLS; `None` in cleartext.
    pub fn tls(&self) -> Option<&Agreed> {
        self.tls.get().map(|agreed| &**agreed)
    }

    /// It speaks HTTP/2.
    pub fn speaks_http2(&self) {
        self.http2.store(true, Relaxed);
    }

    /// Whether it speaks HTTP/2.
    pub fn is_http2(&self) -> bool {
        self.http2.load(Relaxed)
    }

    /// An HTTP/2 connection is set up and may idle.
    pub fn settled(&self) {
        if self.activity.load(Relaxed) == HEAD {
            self.set(IDLE);
        }
    }

    /// The pipeline has a request.
    fn request_begins(&self) {
        self.open.store(self.open.load(Relaxed) + 1, Relaxed);
        self.activity.store(BUSY, Relaxed);
    }

    /// The response of a request is handed over, or the client has gone.
    fn request_ends(&self) {
        let open = self.open.load(Relaxed).saturating_sub(1);
        self.open.store(open, Relaxed);
        if open == 0 {
            self.set(IDLE);
        }
    }

    /// For how long, in ms, it has waited for a request; `None` when it does something.
    pub fn idle_for(&self, now: u64) -> Option<u64> {
        let is_idle = self.activity.load(Relaxed) == IDLE && self.write_blocked_since.load(Relaxed) == 0;
        is_idle.then(|| now.saturating_sub(self.since.load(Relaxed)))
    }

    /// For how long, in ms, a header section has been coming. Nothing of one is read while answers before it cannot be
    /// written.
    pub fn head_for(&self, now: u64) -> Option<u64> {
        let since = match self.activity.load(Relaxed) {
            HEAD => self.since.load(Relaxed),
            _ => self.part_since.load(Relaxed),
        };
        let is_coming = since != 0 && self.write_blocked_since.load(Relaxed) == 0;
        is_coming.then(|| now.saturating_sub(since))
    }

    /// The client has its last answer. What the server wanted before is done.
    pub fn lingers(&self) {
        self.directive.store(Directive::None as u8, Relaxed);
        self.lasts();
        self.set(LINGERING);
        self.transfer.lingers();
    }

    /// Whether the last that has come of HTTP/2 is a part of something, and that not of a body.
    pub fn has_part(&self, has: bool) {
        if !has {
            self.part_since.store(0, Relaxed);
        } else if self.part_since.load(Relaxed) == 0 {
            self.part_since.store(now(), Relaxed);
        }
    }

    /// A write made progress, or could not.
    pub fn wrote(&self, progress: bool) {
        if progress {
            if self.write_blocked_since.load(Relaxed) != 0 {
                self.write_blocked_since.store(0, Relaxed);
                if self.activity.load(Relaxed) != BUSY {
                    // its client was still to take an answer: its time for something else begins now
                    self.since.store(now(), Relaxed);
                }
            }
        } else if self.write_blocked_since.load(Relaxed) == 0 {
            self.write_blocked_since.store(now(), Relaxed);
        }
    }

    /// For how long, in ms, no byte of a response could be written.
    pub fn write_blocked_for(&self, now: u64) -> Option<u64> {
        match self.write_blocked_since.load(Relaxed) {
            0 => None,
            since => Some(now.saturating_sub(since)),
        }
    }

    /// Calls `f` for each request that may be under way.
    pub fn for_each_transfer(&self, mut f: impl FnMut(&Transfer)) {
        f(&self.transfer);
        self.streams().iter().for_each(|(_, transfer)| f(transfer));
    }

    /// A stream of HTTP/2 has a request from now on, until its guard is dropped.
    pub fn stream(self: &Arc<Self>, stream: u32) -> OpenStream {
        let transfer = Arc::new(Transfer::default());
        self.streams().push((stream, transfer.clone()));
        OpenStream { connection: self.clone(), stream, transfer }
    }

    /// Bytes of the body of a stream's request have come.
    pub fn body_moves(&self, stream: u32, bytes: usize) {
        if let Some((_, transfer)) = self.streams().iter().find(|(known, _)| *known == stream) {
            transfer.body_moves(bytes);
        }
    }

    fn streams(&self) -> MutexGuard<'_, Vec<(u32, Arc<Transfer>)>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a client that waits for its answer has done so for long enough for its socket to be watched: if not, the
    /// task is woken when it has.
    pub fn is_worth_watching(&self) -> bool {
        if self.watch.load(Relaxed) == WATCH_NOT {
            self.watch.store(WATCH_WANTED, Relaxed);
        }
        self.watch.load(Relaxed) == WATCH_NOW
    }

    /// Somebody has looked at it now and then, and finds it still there.
    pub fn has_stayed(&self) {
        if self.watch.load(Relaxed) == WATCH_WANTED {
            self.watch.store(WATCH_NOW, Relaxed);
            self.task.wake();
        }
    }

    /// It goes on until somebody ends it.
    pub fn lasts(&self) {
        self.lasts.store(true, Relaxed);
    }

    /// Whether it has to be told that the server ends: others end with their answer.
    pub fn is_to_be_told(&self) -> bool {
        self.is_http2() || self.lasts.load(Relaxed)
    }

    /// Tells the connection's task what to do; a weightier directive replaces a lighter one. Gives whether it is news.
    pub fn give(&self, directive: Directive) -> bool {
        let is_news = directive as u8 > self.directive.load(Relaxed);
        if is_news {
            self.directive.store(directive as u8, Relaxed);
            self.task.wake();
        }
        is_news
    }

    /// What the connection is to do.
    pub fn directive(&self) -> Directive {
        Directive::from_u8(self.directive.load(Relaxed))
    }

    /// The task to wake when there is a directive.
    pub fn set_waker(&self, waker: &Waker) {
        self.task.set(waker);
    }
}

/// Counts a request as open until dropped, also when its client goes.
pub struct OpenRequest {
    connection: Arc<Connection>,
    /// whether its client waits for it
    awaited: bool,
}

impl OpenRequest {
    /// A request of this connection has begun.
    pub fn new(connection: Arc<Connection>) -> Self {
        connection.request_begins();
        OpenRequest { connection, awaited: true }
    }

    /// A request that no client waits for: work that a request of this connection has left.
    pub fn unawaited(connection: Arc<Connection>) -> Self {
        OpenRequest { connection, awaited: false }
    }

    /// On which connection.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether a client waits for it.
    pub fn is_awaited(&self) -> bool {
        self.awaited
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.awaited {
            self.connection.request_ends();
        }
    }
}

/// A stream of HTTP/2 whose request is under way, until dropped.
pub struct OpenStream {
    connection: Arc<Connection>,
    stream: u32,
    transfer: Arc<Transfer>,
}

impl OpenStream {
    /// How its body and its response move.
    pub fn transfer(&self) -> &Arc<Transfer> {
        &self.transfer
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.connection.streams().retain(|(stream, _)| *stream != self.stream);
    }
}

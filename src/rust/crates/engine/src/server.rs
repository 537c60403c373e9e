//! A running server: its threads, what they share, and its end.

use crate::budget::Budget;
use crate::config::Settings;
use crate::dispatch::{self, Dispatcher, Inbox, Queue};
use crate::http::{self, nursery, sweep, Client};
use crate::listener::{self, Door};
use crate::natives;
use crate::observe::{is_root_of_the_machine, Level, Log, WARNING};
use crate::pool::{Current, Pool};
use crate::respond::ErrorBodies;
use admission::Limits;
use rustix::io::Errno;
use rustix::net::{sockopt, AddressFamily, SocketFlags, SocketType};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::Notify;

/// Descriptors that are neither connections nor files being sent or received: what R opens, the server's own.
const SPARE_DESCRIPTORS: u64 = 64;
/// Connections that the kernel holds until they are accepted; it cuts this to its own limit.
const BACKLOG: i32 = 4096;

/// An I/O thread that is told to end does so within this, unless a C handler holds it that had promised not to block.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Sockets that a thread looks at in one turn, at most. What other threads have answered meanwhile is sent between two turns, so that few requests
/// are under way at once, and what belongs to them is still in the processor's caches: of a thousand that come together, all would be
/// begun before the first is answered. As many as are told to threads of C handlers at a time.
const EVENTS: usize = 32;
/// Tasks that run before the runtime looks at sockets again although some are left: those of a turn, those whose answers have come, and more,
/// so that the usual turn ends with nothing left.
const POLLS: u32 = 256;

/// Names for requests that a thread takes at once.
const IDS_AT_ONCE: u64 = 1024;

thread_local! {
    /// of this I/O thread, from 0
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    /// the next name for a request, and how many there are left
    static IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// What all I/O threads share.
pub struct Context {
    pool: Pool,
    pub(crate) queue: Queue,
    pub(crate) limits: Arc<Limits>,
    pub(crate) upload_path: PathBuf,
    pub(crate) debug: bool,
    pub(crate) errors: ErrorBodies,
    pub(crate) log: Log,
    max_connections: usize,
    pub(crate) budget: Arc<Budget>,
    /// where its I/O threads are told what to do
    threads: OnceLock<Vec<UnboundedSender<Command>>>,
    /// connections that are open, and of these those that have settled on a thread
    open: AtomicUsize,
    open_by_thread: Vec<Apart<AtomicUsize>>,
    /// whether connections are accepted, or were and some may wait in the kernel
    pub(crate) accepting: AtomicBool,
    draining: AtomicBool,
    ids: AtomicU64,
}

/// In a cache line of its own, as threads write to it all the time. (Two lines: processors fetch them in pairs.)
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub T);

/// A connection that is open, until dropped.
pub(crate) struct Open {
    context: Arc<Context>,
    thread: Option<usize>,
}

impl Open {
    /// It stays, on this thread.
    pub fn settle(&mut self, thread: usize) {
        self.context.open_by_thread[thread].0.fetch_add(1, Ordering::Relaxed);
        self.thread = Some(thread);
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(thread) = self.thread {
            self.context.open_by_thread[thread].0.fetch_sub(1, Ordering::Relaxed);
        }
        if self.context.open.fetch_sub(1, Ordering::Relaxed) >= self.context.most_connections() {
            self.context.budget.one_freed.notify_one();
        }
    }
}

impl Context {
    /// Counts a connection as open.
    pub(crate) fn enter(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open { context: self.clone(), thread: None }
    }

    /// Connections that there may be now.
    fn most_connections(&self) -> usize {
        self.max_connections.min(self.budget.connections())
    }

    /// Why there may be no more connections now, for the log.
    pub(crate) fn why_full(&self) -> String {
        let (most, asked) = (self.most_connections(), self.limits.max_connections);
        if most == asked {
            return format!("as many as `max_connections` = {asked} allows");
        }
        format!("as many as the limit of open files (ulimit -n) allows, and files that are being sent leave; `max_connections` is {asked}")
    }

    /// Counts a connection as open, unless there are as many as there may be: then wait until the budget's `one_freed`.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<Open> {
        let most = self.most_connections();
        let one_more = |open| (open < most).then_some(open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Open { context: self.clone(), thread: None })
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The thread on which a connection of this one is to stay: this one, unless another has far fewer: an eighth of all, at least two.
    pub(crate) fn place(&self) -> usize {
        let of = |thread: usize| self.open_by_thread[thread].0.load(Ordering::Relaxed);
        let slack = 1 + self.open() / 8;
        let least = (0..self.open_by_thread.len()).map(|thread| (of(thread), thread)).min();
        least.filter(|(n, _)| of(this_thread()) > n + slack).map_or(this_thread(), |(_, thread)| thread)
    }

    /// Tells a thread. One that has ended hears nothing: the server is stopping.
    pub(crate) fn tell(&self, thread: usize, command: Command) {
        if let Some(commands) = self.threads.get().and_then(|threads| threads.get(thread)) {
            let _ = commands.send(command);
        }
    }

    /// Tells all threads.
    pub(crate) fn tell_all(&self, command: impl Fn() -> Command) {
        (0..self.threads()).for_each(|thread| self.tell(thread, command()));
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.open_by_thread.len()
    }

    /// A name for a request, of no meaning and not used before by this server. For its I/O threads.
    pub(crate) fn next_id(&self) -> u64 {
        let (next, left) = IDS.get();
        let (id, left) =
            if left > 0 { (next, left) } else { (self.ids.fetch_add(IDS_AT_ONCE, Ordering::Relaxed), IDS_AT_ONCE) };
        IDS.set((id.wrapping_add(1), left - 1));
        // an odd multiplier walks through all 2^64 values before it repeats one
        id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The app that a request of this I/O thread is routed by.
    pub(crate) fn app(&self) -> Arc<Current> {
        self.pool.app(this_thread())
    }

    /// From now on answers are the last ones of their connections.
    pub(crate) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// The number of this I/O thread.
pub(crate) fn this_thread() -> usize {
    NUMBER.get()
}

/// What an I/O thread is told.
pub(crate) enum Command {
    /// accept connections
    Listen(Arc<Door>),
    /// accept no more; when no thread does, all are told to drain
    LastCall,
    /// serve a connection that another thread took
    Serve(Box<Client>),
    Drain,
    Quit,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// the settings or routes are wrong
    Config(String),
    /// the address cannot be bound
    Listen(String),
    /// the system lacks something
    System(io::Error),
}

impl From<io::Error> for StartError {
    fn from(e: io::Error) -> Self {
        StartError::System(e)
    }
}

/// Handle to a running server. Dropping it ends the server at once; [`Server::drain`] first, to end it in peace.
pub struct Server {
    address: SocketAddr,
    context: Arc<Context>,
    pool: Pool,
    /// bound, until it listens
    socket: Mutex<Option<OwnedFd>>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Binds the address and starts the I/O threads. Connections are accepted from [`Server::listen`] on; by then the pool should
    /// have an app and workers.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn bind(settings: Settings) -> Result<Server, StartError> {
        let (socket, address) = bind(&settings.host, settings.port)?;
        let log = Log::open(&settings.log).map_err(|e| StartError::Config(format!("log: {}: {e}", settings.log)))?;
        let (pool, orders) = Pool::new(settings.clone()).map_err(StartError::Config)?;
        let (post, posts) = unbounded_channel();
        let threads = settings.threads.max(1);
        let descriptors = descriptors(settings.limits.max_connections);
        let max_connections = settings.limits.max_connections.min(descriptors);
        let context = Arc::new(Context {
            queue: Queue::new(pool.0.clone(), post.clone()),
            pool: pool.clone(),
            upload_path: settings.upload_path,
            debug: settings.debug,
            errors: ErrorBodies::new(settings.errors),
            log: log.clone(),
            max_connections,
            budget: Budget::new(descriptors, max_connections),
            threads: OnceLock::new(),
            open: AtomicUsize::new(0),
            open_by_thread: (0..threads).map(|_| Apart::default()).collect(),
            accepting: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            ids: AtomicU64::new(first_id()),
            limits: Arc::new(settings.limits),
        });
        let mut home = Some((Dispatcher::new(pool.0.clone(), &context.limits, log, post), Inbox { orders, posts }));
        let (starting, receivers): (Vec<_>, Vec<_>) = (0..threads).map(|_| unbounded_channel()).unzip();
        context.threads.get_or_init(|| starting);
        let mut server = Server { address, context, pool, socket: Mutex::new(Some(socket)), threads: Vec::new() };
        for (i, commands) in receivers.into_iter().enumerate() {
            let thread = Thread { number: i, commands, context: server.context.clone(), dispatcher: home.take() };
            let join = std::thread::Builder::new().name(format!("drover-io-{i}")).spawn(move || thread.run())?;
            server.threads.push(join);
        }
        Ok(server)
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// When the system refuses, as when another socket has begun to listen on the address since.
    pub fn listen(&self) -> io::Result<()> {
        let Some(socket) = self.socket.lock().unwrap_or_else(|e| e.into_inner()).take() else { return Ok(()) };
        rustix::net::listen(&socket, BACKLOG)?;
        let (most, asked) = (self.context.max_connections, self.context.limits.max_connections);
        if most < asked {
            let text = format!(
                "at most {most} connections at a time and not `max_connections` = {asked}: the limit of open files (ulimit -n) is {}",
                rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
            );
            self.context.log.line(Level::Warn, &text);
        }
        if is_root_of_the_machine() {
            self.context.log.line(Level::Warn, WARNING);
        }
        self.context.accepting.store(true, Ordering::Relaxed);
        let door = Door::new(TcpListener::from(socket), self.context.clone());
        self.context.tell_all(|| Command::Listen(door.clone()));
        Ok(())
    }

    /// Its workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The log, for the worker's side of the same process.
    pub fn log(&self) -> &Log {
        &self.context.log
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.context.open()
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        let accepting = self.context.accepting.load(Ordering::Relaxed);
        if !accepting {
            self.context.drains();
        }
        self.context.tell_all(|| if accepting { Command::LastCall } else { Command::Drain });
    }

    /// Whether all connections have ended.
    pub fn is_drained(&self) -> bool {
        !self.context.accepting.load(Ordering::Relaxed) && self.connections() == 0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.context.tell_all(|| Command::Quit);
        let late = Instant::now() + ENDS_WITHIN;
        for join in self.threads.drain(..) {
            while !join.is_finished() && Instant::now() < late {
                std::thread::sleep(Duration::from_millis(1));
            }
            if join.is_finished() {
                // a panic in it was printed by the panic hook
                let _ = join.join();
            } else {
                self.context.log.line(Level::Error, "an I/O thread does not end: an inline handler blocks it");
            }
        }
        self.context.log.close();
    }
}

/// A socket with the address, that does not listen yet: nobody is to connect before there is someone to answer.
fn bind(host: &str, port: u16) -> Result<(OwnedFd, SocketAddr), StartError> {
    let fail = |e: io::Error| StartError::Listen(format!("cannot listen on {host}:{port}: {e}"));
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs().map_err(fail)? {
        match bind_to(address) {
            Ok(bound) => return Ok(bound),
            Err(e) => last = e.into(),
        }
    }
    Err(fail(last))
}

fn bind_to(address: SocketAddr) -> Result<(OwnedFd, SocketAddr), Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // for its connections, which inherit it: without, a response in two writes waits 40 ms for the client's acknowledgement
    sockopt::set_tcp_nodelay(&socket, true)?;
    // an address whose last connections are still dying is free; one that another socket listens on is not
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, bound))
}

/// Raises the soft limit of descriptors as far as `connections` need and the system allows; gives how many there are then for them and for
/// files.
fn descriptors(connections: usize) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = connections as u64 + 4 * SPARE_DESCRIPTORS;
    let now = current.unwrap_or(u64::MAX);
    let possible = maximum.unwrap_or(u64::MAX);
    let limit = if now >= wanted {
        now
    } else {
        let raised = wanted.min(possible);
        match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
            Ok(()) => raised,
            Err(_) => now,
        }
    };
    usize::try_from(limit.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(usize::MAX).max(1)
}

fn first_id() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 ^ u64::from(std::process::id()) << 32
}

/// All that an I/O thread is given.
struct Thread {
    number: usize,
    commands: UnboundedReceiver<Command>,
    context: Arc<Context>,
    /// for the first thread
    dispatcher: Option<(Dispatcher, Inbox)>,
}

impl Thread {
    fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(|| {
                dispatch::on_park();
                natives::on_park();
            })
            .on_thread_unpark(|| {
                dispatch::on_unpark();
                natives::on_unpark();
            })
            .max_blocking_threads(4)
            .max_io_events_per_tick(EVENTS)
            .event_interval(POLLS)
            .build();
        match runtime {
            Ok(runtime) => {
                runtime.block_on(self.serve());
                // a file that is being read keeps nobody waiting
                runtime.shutdown_background();
            }
            Err(e) => self.context.log.line(Level::Error, &format!("an I/O thread cannot start: {e}")),
        }
        nursery::close();
        dispatch::uninstall();
        natives::leave();
    }

    async fn serve(&mut self) {
        NUMBER.set(self.number);
        if let Some((dispatcher, inbox)) = self.dispatcher.take() {
            dispatch::install(dispatcher, inbox);
        }
        if let Err(e) = nursery::open() {
            self.context.log.line(Level::Warn, &format!("new connections cost more than they must: {e}"));
        }
        tokio::spawn(sweep::run(self.context.limits.clone(), self.context.budget.clone()));
        let last_call = Arc::new(Notify::new());
        while let Some(command) = self.commands.recv().await {
            match command {
                Command::Listen(door) => {
                    tokio::spawn(listener::accept(door, last_call.clone()));
                }
                Command::Serve(client) => http::spawn(*client),
                Command::LastCall => last_call.notify_one(),
                Command::Drain => sweep::drain(),
                Command::Quit => return,
            }
        }
    }
}

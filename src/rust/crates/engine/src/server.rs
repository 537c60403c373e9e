//! A running server: its threads, what they share, and its end.

use crate::app::App;
use crate::config::Settings;
use crate::dispatch::{self, Dispatcher, Inbox, Queue};
use crate::http::{serve, sweep};
use crate::listener;
use crate::natives;
use crate::observe::{Level, Log};
use crate::pool::Pool;
use admission::Limits;
use rustix::io::Errno;
use rustix::net::{sockopt, AddressFamily, SocketFlags, SocketType};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::Notify;

/// Descriptors that are not connections: files being sent, what R opens, the server's own.
const SPARE_DESCRIPTORS: u64 = 64;
/// Connections that the kernel holds until they are accepted; it cuts this to its own limit.
const BACKLOG: i32 = 4096;

/// What all I/O threads share.
pub struct Context {
    pool: Pool,
    pub(crate) queue: Queue,
    pub(crate) limits: Arc<Limits>,
    pub(crate) upload_path: PathBuf,
    pub(crate) debug: bool,
    pub(crate) log: Log,
    pub(crate) max_connections: usize,
    /// connections that are open
    pub(crate) open: AtomicUsize,
    /// whether connections are accepted, or were and some may wait in the kernel
    pub(crate) accepting: AtomicBool,
    /// rung when one closes
    pub(crate) one_closed: Notify,
    draining: AtomicBool,
    ids: AtomicU64,
}

impl Context {
    /// A name for a request, of no meaning and not used before by this server.
    pub(crate) fn next_id(&self) -> u64 {
        // an odd multiplier walks through all 2^64 values before it repeats one
        self.ids.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The app that a request is routed by.
    pub(crate) fn app(&self) -> Arc<App> {
        self.pool.app()
    }

    /// From now on answers are the last ones of their connections.
    pub(crate) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// What an I/O thread is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// for the first thread: accept connections
    Listen(TcpListener),
    /// for the first thread: accept no more, then have all threads drain
    LastCall,
    Serve(TcpStream),
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
    threads: Vec<IoThread>,
}

#[derive(Debug)]
struct IoThread {
    commands: UnboundedSender<Command>,
    join: Option<JoinHandle<()>>,
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
        let context = Arc::new(Context {
            queue: Queue::new(pool.0.clone(), post.clone()),
            pool: pool.clone(),
            upload_path: settings.upload_path,
            debug: settings.debug,
            log: log.clone(),
            max_connections: settings.limits.max_connections.min(descriptors(settings.limits.max_connections)),
            open: AtomicUsize::new(0),
            accepting: AtomicBool::new(false),
            one_closed: Notify::new(),
            draining: AtomicBool::new(false),
            ids: AtomicU64::new(first_id()),
            limits: Arc::new(settings.limits),
        });
        let mut home = Some((
            Dispatcher::new(pool.0.clone(), &context.limits, context.upload_path.clone(), log, post),
            Inbox { orders, posts },
        ));
        let (starting, receivers): (Vec<_>, Vec<_>) = (0..settings.threads.max(1)).map(|_| unbounded_channel()).unzip();
        let mut server = Server { address, context, pool, socket: Mutex::new(Some(socket)), threads: Vec::new() };
        for (i, commands) in receivers.into_iter().enumerate() {
            let thread =
                Thread { commands, all: starting.clone(), context: server.context.clone(), dispatcher: home.take() };
            let join = std::thread::Builder::new().name(format!("drover-io-{i}")).spawn(move || thread.run())?;
            server.threads.push(IoThread { commands: starting[i].clone(), join: Some(join) });
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
        self.context.accepting.store(true, Ordering::Relaxed);
        // a thread that has ended accepts nothing
        let _ = self.threads[0].commands.send(Command::Listen(TcpListener::from(socket)));
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
        self.context.open.load(Ordering::Relaxed)
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        if self.context.accepting.load(Ordering::Relaxed) {
            // nobody is told to come again before the door is closed: who did so in between would find nobody
            let _ = self.threads[0].commands.send(Command::LastCall);
            return;
        }
        self.context.drains();
        for thread in &self.threads {
            // a thread that has ended has nothing to drain
            let _ = thread.commands.send(Command::Drain);
        }
    }

    /// Whether all connections have ended.
    pub fn is_drained(&self) -> bool {
        !self.context.accepting.load(Ordering::Relaxed) && self.connections() == 0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for thread in &self.threads {
            let _ = thread.commands.send(Command::Quit);
        }
        for thread in &mut self.threads {
            if let Some(join) = thread.join.take() {
                // a panic in it was printed by the panic hook
                let _ = join.join();
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
    // an address whose last connections are still dying is free; one that another socket listens on is not
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, bound))
}

/// Raises the soft limit of descriptors as far as `connections` need and the system allows; gives the connections that then fit.
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
    commands: UnboundedReceiver<Command>,
    /// to every thread, for who accepts
    all: Vec<UnboundedSender<Command>>,
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
            .build();
        match runtime {
            Ok(runtime) => {
                runtime.block_on(self.serve());
                // a file that is being read keeps nobody waiting
                runtime.shutdown_background();
            }
            Err(e) => self.context.log.line(Level::Error, &format!("an I/O thread cannot start: {e}")),
        }
        dispatch::uninstall();
        natives::leave();
    }

    async fn serve(&mut self) {
        if let Some((dispatcher, inbox)) = self.dispatcher.take() {
            dispatch::install(dispatcher, inbox);
        }
        tokio::spawn(sweep::run(self.context.limits.clone()));
        let last_call = Arc::new(Notify::new());
        while let Some(command) = self.commands.recv().await {
            match command {
                Command::Listen(listener) => match tokio::net::TcpListener::from_std(listener) {
                    Ok(l) => {
                        let (all, context, last_call) = (self.all.clone(), self.context.clone(), last_call.clone());
                        tokio::spawn(listener::accept(l, all, context, last_call));
                    }
                    Err(e) => {
                        self.context.accepting.store(false, Ordering::Relaxed);
                        self.context.log.line(Level::Error, &format!("cannot accept connections: {e}"));
                    }
                },
                Command::Serve(io) => self.spawn(io),
                Command::LastCall => last_call.notify_one(),
                Command::Drain => sweep::drain(),
                Command::Quit => return,
            }
        }
    }

    fn spawn(&self, io: TcpStream) {
        let context = self.context.clone();
        let closed = Closed(context.clone());
        let Ok(io) = io.set_nonblocking(true).and_then(|()| tokio::net::TcpStream::from_std(io)) else { return };
        tokio::spawn(async move {
            let _closed = closed;
            serve(io, context).await;
        });
    }
}

/// Counts a connection as open until dropped.
struct Closed(Arc<Context>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.one_closed.notify_one();
    }
}

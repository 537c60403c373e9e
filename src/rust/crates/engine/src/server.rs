//! A running server: its threads, what they share, and its end.

use crate::assets::Mounts;
use crate::config::Config;
use crate::dispatch::{self, Dispatch, InFlight};
use crate::http::{serve, sweep};
use crate::listener;
use crate::observe::Log;
use admission::Limits;
use router::Router;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use shm::{Attachment, Bell, Link, Ring, ServerEnd, Watched};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::Notify;

/// Descriptors that are not connections: files being sent, what R opens, the server's own.
const SPARE_DESCRIPTORS: u64 = 64;

/// What all I/O threads share.
pub struct Context {
    pub(crate) router: Router,
    pub(crate) mounts: Mounts,
    pub(crate) limits: Arc<Limits>,
    pub(crate) upload_path: PathBuf,
    pub(crate) has_not_found: bool,
    pub(crate) debug: bool,
    pub(crate) log: Log,
    pub(crate) max_connections: usize,
    /// connections that are open
    pub(crate) open: AtomicUsize,
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

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// What an I/O thread is told.
#[derive(Debug)]
pub(crate) enum Command {
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
    threads: Vec<IoThread>,
}

#[derive(Debug)]
struct IoThread {
    commands: UnboundedSender<Command>,
    join: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds, starts the I/O threads, and gives the worker's ends of the queue. `ring` wakes the worker when writing
    /// to its bell's descriptor does not.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn start(config: Config, ring: Option<Arc<dyn Ring>>) -> Result<(Server, Attachment), StartError> {
        let router = config.router().map_err(StartError::Config)?;
        let mounts = config.mounts.iter().map(|m| (m.mount.clone(), m.dir.clone())).collect();
        let mounts = Mounts::new(mounts).map_err(|e| StartError::Config(format!("static: {e}")))?;
        let listener = bind(&config.host, config.port)?;
        let address = listener.local_addr()?;
        let log = Log::open(&config.log).map_err(|e| StartError::Config(format!("log: {}: {e}", config.log)))?;
        let context = Arc::new(Context {
            router,
            mounts,
            upload_path: config.upload_path,
            has_not_found: config.not_found > 0,
            debug: config.debug,
            log,
            max_connections: config.limits.max_connections.min(descriptors(config.limits.max_connections)),
            open: AtomicUsize::new(0),
            one_closed: Notify::new(),
            draining: AtomicBool::new(false),
            ids: AtomicU64::new(first_id()),
            limits: Arc::new(config.limits),
        });
        let bell = Arc::new(Bell::new(ring)?);
        let in_flight = InFlight::default();
        let mut links = Vec::new();
        let mut starting = Vec::new();
        let mut receivers = Vec::new();
        for _ in 0..config.threads.max(1) {
            // twice the queue, as a request whose client has gone keeps its slot while it runs
            let (server_end, worker_end) = Link::pair(2 * context.limits.max_queue + 16)?;
            let own_bell = Arc::new(Bell::new(None)?);
            links.push((worker_end, own_bell.clone()));
            let (commands, receiver) = unbounded_channel();
            starting.push(commands);
            receivers.push((receiver, server_end, own_bell));
        }
        let mut server = Server { address, context: context.clone(), threads: Vec::new() };
        let mut listener = Some(listener);
        for (i, (commands, (receiver, end, own_bell))) in starting.clone().into_iter().zip(receivers).enumerate() {
            let thread = Thread {
                commands: receiver,
                listener: listener.take().map(|l| (l, starting.clone())),
                context: context.clone(),
                end: Some(end),
                worker_bell: bell.clone(),
                own_bell,
                in_flight: in_flight.clone(),
            };
            let join = std::thread::Builder::new().name(format!("drover-io-{i}")).spawn(move || thread.run())?;
            server.threads.push(IoThread { commands, join: Some(join) });
        }
        Ok((server, Attachment { links, bell }))
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The log, for the worker's side of the same process.
    pub fn log(&self) -> &Log {
        &self.context.log
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        self.context.draining.store(true, Ordering::Relaxed);
        for thread in &self.threads {
            // a thread that has ended has nothing to drain
            let _ = thread.commands.send(Command::Drain);
        }
    }

    /// Whether all connections have ended.
    pub fn is_drained(&self) -> bool {
        self.context.open.load(Ordering::Relaxed) == 0
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

fn bind(host: &str, port: u16) -> Result<TcpListener, StartError> {
    let fail = |e: io::Error| StartError::Listen(format!("cannot listen on {host}:{port}: {e}"));
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(fail)?.collect();
    let listener = TcpListener::bind(&addresses[..]).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    Ok(listener)
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
    listener: Option<(TcpListener, Vec<UnboundedSender<Command>>)>,
    context: Arc<Context>,
    /// taken when the thread starts
    end: Option<ServerEnd>,
    worker_bell: Arc<Bell>,
    own_bell: Arc<Bell>,
    in_flight: InFlight,
}

impl Thread {
    fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(dispatch::on_park)
            .on_thread_unpark(dispatch::on_unpark)
            .max_blocking_threads(4)
            .build();
        match runtime {
            Ok(runtime) => {
                runtime.block_on(self.serve());
                // a file that is being read keeps nobody waiting
                runtime.shutdown_background();
            }
            Err(e) => self.context.log.line(crate::observe::Level::Error, &format!("an I/O thread cannot start: {e}")),
        }
        Dispatch::uninstall();
    }

    async fn serve(&mut self) {
        let _watched = match Watched::new(self.own_bell.clone()) {
            Ok(watched) => watched,
            Err(e) => {
                self.context.log.line(crate::observe::Level::Error, &format!("an I/O thread cannot start: {e}"));
                return;
            }
        };
        self.install();
        tokio::spawn(sweep::run(self.context.limits.clone()));
        let mut accepting = self.listener.take().and_then(|(listener, threads)| {
            let listener = tokio::net::TcpListener::from_std(listener).ok()?;
            Some(tokio::spawn(listener::accept(listener, threads, self.context.clone())))
        });
        while let Some(command) = self.commands.recv().await {
            match command {
                Command::Serve(io) => self.spawn(io),
                Command::Drain => {
                    if let Some(task) = accepting.take() {
                        task.abort();
                    }
                    sweep::order_all(crate::http::Order::Drain);
                }
                Command::Quit => return,
            }
        }
    }

    fn install(&mut self) {
        let Some(end) = self.end.take() else { return };
        let max_queue = self.context.limits.max_queue;
        let (worker_bell, own_bell) = (self.worker_bell.clone(), self.own_bell.clone());
        Dispatch::new(end, worker_bell, own_bell, self.in_flight.clone(), max_queue).install();
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

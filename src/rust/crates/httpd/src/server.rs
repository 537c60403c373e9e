//! A running server: its I/O threads, and its end.

use crate::accept::{self, Acceptor};
use crate::client::Proxies;
use crate::listen::{Address, Listener, Role};
use crate::response::CommonFields;
use crate::service::Service;
use crate::shared::{number_this_thread, Command, Shared};
use crate::tls::{self, Tls};
use crate::{descriptors, new_connections, timeouts, turn};
use admission::Limits;
use observe::{Level, Log};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

/// An I/O thread that is told to end does so within this, unless a C handler holds it that had promised not to block.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Sockets that a thread looks at in one turn, at most. What other threads have answered meanwhile is sent between two
/// turns, so that few requests are under way at once, and what belongs to them is still in the processor's caches: of a
/// thousand that come together, all would be begun before the first is answered. As many as are told to threads of C
/// handlers at a time.
const EVENTS: usize = 32;
/// Tasks that run before the runtime looks at sockets again although some are left: those of a turn, those whose
/// answers have come, and more, so that the usual turn ends with nothing left.
const POLLS: u32 = 64;

/// What a server is told to be.
pub struct Options {
    /// I/O threads
    pub threads: usize,
    /// where bodies are kept that are too large for memory
    pub upload_path: PathBuf,
    /// bounds
    pub limits: Limits,
    /// for connections with TLS, and for no others then
    pub tls: Option<Tls>,
    /// which proxies are believed
    pub proxies: Proxies,
    /// fields that all responses have
    pub common: CommonFields,
    /// where it tells what happens; closed when the server ends
    pub log: Log,
}

/// See the module. Ends when this is dropped.
pub struct Server {
    addresses: Vec<Address>,
    apart: Vec<(Role, Address)>,
    shared: Arc<Shared>,
    service: Arc<dyn Service>,
    /// bound, and not listening yet
    listeners: Mutex<Vec<Listener>>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts its threads. It accepts no connections before [`Server::listen`].
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start(listeners: Vec<Listener>, options: Options, service: Arc<dyn Service>) -> io::Result<Server> {
        let Options { threads, upload_path, limits, tls, proxies, common, log } = options;
        let descriptors = descriptors::make_room(limits.max_connections);
        let mut shared = Shared::new(limits, upload_path, log, threads, descriptors);
        shared.tls = tls.map(Arc::new);
        shared.proxies = proxies;
        shared.common = common;
        let shared = Arc::new(shared);
        let (starting, receivers): (Vec<_>, Vec<_>) = (0..threads).map(|_| unbounded_channel()).unzip();
        shared.has_threads(starting);
        let of = |role| {
            let listeners = listeners.iter().filter(move |listener| listener.role() == role);
            listeners.map(|listener| listener.address().clone())
        };
        let apart = [Role::Admin, Role::Agent].into_iter().flat_map(|role| of(role).map(move |at| (role, at)));
        let (addresses, apart) = (of(Role::App).collect(), apart.collect());
        let mut server =
            Server { addresses, apart, shared, service, listeners: Mutex::new(listeners), threads: Vec::new() };
        for (number, commands) in receivers.into_iter().enumerate() {
            let thread = Thread { number, commands, server: server.shared.clone(), service: server.service.clone() };
            let name = format!("drover-io-{number}");
            server.threads.push(std::thread::Builder::new().name(name).spawn(move || thread.run())?);
        }
        Ok(server)
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// A text that says where the system refuses, as when another socket has begun to listen on the address since.
    /// Nothing listens then.
    pub fn listen(&self) -> Result<(), String> {
        let listeners = std::mem::take(&mut *self.listeners.lock().unwrap_or_else(PoisonError::into_inner));
        for listener in &listeners {
            listener.listen().map_err(|e| format!("cannot listen on {}: {e}", listener.address()))?;
        }
        if listeners.is_empty() {
            return Ok(());
        }
        let (most, asked) = (self.shared.max_connections(), self.shared.limits.max_connections);
        if most < asked {
            let text = format!(
                "at most {most} connections at a time and not `max_connections` = {asked}: the limit of open files (ulimit -n) is {}",
                descriptors::limit()
            );
            self.shared.log.line(Level::Warn, &text);
        }
        self.shared.accepting.store(true, Ordering::Relaxed);
        for acceptor in Acceptor::all(listeners, &self.shared, &self.service) {
            self.shared.run_on_all(move || drop(tokio::spawn(accept::run(acceptor))));
        }
        Ok(())
    }

    /// Where it listens for clients of the app.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Where it listens for others.
    pub fn apart(&self) -> &[(Role, Address)] {
        &self.apart
    }

    /// What its connections share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        let accepting = self.shared.accepting.load(Ordering::Relaxed);
        if accepting {
            // when no thread accepts any more, all are told to drain
            self.shared.run_on_all(accept::last_call);
        } else {
            self.shared.drains();
            self.shared.run_on_all(timeouts::drain);
        }
    }

    /// Whether all connections have ended.
    pub fn is_drained(&self) -> bool {
        !self.shared.accepting.load(Ordering::Relaxed) && self.shared.open() == 0
    }
}

impl Drop for Server {
    /// Ends its threads, and closes its log.
    fn drop(&mut self) {
        self.shared.quit();
        let late = Instant::now() + ENDS_WITHIN;
        for join in self.threads.drain(..) {
            while !join.is_finished() && Instant::now() < late {
                std::thread::sleep(Duration::from_millis(1));
            }
            if join.is_finished() {
                // a panic in it was printed by the panic hook
                let _ = join.join();
            } else {
                self.shared.log.line(Level::Error, "an I/O thread does not end: an inline handler blocks it");
            }
        }
        self.shared.log.close();
    }
}

/// All that an I/O thread is given.
struct Thread {
    number: usize,
    commands: UnboundedReceiver<Command>,
    server: Arc<Shared>,
    service: Arc<dyn Service>,
}

impl Thread {
    fn run(mut self) {
        let (park, unpark) = (self.service.clone(), self.service.clone());
        turn::open(self.service.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || {
                park.park();
                turn::paused();
            })
            .on_thread_unpark(move || unpark.unpark())
            .max_blocking_threads(4)
            .max_io_events_per_tick(EVENTS)
            .event_interval(POLLS)
            .build();
        match runtime {
            Ok(runtime) => {
                runtime.block_on(self.serve());
                // this does not wait for files that are being read
                runtime.shutdown_background();
            }
            Err(e) => self.server.log.line(Level::Error, &format!("an I/O thread cannot start: {e}")),
        }
        new_connections::close();
        self.service.end();
    }

    async fn serve(&mut self) {
        number_this_thread(self.number);
        self.service.begin();
        if let Err(e) = new_connections::open() {
            self.server.log.line(Level::Warn, &format!("new connections cost more than they must: {e}"));
        }
        if let Some(tls) = self.server.tls.clone().filter(|_| self.number == 0) {
            tokio::spawn(tls::watch(tls, self.server.log.clone()));
        }
        tokio::spawn(timeouts::run(self.server.clone(), self.service.clone()));
        while let Some(Command::Run(what)) = self.commands.recv().await {
            what();
        }
    }
}

//! A running server: HTTP, and behind it the app and the workers that answer.

use crate::config::Settings;
use crate::context::Context;
use crate::edge::access_log::AccessLog;
use crate::natives;
use crate::pipeline;
use crate::pool::Pool;
use crate::sockets::Sockets;
use dispatch::Commands;
use dispatch::Home;
use exchange::Channels;
use httpd::{Address, Answering, Connection, Failure, Head, Incoming, Listener, Options, Service};
use observe::{is_root_of_the_machine, Level, Log, Screen, WARNING};
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The context as HTTP knows it.
struct Answers {
    context: Arc<Context>,
    /// for the first thread
    queue: Mutex<Option<Home>>,
}

impl Service for Answers {
    fn answer(&self, head: Head, body: Incoming, connection: Arc<Connection>) -> Answering {
        pipeline::handle(head, body, connection, &self.context)
    }

    fn refused(&self, connection: &Connection, id: u64, failure: &Failure) {
        pipeline::refused(connection, id, failure, &self.context);
    }

    fn expire(&self) -> bool {
        if let Some(log) = &self.context.access_log {
            log.flush();
        }
        dispatch::expire() | natives::expire()
    }

    fn give_back(&self) {
        shm::give_back();
    }

    fn begin(&self) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(home) = queue {
            dispatch::install(home);
        }
    }

    fn end(&self) {
        dispatch::uninstall();
        natives::leave();
        if let Some(log) = &self.context.access_log {
            log.flush();
        }
    }

    fn turn(&self) {
        dispatch::turn();
        natives::turn();
    }

    fn park(&self) {
        dispatch::on_park();
        natives::on_park();
    }

    fn unpark(&self) {
        dispatch::on_unpark();
        natives::on_unpark();
    }
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

/// How much is going on in a server, for whoever asks from another thread.
#[derive(Clone)]
pub struct Gauge {
    http: Arc<httpd::Shared>,
    pool: Pool,
}

impl Gauge {
    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.http.open()
    }

    /// Requests that wait for a worker.
    pub fn waiting(&self) -> usize {
        self.pool.waiting()
    }
}

/// Handle to a running server. Dropping it ends the server at once; [`Server::drain`] first, to end it in peace.
pub struct Server {
    http: httpd::Server,
    pool: Pool,
    context: Arc<Context>,
}

impl Server {
    /// Binds the address, unless there is a socket already, and starts the I/O threads. Connections are accepted from
    /// [`Server::listen`] on; by then the pool should have an app and workers.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn bind(mut settings: Settings) -> Result<Server, StartError> {
        // nobody else is to keep it open
        let listener = match settings.socket.take().and_then(Arc::into_inner) {
            Some(socket) => Listener::inherited(socket),
            None => Listener::bind(&settings.host, settings.port),
        };
        let listener = listener.map_err(StartError::Listen)?;
        let screen = Screen { console: settings.console.clone(), colours: settings.colours };
        let log = Log::open(&settings.log, screen.clone())
            .map_err(|e| StartError::Config(format!("log: {}: {e}", settings.log)))?;
        let sockets = Arc::new(Sockets::default());
        let (queue, workers, home) = dispatch::create(
            &settings.limits,
            settings.cpp_workers,
            log.clone(),
            sockets.clone(),
            httpd::watch_closely,
        );
        let channels = Arc::downgrade(&sockets) as Weak<dyn Channels>;
        let pool = Pool::new(settings.clone(), workers, log.clone(), channels).map_err(StartError::Config)?;
        let target = &settings.access_log;
        let access_log = AccessLog::open(target, settings.access_log_format, screen)
            .map_err(|e| StartError::Config(format!("access_log: {target}: {e}")))?;
        let context = Arc::new(Context::new(pool.clone(), queue, sockets, access_log, &settings));
        let service = Answers { context: context.clone(), queue: Mutex::new(Some(home)) };
        let Settings { threads, upload_path, limits, .. } = settings;
        let options = Options { threads: threads.max(1), upload_path, limits, log };
        Ok(Server { http: httpd::Server::start(listener, options, Arc::new(service))?, pool, context })
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// When the system refuses, as when another socket has begun to listen on the address since.
    pub fn listen(&self) -> io::Result<()> {
        self.http.listen()?;
        if is_root_of_the_machine() {
            self.log().line(Level::Warn, WARNING);
        }
        Ok(())
    }

    /// Its workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.http.address()
    }

    /// The log, for the worker's side of the same process.
    pub fn log(&self) -> &Log {
        &self.http.shared().log
    }

    /// Its log, and its access log if it has one.
    pub fn logs(&self) -> Vec<Log> {
        let access_log = self.context.access_log.as_ref().map(|log| log.log());
        [Some(self.log()), access_log].into_iter().flatten().cloned().collect()
    }

    /// Who obeys what is to be done with its WebSockets, as a worker says it.
    pub fn sockets(&self) -> Arc<dyn Commands> {
        self.context.sockets.clone()
    }

    /// How much is going on in it.
    pub fn gauge(&self) -> Gauge {
        Gauge { http: self.http.shared().clone(), pool: self.pool.clone() }
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.http.shared().open()
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        self.pool.drain();
        self.http.drain();
    }

    /// Whether all connections have ended.
    pub fn is_drained(&self) -> bool {
        self.http.is_drained()
    }
}

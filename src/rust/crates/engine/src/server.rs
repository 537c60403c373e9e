//! A running server: HTTP, and behind it the app and the workers that answer.

use crate::commands::Commander;
use crate::config::Settings;
use crate::context::{Context, Pages};
use crate::edge::access_log::AccessLog;
use crate::edge::dashboard::{Action, Dashboard};
use crate::edge::docs::Docs;
use crate::edge::hosts::Hosts;
use crate::edge::traces;
use crate::gauge::Gauge;
use crate::jobs::{self, Jobs};
use crate::natives;
use crate::pipeline;
use crate::pool::Pool;
use crate::websockets::WebSockets;
use dispatch::Commands;
use dispatch::Home;
use exchange::WebSocketCommands;
use httpd::{
    this_thread, Address, Answering, CommonFields, Connection, Failure, Head, Incoming, Listener, Options, Proxies,
    Role, Service, Tls,
};
use observe::metrics::{resident_memory, Metrics};
use observe::{is_root_of_the_machine, Level, Log, Manner, Screen, WARNING};
use proxies::Networks;
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

    fn capacity(&self) -> String {
        self.context.health.capacity()
    }

    fn expire(&self) -> bool {
        if let Some(log) = &self.context.access_log {
            log.flush();
        }
        if let Some(failed) = &self.context.failed {
            failed.forget_old();
        }
        dispatch::expire() | natives::expire()
    }

    fn give_back(&self, crowd: bool) {
        if crowd {
            shm::give_back();
        } else if let Some(bytes) = resident_memory() {
            shm::give_back_what_has_grown(bytes);
        }
    }

    fn begin(&self) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(home) = queue {
            dispatch::install(home);
            // beside the queue: what its workers say of jobs takes no way between threads
            jobs::run(self.context.clone());
        }
        if let Some(page) = &self.context.metrics {
            page.metrics.count_here(this_thread());
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

/// All sockets of a server, which are bound. When one of them cannot be, those before are closed.
fn listeners(settings: &mut Settings) -> Result<Vec<Listener>, StartError> {
    let sockets = std::mem::take(&mut settings.sockets);
    let listeners: Result<Vec<Listener>, String> = if sockets.is_empty() {
        settings.host.iter().map(|place| Listener::bind(place, settings.port)).collect()
    } else {
        // no other reference is to keep them open
        sockets.into_iter().filter_map(Arc::into_inner).map(Listener::inherited).collect()
    };
    let mut listeners = listeners.map_err(StartError::Listen)?;
    if listeners.is_empty() {
        return Err(StartError::Config("host: it names no address".to_owned()));
    }
    if settings.tls.is_some() && listeners.iter().all(|listener| listener.address().inet().is_none()) {
        let why = "tls: connections by a socket in the file system are in cleartext, and there is no other address";
        return Err(StartError::Config(why.to_owned()));
    }
    for (name, place, role) in
        [("admin", &settings.admin, Role::Admin), ("agent_check", &settings.agent_check, Role::Agent)]
    {
        let Some(place) = place else { continue };
        // a port alone is one of this machine
        let place = place.parse::<u16>().map_or_else(|_| place.clone(), |port| format!("127.0.0.1:{port}"));
        let listener = Listener::bind(&place, 0).map_err(|e| StartError::Listen(format!("{name}: {e}")))?;
        listeners.push(listener.with_role(role));
    }
    Ok(listeners)
}

/// Handle to a running server. Dropping it ends the server at once; [`Server::drain`] first, to end it in peace.
pub struct Server {
    http: httpd::Server,
    pool: Pool,
    context: Arc<Context>,
    commander: Arc<Commander>,
}

impl Server {
    /// Binds the addresses, unless there are sockets already, and starts the I/O threads. Connections are accepted from
    /// [`Server::listen`] on; by then the pool should have an app and workers.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn bind(mut settings: Settings) -> Result<Server, StartError> {
        let listeners = listeners(&mut settings)?;
        shared_state::table()?.set_limits(shared_state::Limits {
            entries: settings.limits.max_state_entries,
            bytes: settings.limits.max_state,
            value: settings.limits.max_state_value,
        });
        let screen = Screen { console: settings.console.clone(), colours: settings.colours };
        let manner = Manner { format: settings.log_format, least: settings.log_level };
        let log = Log::open_so(&settings.log, screen.clone(), manner)
            .map_err(|e| StartError::Config(format!("log: {}: {e}", settings.log)))?;
        let tls = settings.tls.clone().map(|tls| Tls::open(tls, settings.limits.max_connections, &log));
        let tls = tls.transpose().map_err(StartError::Config)?;
        let networks = |name: &str, texts: &[String]| {
            Networks::parse(texts).map_err(|e| StartError::Config(format!("{name}: {e}")))
        };
        let proxies = Proxies {
            trusted: networks("trusted_proxies", &settings.trusted_proxies)?,
            announcing: networks("proxy_protocol", &settings.proxy_protocol)?,
            fields: settings.forwarded_fields,
            underscores: settings.underscores_in_headers,
        };
        let websockets = Arc::new(WebSockets::default());
        let failed = settings.failed_requests().map_err(StartError::Config)?;
        if let Some(failed) = failed.clone() {
            log.on_error(move |error| failed.has_error(error));
        }
        let commander = Arc::new(Commander::new(websockets.clone(), failed.clone()));
        let (queue, workers, home) = dispatch::create(
            &settings.limits,
            settings.cpp_workers,
            log.clone(),
            commander.clone(),
            httpd::watch_closely,
        );
        let commands = Arc::downgrade(&websockets) as Weak<dyn WebSocketCommands>;
        // an admin address has the dashboard, which shows the counts
        let counts = settings.metrics || settings.admin.is_some();
        let metrics = counts.then(|| Arc::new(Metrics::new(settings.threads.max(1))));
        let otlp = settings.otlp_endpoint.as_deref();
        let traces = traces::of_server(otlp, &settings.otel, &log, metrics.as_ref())
            .map_err(|e| StartError::Config(format!("otlp_endpoint: {e}")))?;
        let routes = metrics.as_ref().map(|metrics| &metrics.routes).or(traces.as_ref().map(|traces| &traces.routes));
        let routes = routes.cloned().or_else(|| failed.is_some().then(Arc::default));
        let pool = Pool::new(settings.clone(), workers, log.clone(), commands, routes);
        let pool = pool.map_err(StartError::Config)?;
        let target = &settings.access_log;
        let access_log = AccessLog::open(target, settings.access_log_format, screen)
            .map_err(|e| StartError::Config(format!("access_log: {target}: {e}")))?;
        let dashboard = settings.admin.is_some().then(|| Dashboard::new(&settings)).transpose();
        let dashboard = dashboard.map_err(StartError::Config)?;
        // a socket in the file system belongs to a proxy, which speaks for others
        let loopback = |listener: &Listener| listener.address().inet().is_some() && listener.address().is_local();
        let is_local = listeners.iter().filter(|listener| listener.role() == Role::App).all(loopback);
        let pages = Pages { docs: Docs::new(&settings, is_local), dashboard };
        let hosts = Hosts::new(&settings.allowed_hosts, settings.development.is_some());
        let hosts = hosts.map_err(|e| StartError::Config(format!("allowed_hosts: {e}")))?;
        let base_path = settings.below().map_err(StartError::Config)?;
        let common = CommonFields::new(&settings.response_headers);
        let common = common.map_err(|e| StartError::Config(format!("response_headers: {e}")))?;
        let jobs = Jobs::open(&settings, &log).map_err(|e| StartError::Config(format!("jobs_store: {e}")))?;
        let context = Context::new(pages, pool.clone(), queue, websockets, metrics, jobs, &settings);
        let context =
            Arc::new(context.logging(access_log).tracing(traces).keeping(failed).only_for(hosts).below(base_path));
        commander.knows(&context);
        let service = Answers { context: context.clone(), queue: Mutex::new(Some(home)) };
        let Settings { threads, upload_path, limits, .. } = settings;
        let options = Options { threads: threads.max(1), upload_path, limits, tls, proxies, common, log };
        let http = httpd::Server::start(listeners, options, Arc::new(service))?;
        let server = Server { http, pool, context, commander };
        if let Some(dashboard) = &server.context.dashboard {
            dashboard.shows(server.gauge());
        }
        Ok(server)
    }

    /// Has `act` called, from an I/O thread, for what the dashboard's user wants done. It must not wait.
    pub fn on_action(&self, act: impl Fn(Action) + Send + Sync + 'static) {
        if let Some(dashboard) = &self.context.dashboard {
            dashboard.on_action(Box::new(act));
        }
    }

    /// Accepts connections from now on.
    ///
    /// # Errors
    /// A text that says where the system refuses, as when another socket has begun to listen on the address since.
    pub fn listen(&self) -> Result<(), String> {
        self.http.listen()?;
        let open = self.http.apart().iter().find(|(role, address)| *role == Role::Admin && !address.is_local());
        if let Some((_, admin)) = open {
            let text = format!("`admin` is reached from other machines: {admin}. Put it on 127.0.0.1 or a unix socket, unless the network keeps others out");
            self.log().line(Level::Warn, &text);
        }
        if is_root_of_the_machine() {
            self.log().line(Level::Warn, WARNING);
        }
        Ok(())
    }

    /// How many WebSockets are open, or about to be, that would end with this worker process.
    pub fn websockets_of(&self, pid: i32) -> usize {
        self.context.websockets.kept_by(dispatch::Owner::Process(pid))
    }

    /// Has `act` called, from any thread, when that has changed for a worker. It must not wait.
    pub fn on_websockets(&self, act: impl Fn() + Send + Sync + 'static) {
        self.context.websockets.on_change(Box::new(act));
    }

    /// Its workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The first of the addresses that it listens on for clients of the app.
    pub fn address(&self) -> &Address {
        &self.addresses()[0]
    }

    /// All of them.
    pub fn addresses(&self) -> &[Address] {
        self.http.addresses()
    }

    /// Where it listens for others, by the names of the settings, as it is reached from this machine.
    pub fn apart(&self) -> Vec<(&'static str, String)> {
        let shown = |(role, address): &(Role, Address)| match role {
            Role::Agent => ("agent_check", address.to_string()),
            Role::Admin | Role::App => ("admin", address.url(false, "")),
        };
        self.http.apart().iter().map(shown).collect()
    }

    /// Where it listens for clients of the app, as it is reached from this machine.
    pub fn urls(&self) -> Vec<String> {
        let tls = self.http.shared().tls().is_some();
        let base_path = self.context.base_path.kept();
        self.addresses().iter().map(|address| address.url(tls, base_path)).collect()
    }

    /// The log, for the worker's side of the same process.
    pub fn log(&self) -> &Log {
        &self.http.shared().log
    }

    /// Reads certificates and keys anew, for connections from now on. When anything is wrong with them, those from
    /// before are kept, and the log says why.
    pub fn reload_tls(&self) {
        if let Some(tls) = self.http.shared().tls() {
            tls.reload(self.log());
        }
    }

    /// Its log, and its access log if it has one.
    pub fn logs(&self) -> Vec<Log> {
        let access_log = self.context.access_log.as_ref().map(|log| log.log());
        [Some(self.log()), access_log].into_iter().flatten().cloned().collect()
    }

    /// What carries out the commands of workers.
    pub fn commands(&self) -> Arc<dyn Commands> {
        self.commander.clone()
    }

    /// What it counts; `None` when nothing is counted.
    pub fn metrics(&self) -> Option<Arc<Metrics>> {
        self.context.metrics.as_ref().map(|page| page.metrics.clone())
    }

    /// How much is going on in it.
    pub fn gauge(&self) -> Gauge {
        let Context { failed, jobs, websockets, .. } = &*self.context;
        let (failed, jobs, websockets) = (failed.clone(), jobs.clone(), websockets.clone());
        Gauge::new(self.http.shared().clone(), self.pool.clone(), self.metrics(), failed, jobs, websockets)
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.http.shared().open()
    }

    /// From now on `/readyz` says that no more requests should come; they are answered as before.
    pub fn leave(&self) {
        self.context.health.leave();
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        self.leave();
        if let Some(dashboard) = &self.context.dashboard {
            dashboard.end();
        }
        self.context.jobs.drain();
        self.pool.drain();
        self.http.drain();
    }

    /// Whether all connections have ended, the handlers of WebSockets have heard of that, and no job runs.
    pub fn is_drained(&self) -> bool {
        self.http.is_drained() && self.context.websockets.are_left() && self.context.jobs.are_at_rest()
    }
}

//! A running server: HTTP, and behind it the app and the workers that answer.

use crate::answers::{Answers, Other};
use crate::common::Common;
use crate::config::Settings;
use crate::context::Context;
use crate::edge::dashboard::Action;
use crate::gauge::Gauge;
use crate::pool::Pool;
use crate::served::Served;
use crate::start_error::StartError;
use dispatch::Commands;
use httpd::{Address, CommonFields, Listener, Options, Proxies, Role, Tls};
use observe::metrics::Metrics;
use observe::{is_root_of_the_machine, Level, Log, WARNING};
use proxies::Networks;
use shared_state::Table;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

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

/// What the handles to the apps of a server have in common.
struct Front {
    http: httpd::Server,
    /// answers what is for no other; the only one where there is one app
    root: Arc<Context>,
    /// whether it has been told to drain
    drains: AtomicBool,
}

/// Handle to a running server, or to one of its apps. Dropping it ends the server at once, when it is the last;
/// [`Server::drain`] first, to end it in peace.
pub struct Server {
    front: Arc<Front>,
    served: Served,
}

impl Server {
    /// Binds the addresses, unless there are sockets already, and starts the I/O threads. Connections are accepted from
    /// [`Server::listen`] on; by then the pool should have an app and workers.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn bind(settings: Settings) -> Result<Server, StartError> {
        Server::bind_all(settings, Vec::new()).map(|(server, _)| server)
    }

    /// The same, with several apps, which have names: each below its base path or for its hosts. The first handle is to
    /// what they have in common, as `settings` says, which answers what is for none of them.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub fn bind_all(mut settings: Settings, apps: Vec<Settings>) -> Result<(Server, Vec<Server>), StartError> {
        let listeners = listeners(&mut settings)?;
        // a socket in the file system belongs to a proxy, which speaks for others
        let loopback = |listener: &Listener| listener.address().inet().is_some() && listener.address().is_local();
        let is_local = listeners.iter().filter(|listener| listener.role() == Role::App).all(loopback);
        let common = Common::open(&settings, is_local)?;
        let tls = settings.tls.clone().map(|tls| Tls::open(tls, settings.limits.max_connections, &common.log));
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
        let fields = CommonFields::new(&settings.response_headers);
        let fields = fields.map_err(|e| StartError::Config(format!("response_headers: {e}")))?;
        let (mut others, mut queues) = (Vec::new(), Vec::new());
        for (at, app) in apps.into_iter().enumerate() {
            let app = Settings { admin: None, ..app };
            let (served, home) = Served::open(at + 1, &app, &common)?;
            queues.push(home);
            others.push((served, app.by_host));
        }
        if !others.is_empty() {
            // each app has its own
            (settings.jobs_store, settings.keep_failed) = (None, 0);
        }
        let observed = others.iter().flat_map(|(served, _)| served.context.observed.clone()).collect();
        let (root, home) = Served::open_root(&settings, &common, observed)?;
        queues.push(home);
        let of = |(served, by_host): &(Served, bool)| Other { context: served.context.clone(), by_host: *by_host };
        let service = Answers::new(root.context.clone(), others.iter().map(of).collect(), queues);
        let Settings { threads, upload_path, limits, .. } = settings;
        let options =
            Options { threads: threads.max(1), upload_path, limits, tls, proxies, common: fields, log: common.log };
        let http = httpd::Server::start(listeners, options, Arc::new(service))?;
        let front = Arc::new(Front { http, root: root.context.clone(), drains: AtomicBool::new(false) });
        let handle = |served| Server { front: front.clone(), served };
        let others = others.into_iter().map(|(served, _)| handle(served)).collect();
        let server = handle(root);
        if let Some(dashboard) = &server.served.context.dashboard {
            dashboard.shows(server.gauge());
        }
        Ok((server, others))
    }

    /// Of its app, among those of the server.
    pub fn place(&self) -> usize {
        self.served.place
    }

    /// What `dr_state()` has in its workers.
    pub fn state(&self) -> &Arc<Table> {
        &self.served.state
    }

    /// Has `act` called, from an I/O thread, for what the dashboard's user wants done. It must not wait.
    pub fn on_action(&self, act: impl Fn(Action) + Send + Sync + 'static) {
        if let Some(dashboard) = &self.served.context.dashboard {
            dashboard.on_action(Box::new(act));
        }
    }

    /// Accepts connections from now on; of several apps, those of all, by the handle to what they have in common.
    ///
    /// # Errors
    /// A text that says where the system refuses, as when another socket has begun to listen on the address since.
    pub fn listen(&self) -> Result<(), String> {
        if self.served.pool.is_one_of_several() {
            return Ok(());
        }
        self.front.http.listen()?;
        let open = self.front.http.apart().iter().find(|(role, address)| *role == Role::Admin && !address.is_local());
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
        self.served.context.websockets.kept_by(dispatch::Owner::Process(pid))
    }

    /// Has `act` called, from any thread, when that has changed for a worker. It must not wait.
    pub fn on_websockets(&self, act: impl Fn() + Send + Sync + 'static) {
        self.served.context.websockets.on_change(Box::new(act));
    }

    /// Its workers.
    pub fn pool(&self) -> &Pool {
        &self.served.pool
    }

    /// The first of the addresses that it listens on for clients of the app.
    pub fn address(&self) -> &Address {
        &self.addresses()[0]
    }

    /// All of them.
    pub fn addresses(&self) -> &[Address] {
        self.front.http.addresses()
    }

    /// Where it listens for others, by the names of the settings, as it is reached from this machine.
    pub fn apart(&self) -> Vec<(&'static str, String)> {
        let shown = |(role, address): &(Role, Address)| match role {
            Role::Agent => ("agent_check", address.to_string()),
            Role::Admin | Role::App => ("admin", address.url(false, "")),
        };
        self.front.http.apart().iter().map(shown).collect()
    }

    /// Where it listens for clients of the app, as it is reached from this machine.
    pub fn urls(&self) -> Vec<String> {
        let tls = self.front.http.shared().tls().is_some();
        let base_path = self.served.context.base_path.kept();
        self.addresses().iter().map(|address| address.url(tls, base_path)).collect()
    }

    /// The log, for the worker's side of the same process.
    pub fn log(&self) -> &Log {
        &self.served.log
    }

    /// Reads certificates and keys anew, for connections from now on. When anything is wrong with them, those from
    /// before are kept, and the log says why.
    pub fn reload_tls(&self) {
        if let Some(tls) = self.front.http.shared().tls() {
            tls.reload(self.log());
        }
    }

    /// Its log, and its access log if it has one.
    pub fn logs(&self) -> Vec<Log> {
        let access_log = self.served.context.access_log.as_ref().map(|log| log.log());
        [Some(self.log()), access_log].into_iter().flatten().cloned().collect()
    }

    /// What carries out the commands of workers.
    pub fn commands(&self) -> Arc<dyn Commands> {
        self.served.commander.clone()
    }

    /// What it counts; `None` when nothing is counted.
    pub fn metrics(&self) -> Option<Arc<Metrics>> {
        self.served.context.metrics.as_ref().map(|page| page.metrics.clone())
    }

    /// How much is going on in it.
    pub fn gauge(&self) -> Gauge {
        Gauge::new(self.front.http.shared().clone(), self.metrics(), self.served.context.observed.clone())
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.front.http.shared().open()
    }

    /// From now on `/readyz` says that no more requests should come; they are answered as before.
    pub fn leave(&self) {
        self.served.context.health.leave();
        self.front.root.health.leave();
    }

    /// Stops accepting; connections end as their requests are answered. Returns at once.
    pub fn drain(&self) {
        self.leave();
        if let Some(dashboard) = &self.served.context.dashboard {
            dashboard.end();
        }
        self.served.context.jobs.drain();
        self.served.pool.drain();
        // of several apps, the first that ends: they end together
        if !self.front.drains.swap(true, Relaxed) {
            self.front.http.drain();
        }
    }

    /// Whether all connections have ended, the handlers of WebSockets have heard of that, and no job runs.
    pub fn is_drained(&self) -> bool {
        self.front.http.is_drained()
            && self.served.context.websockets.are_left()
            && self.served.context.jobs.are_at_rest()
    }
}

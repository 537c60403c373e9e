//! One app of a server, with all that answers its requests behind the sockets.

use crate::commands::Commander;
use crate::common::Common;
use crate::config::Settings;
use crate::context::{Context, Pages, Parts};
use crate::edge::dashboard::Dashboard;
use crate::edge::docs::Docs;
use crate::edge::hosts::Hosts;
use crate::jobs::Jobs;
use crate::observed::Observed;
use crate::pool::Pool;
use crate::start_error::StartError;
use crate::websockets::WebSockets;
use dispatch::Home;
use exchange::WebSocketCommands;
use observe::Log;
use shared_state::{Limits, Table};
use std::sync::{Arc, Weak};

/// See the module.
pub(crate) struct Served {
    /// among the apps of the server
    pub(crate) place: usize,
    pub(crate) pool: Pool,
    pub(crate) context: Arc<Context>,
    pub(crate) commander: Arc<Commander>,
    /// what `dr_state()` has
    pub(crate) state: Arc<Table>,
    /// its records are those of the app, where there are several
    pub(crate) log: Log,
}

impl Served {
    /// An app without workers, at a place above 0, and what the thread is to install that has its queue.
    ///
    /// # Errors
    /// A text that names the setting that is wrong.
    pub(crate) fn open(place: usize, settings: &Settings, common: &Common) -> Result<(Self, Home), StartError> {
        Served::new(place, settings, common, Vec::new())
    }

    /// The same of the only app; or, in its place, of nothing beside these apps.
    ///
    /// # Errors
    /// As for [`Served::open`].
    pub(crate) fn open_root(
        settings: &Settings,
        common: &Common,
        others: Vec<Observed>,
    ) -> Result<(Self, Home), StartError> {
        Served::new(0, settings, common, others)
    }

    fn new(
        place: usize,
        settings: &Settings,
        common: &Common,
        others: Vec<Observed>,
    ) -> Result<(Self, Home), StartError> {
        // with one app that of the process: its session may serve
        let state = if settings.name.is_some() { Arc::new(Table::new()?) } else { shared_state::table()?.clone() };
        state.set_limits(Limits {
            entries: settings.limits.max_state_entries,
            bytes: settings.limits.max_state,
            value: settings.limits.max_state_value,
        });
        let log = settings.name.as_ref().map_or_else(|| common.log.clone(), |name| common.log.of_app(name));
        let websockets = Arc::new(WebSockets::default());
        let failed = settings.failed_requests().map_err(StartError::Config)?;
        if let Some(failed) = failed.clone() {
            log.on_error(move |error| failed.has_error(error));
        }
        let commander = Arc::new(Commander::new(websockets.clone(), failed.clone()));
        let (limits, threads, closely) = (&settings.limits, settings.cpp_workers, httpd::watch_closely);
        let (queue, workers, home) = dispatch::create(place, limits, threads, log.clone(), commander.clone(), closely);
        let commands = Arc::downgrade(&websockets) as Weak<dyn WebSocketCommands>;
        let routes = common.routes().or_else(|| failed.is_some().then(Arc::default));
        let pool = Pool::new(settings.clone(), workers, log.clone(), commands, routes);
        let pool = pool.map_err(StartError::Config)?;
        let dashboard = settings.admin.is_some().then(|| Dashboard::new(settings)).transpose();
        let dashboard = dashboard.map_err(StartError::Config)?;
        let pages = Pages { docs: Docs::new(settings, common.is_local), dashboard };
        let hosts = Hosts::new(&settings.allowed_hosts, settings.development.is_some());
        let hosts = hosts.map_err(|e| StartError::Config(format!("allowed_hosts: {e}")))?;
        let base_path = settings.below().map_err(StartError::Config)?;
        let jobs = Jobs::open(settings, &log).map_err(|e| StartError::Config(format!("jobs_store: {e}")))?;
        let parts = Parts { pages, pool: pool.clone(), queue, websockets, jobs, failed, state: state.clone(), others };
        let context = Context::new(parts, common, settings);
        let context = Arc::new(context.only_for(hosts).below(base_path));
        commander.knows(&context);
        Ok((Served { place, pool, context, commander, state, log }, home))
    }
}

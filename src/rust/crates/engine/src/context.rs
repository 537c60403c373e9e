//! What answers requests: what the I/O threads of a server share beyond HTTP.

use crate::common::Common;
use crate::config::{Replay, Settings};
use crate::development::Development;
use crate::edge::access_log::AccessLog;
use crate::edge::base_path::BasePath;
use crate::edge::dashboard::Dashboard;
use crate::edge::docs::Docs;
use crate::edge::health::Health;
use crate::edge::hosts::Hosts;
use crate::edge::metrics::MetricsPage;
use crate::edge::traces::Traces;
use crate::failed::FailedRequests;
use crate::jobs::Jobs;
use crate::observed::Observed;
use crate::pool::{Current, Pool};
use crate::respond::ErrorBodies;
use crate::websockets::WebSockets;
use dispatch::Queue;
use httpd::this_thread;
use shared_state::Table;
use std::sync::Arc;

/// See the module.
pub struct Context {
    pool: Pool,
    pub(crate) queue: Queue,
    pub(crate) websockets: Arc<WebSockets>,
    pub(crate) debug: bool,
    pub(crate) errors: ErrorBodies,
    pub(crate) access_log: Option<Arc<AccessLog>>,
    pub(crate) health: Health,
    /// `None` when nothing is counted
    pub(crate) metrics: Option<MetricsPage>,
    /// where spans go; `None` when traces are off
    pub(crate) traces: Option<Arc<Traces>>,
    pub(crate) development: Option<Arc<Development>>,
    /// which may be asked for
    pub(crate) hosts: Hosts,
    /// below which the app is
    pub(crate) base_path: BasePath,
    pub(crate) docs: Docs,
    /// `None` without an admin address
    pub(crate) dashboard: Option<Dashboard>,
    pub(crate) jobs: Arc<Jobs>,
    /// where failed requests are kept; `None` when they are not
    pub(crate) failed: Option<Arc<FailedRequests>>,
    /// for those who look at it: itself, or the other apps
    pub(crate) observed: Vec<Observed>,
    /// the request that is played again here
    pub(crate) replays: Option<Replay>,
}

/// Pages of the server itself that are built with npm.
pub struct Pages {
    pub(crate) docs: Docs,
    pub(crate) dashboard: Option<Dashboard>,
}

/// What one app has for itself.
pub(crate) struct Parts {
    pub(crate) pages: Pages,
    pub(crate) pool: Pool,
    pub(crate) queue: Queue,
    pub(crate) websockets: Arc<WebSockets>,
    pub(crate) jobs: Jobs,
    /// where failed requests are kept; `None` when they are not
    pub(crate) failed: Option<Arc<FailedRequests>>,
    /// what `dr_state()` has
    pub(crate) state: Arc<Table>,
    /// in the place of an app where there are others: what there is to see
    pub(crate) others: Vec<Observed>,
}

impl Context {
    /// Of an app with these settings.
    pub(crate) fn new(parts: Parts, common: &Common, settings: &Settings) -> Self {
        let Parts { pages, pool, queue, websockets, jobs, failed, state, others } = parts;
        let errors = ErrorBodies::new(settings.errors);
        let max_queue = settings.limits.max_queue;
        let jobs = Arc::new(jobs);
        let itself = Observed {
            pool: pool.clone(),
            failed: failed.clone(),
            jobs: jobs.clone(),
            websockets: websockets.clone(),
            state,
        };
        let observed = if others.is_empty() { vec![itself] } else { others };
        let pools = observed.iter().map(|app| app.pool.clone()).collect();
        let health = Health::new(settings.health, max_queue, pools);
        let metrics = common.metrics.clone().map(|metrics| MetricsPage {
            metrics,
            max_queue,
            apps: observed.clone(),
            for_clients: settings.admin.is_none(),
            is_wanted: settings.metrics,
        });
        Context {
            pool,
            queue,
            websockets,
            debug: settings.debug,
            errors,
            access_log: common.access_log.clone(),
            health,
            metrics,
            traces: common.traces.clone(),
            development: settings.development.clone(),
            hosts: Hosts::default(),
            base_path: BasePath::default(),
            docs: pages.docs,
            dashboard: pages.dashboard,
            jobs,
            failed,
            observed,
            replays: settings.replays.clone(),
        }
    }

    /// The apps and their workers.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The same, for requests of these hosts only.
    pub(crate) fn only_for(self, hosts: Hosts) -> Self {
        Context { hosts, ..self }
    }

    /// The same, for requests below this path only.
    pub(crate) fn below(self, base_path: BasePath) -> Self {
        Context { base_path, ..self }
    }

    /// Whether an app has ever been loaded.
    pub(crate) fn is_known(&self) -> bool {
        self.pool.is_known(this_thread())
    }

    /// The app that a request of this I/O thread for this path is routed by: that of its session goes on for its
    /// visitor.
    pub(crate) fn app_for(&self, path: &str) -> Arc<Current> {
        self.websockets.app_of(path).unwrap_or_else(|| self.app())
    }

    /// The app that a request of this I/O thread is routed by.
    pub(crate) fn app(&self) -> Arc<Current> {
        self.pool.app(this_thread())
    }
}

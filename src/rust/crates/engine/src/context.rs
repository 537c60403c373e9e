//! What answers requests: what the I/O threads of a server share beyond HTTP.

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
use crate::pool::{Current, Pool};
use crate::respond::ErrorBodies;
use crate::websockets::WebSockets;
use dispatch::Queue;
use httpd::this_thread;
use observe::metrics::Metrics;
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
    /// the request that is played again here
    pub(crate) replays: Option<Replay>,
}

/// Pages of the server itself that are built with npm.
pub struct Pages {
    pub(crate) docs: Docs,
    pub(crate) dashboard: Option<Dashboard>,
}

impl Context {
    pub(crate) fn new(
        pages: Pages,
        pool: Pool,
        queue: Queue,
        websockets: Arc<WebSockets>,
        metrics: Option<Arc<Metrics>>,
        jobs: Jobs,
        settings: &Settings,
    ) -> Self {
        let errors = ErrorBodies::new(settings.errors);
        let max_queue = settings.limits.max_queue;
        let health = Health::new(settings.health, max_queue, pool.clone());
        let metrics = metrics.map(|metrics| MetricsPage {
            metrics,
            max_queue,
            pool: pool.clone(),
            for_clients: settings.admin.is_none(),
            is_wanted: settings.metrics,
        });
        Context {
            pool,
            queue,
            websockets,
            debug: settings.debug,
            errors,
            access_log: None,
            health,
            metrics,
            traces: None,
            development: settings.development.clone(),
            hosts: Hosts::default(),
            base_path: BasePath::default(),
            docs: pages.docs,
            dashboard: pages.dashboard,
            jobs: Arc::new(jobs),
            failed: None,
            replays: settings.replays.clone(),
        }
    }

    /// The apps and their workers.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The same, with spans of requests.
    pub(crate) fn tracing(self, traces: Option<Traces>) -> Self {
        Context { traces: traces.map(Arc::new), ..self }
    }

    /// The same, with a line for each request.
    pub(crate) fn logging(self, access_log: Option<AccessLog>) -> Self {
        Context { access_log: access_log.map(Arc::new), ..self }
    }

    /// The same, with a place for failed requests.
    pub(crate) fn keeping(self, failed: Option<Arc<FailedRequests>>) -> Self {
        Context { failed, ..self }
    }

    /// The same, for requests of these hosts only.
    pub(crate) fn only_for(self, hosts: Hosts) -> Self {
        Context { hosts, ..self }
    }

    /// The same, for requests below this path only.
    pub(crate) fn below(self, base_path: BasePath) -> Self {
        Context { base_path, ..self }
    }

    /// The app that a request of this I/O thread is routed by.
    pub(crate) fn app(&self) -> Arc<Current> {
        self.pool.app(this_thread())
    }
}

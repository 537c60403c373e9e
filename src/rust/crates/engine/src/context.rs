//! What answers requests: what the I/O threads of a server share beyond HTTP.

use crate::config::Settings;
use crate::development::Development;
use crate::edge::access_log::AccessLog;
use crate::pool::{Current, Pool};
use crate::respond::ErrorBodies;
use crate::sockets::Sockets;
use dispatch::Queue;
use httpd::this_thread;
use std::sync::Arc;

/// See the module.
pub struct Context {
    pool: Pool,
    pub(crate) queue: Queue,
    pub(crate) sockets: Arc<Sockets>,
    pub(crate) debug: bool,
    pub(crate) errors: ErrorBodies,
    pub(crate) access_log: Option<Arc<AccessLog>>,
    pub(crate) development: Option<Arc<Development>>,
}

impl Context {
    pub(crate) fn new(
        pool: Pool,
        queue: Queue,
        sockets: Arc<Sockets>,
        access_log: Option<AccessLog>,
        settings: &Settings,
    ) -> Self {
        let errors = ErrorBodies::new(settings.errors);
        Context {
            pool,
            queue,
            sockets,
            debug: settings.debug,
            errors,
            access_log: access_log.map(Arc::new),
            development: settings.development.clone(),
        }
    }

    /// The app that a request of this I/O thread is routed by.
    pub(crate) fn app(&self) -> Arc<Current> {
        self.pool.app(this_thread())
    }
}

//! What the apps of a server have in common, beside the addresses where they are served: its log, what it counts, and
//! where requests are told of.

use crate::config::Settings;
use crate::edge::access_log::AccessLog;
use crate::edge::traces::{self, Traces};
use crate::start_error::StartError;
use observe::metrics::{Metrics, Routes};
use observe::{Log, Manner, Screen};
use std::sync::Arc;

/// See the module.
pub(crate) struct Common {
    pub(crate) log: Log,
    /// `None` when nothing is counted
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// where spans go; `None` when traces are off
    pub(crate) traces: Option<Arc<Traces>>,
    pub(crate) access_log: Option<Arc<AccessLog>>,
    /// whether no other machine reaches it
    pub(crate) is_local: bool,
}

impl Common {
    /// As the settings of the server have it.
    ///
    /// # Errors
    /// A text that names the setting that is wrong.
    pub(crate) fn open(settings: &Settings, is_local: bool) -> Result<Self, StartError> {
        let screen = Screen { console: settings.console.clone(), colours: settings.colours };
        let manner = Manner { format: settings.log_format, least: settings.log_level };
        let log = Log::open_so(&settings.log, screen.clone(), manner)
            .map_err(|e| StartError::Config(format!("log: {}: {e}", settings.log)))?;
        // an admin address has the dashboard, which shows the counts
        let counts = settings.metrics || settings.admin.is_some();
        let metrics = counts.then(|| Arc::new(Metrics::new(settings.threads.max(1))));
        let otlp = settings.otlp_endpoint.as_deref();
        let traces = traces::of_server(otlp, &settings.otel, &log, metrics.as_ref())
            .map_err(|e| StartError::Config(format!("otlp_endpoint: {e}")))?;
        let target = &settings.access_log;
        let access_log = AccessLog::open(target, settings.access_log_format, screen)
            .map_err(|e| StartError::Config(format!("access_log: {target}: {e}")))?;
        let (traces, access_log) = (traces.map(Arc::new), access_log.map(Arc::new));
        Ok(Common { log, metrics, traces, access_log, is_local })
    }

    /// What tells routes apart, if metrics or traces are on.
    pub(crate) fn routes(&self) -> Option<Arc<Routes>> {
        let counted = self.metrics.as_ref().map(|metrics| &metrics.routes);
        counted.or(self.traces.as_ref().map(|traces| &traces.routes)).cloned()
    }
}

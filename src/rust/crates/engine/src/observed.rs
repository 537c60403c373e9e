//! One app, as those see it who look at the server: metrics, `drover status`, the dashboard.

use crate::failed::FailedRequests;
use crate::jobs::Jobs;
use crate::pool::Pool;
use crate::websockets::WebSockets;
use shared_state::Table;
use std::sync::Arc;

/// See the module.
#[derive(Clone)]
pub(crate) struct Observed {
    pub(crate) pool: Pool,
    /// where failed requests are kept; `None` when they are not
    pub(crate) failed: Option<Arc<FailedRequests>>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) websockets: Arc<WebSockets>,
    /// what `dr_state()` has
    pub(crate) state: Arc<Table>,
}

/// Entries of `dr_state()` in all of them, and bytes that they take.
pub(crate) fn state_of(apps: &[Observed]) -> (u64, u64) {
    let counts = apps.iter().map(|app| app.state.counts());
    counts.fold((0, 0), |(entries, bytes), (more, more_bytes)| (entries + more, bytes + more_bytes))
}

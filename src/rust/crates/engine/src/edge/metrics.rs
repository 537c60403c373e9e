//! `/metrics`: what the server has counted, for Prometheus and its like. See `observe::metrics`.
//!
//! Off unless `metrics` is set, as the path may be the app's own; with `admin` everything is counted all the same, for
//! the dashboard. Neighbour: `pipeline/internal`, which has the path.

use crate::jobs::{Answering, Jobs};
use crate::pool::Pool;
use crate::respond::unstored;
use http::header::{ACCEPT, VARY};
use http::{HeaderValue, StatusCode};
use httpd::{Head, Shared};
use observe::metrics::{Exposition, Gauges, Metrics};
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the module.
pub struct MetricsPage {
    pub metrics: Arc<Metrics>,
    pub max_queue: usize,
    pub pool: Pool,
    /// whether clients of the app get it: only without an admin address
    pub for_clients: bool,
    /// whether it is served at all
    pub is_wanted: bool,
}

impl MetricsPage {
    /// The page, in the format that the client asks for, once jobs are counted.
    pub fn page(&self, head: &Head, server: &Shared, jobs: Arc<Jobs>) -> Answering {
        let accept = head.fields.get(&ACCEPT).and_then(|accept| std::str::from_utf8(accept).ok());
        let how = Exposition::wanted(accept.unwrap_or_default());
        let gauges = Gauges {
            connections: server.open(),
            waiting: self.pool.waiting(),
            max_queue: self.max_queue,
            state: shared_state::counts(),
            batches: self.pool.batches(),
            jobs: Vec::new(),
            attempts: BTreeMap::new(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let metrics = self.metrics.clone();
        Box::pin(async move {
            let counts = jobs.counts().await;
            let kinds = counts.0.iter().map(|(kind, counts)| (kind.clone(), counts.by_state())).collect();
            let gauges = Gauges { jobs: kinds, attempts: jobs.attempts(), ..gauges };
            let mut response = unstored(StatusCode::OK, how.content_type(), metrics.expose(gauges, how));
            response.fields.set(&VARY, HeaderValue::from_static("accept"));
            Ok(response)
        })
    }
}

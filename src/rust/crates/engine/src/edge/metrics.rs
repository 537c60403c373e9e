//! `/metrics`: what the server has counted, for Prometheus and its like. See `observe::metrics`.
//!
//! Off unless `metrics` is set, as the path may be the app's own; with `admin` everything is counted all the same, for
//! the dashboard. Neighbour: `pipeline/internal`, which has the path.

use crate::jobs::Answering;
use crate::observed::{state_of, Observed};
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
    /// the only one, or all that the server has
    pub apps: Vec<Observed>,
    /// whether clients of the app get it: only without an admin address
    pub for_clients: bool,
    /// whether it is served at all
    pub is_wanted: bool,
}

impl MetricsPage {
    /// The page, in the format that the client asks for, once jobs are counted.
    pub fn page(&self, head: &Head, server: &Shared) -> Answering {
        let accept = head.fields.get(&ACCEPT).and_then(|accept| std::str::from_utf8(accept).ok());
        let how = Exposition::wanted(accept.unwrap_or_default());
        let gauges = Gauges {
            connections: server.open(),
            waiting: self.apps.iter().map(|app| app.pool.waiting()).sum(),
            max_queue: self.max_queue,
            state: state_of(&self.apps),
            passed: self.apps.iter().map(|app| app.pool.passed_in_all()).sum(),
            batches: self.apps.iter().map(|app| app.pool.batches()).fold((0, 0), |(a, b), (c, d)| (a + c, b + d)),
            jobs: Vec::new(),
            attempts: BTreeMap::new(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let (metrics, apps) = (self.metrics.clone(), self.apps.clone());
        Box::pin(async move {
            let mut gauges = gauges;
            for app in apps {
                // the names of kinds are those of routes, as clients have them
                let name = |kind: &String| app.pool.named(kind);
                let counts = app.jobs.counts().await;
                gauges.jobs.extend(counts.0.iter().map(|(kind, counts)| (name(kind), counts.by_state())));
                gauges.attempts.extend(app.jobs.attempts().into_iter().map(|((kind, end), n)| ((name(&kind), end), n)));
            }
            let mut response = unstored(StatusCode::OK, how.content_type(), metrics.expose(gauges, how));
            response.fields.set(&VARY, HeaderValue::from_static("accept"));
            Ok(response)
        })
    }
}

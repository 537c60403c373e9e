//! What the server counts: requests by route, refusals, connections, workers. Every I/O thread counts in cells of its
//! own (`cells`), which no other thread writes to; a scrape adds them up (`exposition`).
//!
//! Not for the names and meanings of metrics: docs/metrics.md has the table.

mod cells;
mod exposition;
mod figures;
mod refusal;
mod routes;
mod spans;
mod workers;

pub use cells::{count, Cells, Counted, Phases};
pub use exposition::{resident_memory, Exposition, Gauges};
pub use figures::{Figures, RouteFigures};
pub use refusal::Refusal;
pub use routes::{Route, Routes, MOST_ROUTES};
pub use spans::Spans;
pub use workers::{Restart, Workers};

use std::sync::Arc;
use std::time::SystemTime;

/// The figures of one server, for as long as it lives: neither a reload of the app nor the end of a worker resets one.
#[derive(Debug)]
pub struct Metrics {
    threads: Vec<Arc<Cells>>,
    began: SystemTime,
    /// which routes are told apart
    pub routes: Arc<Routes>,
    /// what the owner of worker processes tells of them
    pub workers: Workers,
    /// spans for a collector of traces
    pub spans: Spans,
}

impl Metrics {
    /// For a server with this many I/O threads.
    pub fn new(threads: usize) -> Self {
        let threads = (0..threads).map(|_| Arc::default()).collect();
        Metrics {
            threads,
            began: SystemTime::now(),
            routes: Arc::default(),
            workers: Workers::default(),
            spans: Spans::default(),
        }
    }

    /// What this thread counts goes into the cells of this number from now on.
    pub fn count_here(&self, thread: usize) {
        if let Some(cells) = self.threads.get(thread) {
            cells::install(cells.clone());
        }
    }
}

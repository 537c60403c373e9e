//! What became of the spans of requests, where traces are sent to a collector.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// See the module.
#[derive(Debug, Default)]
pub struct Spans {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl Spans {
    /// The collector has taken `n` spans.
    pub fn exported(&self, n: u64) {
        self.exported.fetch_add(n, Relaxed);
    }

    /// `n` spans were given up.
    pub fn dropped(&self, n: u64) {
        self.dropped.fetch_add(n, Relaxed);
    }

    pub(super) fn by_result(&self) -> [(&'static str, u64); 2] {
        [("exported", self.exported.load(Relaxed)), ("dropped", self.dropped.load(Relaxed))]
    }
}

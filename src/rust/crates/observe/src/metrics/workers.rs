//! What is told of workers by the owner of their processes.

use crate::status::WorkerStatus;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

/// Why a worker was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// it has served its `max_requests`
    Requests,
    /// it held more than `max_rss`
    Memory,
    /// it was older than `max_lifetime`
    Age,
    /// it was interrupted at the deadline of a request
    Late,
    /// a C handler did not return
    Blocked,
    /// it did not heed its interrupt, and was killed
    Hung,
    /// a signal ended it
    Signal,
    /// it ended by itself
    Exit,
    /// it could not start, or failed otherwise
    Failed,
    /// the operator asked for it
    Asked,
}

impl Restart {
    const ALL: [Restart; 10] = [
        Restart::Requests,
        Restart::Memory,
        Restart::Age,
        Restart::Late,
        Restart::Blocked,
        Restart::Hung,
        Restart::Signal,
        Restart::Exit,
        Restart::Failed,
        Restart::Asked,
    ];

    /// The value of its label.
    fn name(self) -> &'static str {
        match self {
            Restart::Requests => "requests",
            Restart::Memory => "memory",
            Restart::Age => "age",
            Restart::Late => "late",
            Restart::Blocked => "blocked",
            Restart::Hung => "hung",
            Restart::Signal => "signal",
            Restart::Exit => "exit",
            Restart::Failed => "failed",
            Restart::Asked => "asked",
        }
    }
}

type Source = Box<dyn Fn() -> Vec<WorkerStatus> + Send + Sync>;

/// See the module.
#[derive(Default)]
pub struct Workers {
    /// of each app
    sources: RwLock<BTreeMap<usize, Source>>,
    restarts: [AtomicU64; Restart::ALL.len()],
    collections: AtomicU64,
    collecting_us: AtomicU64,
}

impl Workers {
    /// Asked, at each scrape and from any thread, for the workers of the app at this place. It must not wait.
    pub fn watch(&self, place: usize, source: impl Fn() -> Vec<WorkerStatus> + Send + Sync + 'static) {
        self.sources.write().unwrap_or_else(PoisonError::into_inner).insert(place, Box::new(source));
    }

    /// A worker is replaced.
    pub fn restarts(&self, why: Restart) {
        self.restarts[why as usize].fetch_add(1, Relaxed);
    }

    /// R in one worker has collected garbage `n` times, in `micros` microseconds.
    pub fn collected(&self, n: u32, micros: u32) {
        self.collections.fetch_add(n.into(), Relaxed);
        self.collecting_us.fetch_add(micros.into(), Relaxed);
    }

    /// Collections of garbage in all workers that there were, and the seconds that they took.
    pub(super) fn collections(&self) -> (u64, f64) {
        (self.collections.load(Relaxed), self.collecting_us.load(Relaxed) as f64 / 1e6)
    }

    /// The workers that there are.
    pub fn now(&self) -> Vec<WorkerStatus> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        sources.values().flat_map(|source| source()).collect()
    }

    pub(super) fn by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Restart::ALL.iter().map(|why| (why.name(), self.restarts[*why as usize].load(Relaxed)))
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_place() {
        assert!(Restart::ALL.iter().enumerate().all(|(i, why)| *why as usize == i));
        let workers = Workers::default();
        workers.restarts(Restart::Hung);
        let counted: Vec<_> = workers.by_reason().filter(|(_, n)| *n > 0).collect();
        assert_eq!(counted, [("hung", 1)]);
    }
}

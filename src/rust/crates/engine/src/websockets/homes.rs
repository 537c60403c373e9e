//! Worker processes that have connections of their own: those whose handlers are in C, which keep what they know of a
//! connection in the memory of their process. When that ends, so do its connections.

use admission::ms;
use exchange::now;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A worker may end just after it has taken a client, and before that is known here. Long enough for that, and not for
/// the system to use the number of a process again.
const MEMORY: f64 = 5.0;

/// See the module.
#[derive(Default)]
pub struct Homes(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    connections: HashMap<i32, HashSet<u64>>,
    /// processes that have left, and when
    left: VecDeque<(i32, u64)>,
}

impl Homes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // no code panics while holding this lock
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is that of a process from now on. `false` when that has left.
    pub fn enter(&self, process: i32, connection: u64) -> bool {
        let mut inner = self.inner();
        let since = now().saturating_sub(ms(MEMORY));
        inner.left.retain(|&(_, at)| at >= since);
        let is_there = inner.left.iter().all(|&(left, _)| left != process);
        if is_there {
            inner.connections.entry(process).or_default().insert(connection);
        }
        is_there
    }

    /// It has ended.
    pub fn leave(&self, process: i32, connection: u64) {
        let mut inner = self.inner();
        if let Some(connections) = inner.connections.get_mut(&process) {
            connections.remove(&connection);
            if connections.is_empty() {
                inner.connections.remove(&process);
            }
        }
    }

    /// The process ends: its connections.
    pub fn has_left(&self, process: i32) -> HashSet<u64> {
        let mut inner = self.inner();
        inner.left.push_back((process, now()));
        inner.connections.remove(&process).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_end_with_their_process_also_those_that_come_too_late() {
        let homes = Homes::default();
        assert!(homes.enter(1, 10) && homes.enter(1, 11) && homes.enter(2, 12));
        homes.leave(1, 10);
        homes.leave(3, 10);
        assert_eq!(homes.has_left(1), HashSet::from([11]));
        assert!(!homes.enter(1, 13) && homes.enter(2, 14));
        homes.leave(2, 12);
        homes.leave(2, 14);
        assert!(homes.inner().connections.is_empty());
    }
}

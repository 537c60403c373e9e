//! Workers that have connections of their own: handlers in C, and the functions of an app of httpuv, keep what they
//! know of a connection in the memory of their process. When such a worker ends, so do its connections.

use admission::ms;
use dispatch::Owner;
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
    connections: HashMap<Owner, HashSet<u64>>,
    /// workers that have left, and when
    left: VecDeque<(Owner, u64)>,
}

impl Homes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // no code panics while holding this lock
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is that of a worker from now on. `false` when that has left.
    pub fn enter(&self, owner: Owner, connection: u64) -> bool {
        let mut inner = self.inner();
        let since = now().saturating_sub(ms(MEMORY));
        inner.left.retain(|&(_, at)| at >= since);
        let is_there = inner.left.iter().all(|&(left, _)| left != owner);
        if is_there {
            inner.connections.entry(owner).or_default().insert(connection);
        }
        is_there
    }

    /// It has ended.
    pub fn leave(&self, owner: Owner, connection: u64) {
        let mut inner = self.inner();
        if let Some(connections) = inner.connections.get_mut(&owner) {
            connections.remove(&connection);
            if connections.is_empty() {
                inner.connections.remove(&owner);
            }
        }
    }

    /// The worker ends: its connections.
    pub fn has_left(&self, owner: Owner) -> HashSet<u64> {
        let mut inner = self.inner();
        inner.left.push_back((owner, now()));
        inner.connections.remove(&owner).unwrap_or_default()
    }

    /// How many connections it has.
    pub fn count(&self, owner: Owner) -> usize {
        self.inner().connections.get(&owner).map_or(0, HashSet::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_end_with_their_process_also_those_that_come_too_late() {
        let homes = Homes::default();
        let [one, two, three] = [Owner::Process(1), Owner::Process(2), Owner::Session(1)];
        assert!(homes.enter(one, 10) && homes.enter(one, 11) && homes.enter(two, 12));
        homes.leave(one, 10);
        homes.leave(three, 10);
        assert_eq!([one, two, three].map(|owner| homes.count(owner)), [1, 1, 0]);
        assert_eq!(homes.has_left(one), HashSet::from([11]));
        assert!(!homes.enter(one, 13) && homes.enter(two, 14) && homes.enter(three, 15));
        homes.leave(two, 12);
        homes.leave(two, 14);
        homes.leave(three, 15);
        assert!(homes.inner().connections.is_empty());
    }
}

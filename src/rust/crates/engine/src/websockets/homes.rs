//! Workers that have connections of their own: handlers in C, and the functions of an app of httpuv, keep what they
//! know of a connection in the memory of their process. When such a worker ends, so do its connections.
//!
//! A connection may have a name, which its app has given to its client. A request with that name in its path is for the
//! worker that has the connection: nothing of what it asks for is anywhere else. Nor does it concern another app that
//! has taken over since: so a name keeps the app that its connection began with.
//!
//! A worker that is asked to take a connection counts as having it, so that of two that come at once each finds what
//! the other was given.

use crate::pool::Current;
use admission::ms;
use dispatch::Owner;
use exchange::now;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A worker may end just after it has taken a client, and before that is known here. Long enough for that, and not for
/// the system to use the number of a process again.
const MEMORY: f64 = 5.0;

/// How long a name is, in bytes. A shorter one could be guessed, or be a word of a path; of longer ones the app has no
/// use, and a path has few segments that have to be looked up.
const NAME: RangeInclusive<usize> = 16..=64;

/// See the module.
#[derive(Default)]
pub struct Homes {
    inner: Mutex<Inner>,
    /// how many names there are: most servers have none, and ask for none
    named: AtomicUsize,
    on_change: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct Inner {
    connections: HashMap<Owner, HashSet<u64>>,
    /// those that a worker was asked to take, until it has or will not
    expected: HashMap<u64, Owner>,
    /// the connections that have a name
    names: HashMap<Box<[u8]>, Named>,
    /// workers that have left, and when
    left: VecDeque<(Owner, u64)>,
}

struct Named {
    connection: u64,
    owner: Owner,
    /// of the app that its worker has: another's routes have other numbers
    generation: u32,
    /// that app; `None` if another had taken over before it had the name
    app: Option<Arc<Current>>,
}

impl Inner {
    fn named(&self, path: &str) -> Option<&Named> {
        let mut segments = path.split('/').filter(|segment| NAME.contains(&segment.len()));
        segments.find_map(|segment| self.names.get(segment.as_bytes()))
    }
}

impl Homes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // no code panics while holding this lock
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `act` called when the number of a worker's connections has changed. The first call counts.
    pub fn on_change(&self, act: Box<dyn Fn() + Send + Sync>) {
        let _ = self.on_change.set(act);
    }

    fn changed(&self) {
        if let Some(act) = self.on_change.get() {
            act();
        }
    }

    /// A worker is asked to take a connection, and no other is.
    pub fn expect(&self, owner: Owner, connection: u64) {
        self.inner().expected.insert(connection, owner);
        self.changed();
    }

    /// No worker is asked to take it any more.
    pub fn forget(&self, connection: u64) {
        let was_expected = self.inner().expected.remove(&connection).is_some();
        if was_expected {
            self.changed();
        }
    }

    /// A connection is that of a worker from now on. `false` when that has left.
    pub fn enter(&self, owner: Owner, connection: u64) -> bool {
        let mut inner = self.inner();
        inner.expected.remove(&connection);
        let since = now().saturating_sub(ms(MEMORY));
        inner.left.retain(|&(_, at)| at >= since);
        let is_there = inner.left.iter().all(|&(left, _)| left != owner);
        if is_there {
            inner.connections.entry(owner).or_default().insert(connection);
        }
        is_there
    }

    /// The connection of this worker has a name, unless that is none, or another's already.
    pub fn name(&self, owner: Owner, generation: u32, connection: u64, name: &[u8], app: Option<Arc<Current>>) {
        let mut inner = self.inner();
        let is_there = inner.connections.get(&owner).is_some_and(|connections| connections.contains(&connection));
        if is_there && NAME.contains(&name.len()) {
            inner.names.entry(name.into()).or_insert(Named { connection, owner, generation, app });
        }
        self.named.store(inner.names.len(), Relaxed);
    }

    /// The worker that a request for this path is for, if a segment of it is the name of a connection there.
    pub fn of_path(&self, path: &str, generation: u32) -> Option<Owner> {
        if self.named.load(Relaxed) == 0 {
            return None;
        }
        let inner = self.inner();
        let named = inner.named(path)?;
        (named.generation == generation).then_some(named.owner)
    }

    /// The app that a request for this path is for, if a segment of it is the name of a connection of it.
    pub fn app_of_path(&self, path: &str) -> Option<Arc<Current>> {
        if self.named.load(Relaxed) == 0 {
            return None;
        }
        self.inner().named(path)?.app.clone()
    }

    /// It has ended, which was named so.
    pub fn leave(&self, owner: Owner, connection: u64, name: &[u8]) {
        let mut inner = self.inner();
        if let Some(connections) = inner.connections.get_mut(&owner) {
            connections.remove(&connection);
            if connections.is_empty() {
                inner.connections.remove(&owner);
            }
        }
        if inner.names.get(name).is_some_and(|named| named.connection == connection) {
            inner.names.remove(name);
        }
        self.named.store(inner.names.len(), Relaxed);
        drop(inner);
        self.changed();
    }

    /// The worker ends: its connections.
    pub fn has_left(&self, owner: Owner) -> HashSet<u64> {
        let mut inner = self.inner();
        inner.left.push_back((owner, now()));
        inner.names.retain(|_, named| named.owner != owner);
        inner.expected.retain(|_, expecting| *expecting != owner);
        self.named.store(inner.names.len(), Relaxed);
        inner.connections.remove(&owner).unwrap_or_default()
    }

    /// How many connections it has, or was asked to take.
    pub fn count(&self, owner: Owner) -> usize {
        let inner = self.inner();
        let expected = inner.expected.values().filter(|expecting| **expecting == owner).count();
        inner.connections.get(&owner).map_or(0, HashSet::len) + expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_with_the_name_of_a_connection_are_for_its_worker() {
        let homes = Homes::default();
        let [one, two] = [Owner::Process(1), Owner::Process(2)];
        assert!(homes.enter(one, 10) && homes.enter(two, 20) && homes.enter(two, 21));
        let [first, second] = ["0123456789abcdef", "fedcba9876543210"];
        homes.name(one, 1, 10, first.as_bytes(), None);
        homes.name(two, 1, 20, second.as_bytes(), None);
        // neither a connection that is not there, nor a name that is short or taken
        homes.name(two, 1, 10, b"0123456789abcde0", None);
        homes.name(two, 1, 21, b"session", None);
        homes.name(two, 1, 21, first.as_bytes(), None);
        let owner = |path: &str| homes.of_path(path, 1);
        assert_eq!(owner("/session/0123456789abcdef/upload/1"), Some(one));
        assert_eq!(owner("/app/session/fedcba9876543210"), Some(two));
        assert_eq!(homes.of_path("/0123456789abcdef", 2), None, "another app");
        // of a name that another connection has
        homes.leave(two, 21, first.as_bytes());
        assert_eq!(["/session/x", "/", "", "/0123456789abcde0", "/x0123456789abcdef"].map(owner), [None; 5]);
        homes.leave(two, 20, second.as_bytes());
        assert_eq!([owner("/fedcba9876543210"), owner("/0123456789abcdef")], [None, Some(one)]);
        homes.has_left(one);
        assert_eq!((owner("/0123456789abcdef"), homes.named.load(Relaxed)), (None, 0));
    }

    #[test]
    fn connections_end_with_their_process_also_those_that_come_too_late() {
        let homes = Homes::default();
        let [one, two, three] = [Owner::Process(1), Owner::Process(2), Owner::Session(1)];
        assert!(homes.enter(one, 10) && homes.enter(one, 11) && homes.enter(two, 12));
        homes.leave(one, 10, b"");
        homes.leave(three, 10, b"");
        assert_eq!([one, two, three].map(|owner| homes.count(owner)), [1, 1, 0]);
        assert_eq!(homes.has_left(one), HashSet::from([11]));
        assert!(!homes.enter(one, 13) && homes.enter(two, 14) && homes.enter(three, 15));
        homes.leave(two, 12, b"");
        homes.leave(two, 14, b"");
        homes.leave(three, 15, b"");
        assert!(homes.inner().connections.is_empty());
    }

    #[test]
    fn a_connection_that_a_worker_was_asked_to_take_counts_until_it_is_there_or_is_not() {
        let homes = Homes::default();
        let changes = std::sync::Arc::new(AtomicUsize::new(0));
        let count = changes.clone();
        homes.on_change(Box::new(move || {
            count.fetch_add(1, Relaxed);
        }));
        let [one, two] = [1, 2].map(Owner::Process);
        let counts = || [one, two].map(|owner| homes.count(owner));
        homes.expect(one, 10);
        homes.expect(one, 11);
        homes.expect(two, 11);
        assert_eq!(counts(), [1, 1], "it is with two");
        assert!(homes.enter(one, 10));
        assert_eq!(counts(), [1, 1], "it counts twice");
        homes.forget(10);
        homes.forget(11);
        assert_eq!((counts(), changes.load(Relaxed)), ([1, 0], 4));
        homes.expect(two, 12);
        assert!(homes.has_left(two).is_empty(), "what it has not taken is closed");
        homes.leave(one, 10, b"");
        assert_eq!((counts(), changes.load(Relaxed)), ([0, 0], 6));
    }
}

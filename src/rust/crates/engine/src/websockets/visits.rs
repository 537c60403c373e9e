//! Sessions of visitors that are open, for whoever looks at the server: who has which worker, and for how long that one
//! has said nothing.

use super::WebSockets;
use dispatch::Owner;
use exchange::now;
use observe::SessionStatus;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Default)]
pub struct Visits(Mutex<Open>);

#[derive(Default)]
struct Open {
    /// by their connections
    all: BTreeMap<u64, Arc<Visit>>,
    /// how many each worker has
    by_owner: HashMap<Owner, usize>,
}

struct Visit {
    owner: Owner,
    client: String,
    since: u64,
    /// when its visitor has said something last
    heard: AtomicU64,
}

impl Visits {
    fn open(&self) -> MutexGuard<'_, Open> {
        // no code panics while holding this lock
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many this worker has.
    pub fn count(&self, owner: Owner) -> usize {
        self.open().by_owner.get(&owner).copied().unwrap_or(0)
    }

    fn begin(&self, connection: u64, visit: Arc<Visit>) {
        let mut open = self.open();
        *open.by_owner.entry(visit.owner).or_default() += 1;
        open.all.insert(connection, visit);
    }

    fn end(&self, connection: u64) {
        let mut open = self.open();
        let Some(visit) = open.all.remove(&connection) else { return };
        if let Entry::Occupied(mut count) = open.by_owner.entry(visit.owner) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Each of them, with the process of its worker; `None` for the session that serves.
    pub fn list(&self) -> Vec<(Option<i32>, SessionStatus)> {
        let seconds = |since: u64| now().saturating_sub(since) as f64 / 1e3;
        let session = |visit: &Arc<Visit>| {
            let pid = match visit.owner {
                Owner::Process(pid) => Some(pid),
                Owner::Session(_) => None,
            };
            let (client, heard) = (visit.client.clone(), visit.heard.load(Relaxed));
            (pid, SessionStatus { client, age: seconds(visit.since), idle: seconds(heard) })
        };
        self.open().all.values().map(session).collect()
    }
}

/// That a session is open, until dropped.
pub struct Visiting {
    websockets: Arc<WebSockets>,
    connection: u64,
    visit: Arc<Visit>,
}

impl Visiting {
    /// On this connection, of this worker.
    pub fn new(websockets: Arc<WebSockets>, connection: u64, owner: Owner, client: String) -> Self {
        let visit = Arc::new(Visit { owner, client, since: now(), heard: AtomicU64::new(now()) });
        websockets.visits.begin(connection, visit.clone());
        Visiting { websockets, connection, visit }
    }

    /// Its visitor says something.
    pub fn hears(&self) {
        self.visit.heard.store(now(), Relaxed);
    }
}

impl Drop for Visiting {
    fn drop(&mut self) {
        self.websockets.visits.end(self.connection);
    }
}

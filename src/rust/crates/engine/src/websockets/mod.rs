//! WebSockets, between `httpd`, which has their frames, and R, which has their handlers. Each thing that happens on one
//! (a client wants to connect, a message, a close) is a request of its own kind for the workers, one at a time for each
//! connection: so they stay in order whichever worker has them, and a connection belongs to none.
//!
//! Handlers in C are called here, on the thread of the connection, when they run in this process. In worker processes
//! they have connections of their own, and so have apps of httpuv in R: what happens on one goes to the worker that
//! took it.
//!
//! `route` is what the app says of them; `opening` the way from the handshake to an open connection; `entered` what
//! every open connection has; `of_worker` one whose events go to workers, by `event`; `native` one whose events are
//! dealt with here; `homes` which worker has which, `visits` which of these are sessions of visitors; `commands` what
//! handlers want sent, and to whom.

mod commands;
mod entered;
mod event;
mod homes;
mod native;
mod of_worker;
mod opening;
mod route;
mod visits;

pub use event::Whose;
pub use opening::{begin, Begun, Opening};
pub use route::{WebSocketRoute, WebSocketRoutes};

use homes::Homes;
use observe::SessionStatus;
use rooms::Local;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use visits::Visits;

/// All WebSockets of a server.
#[derive(Default)]
pub struct WebSockets {
    store: Local,
    homes: Homes,
    visits: Visits,
    /// open ones, by the patterns of their routes: they outlive the app that routed them
    open: Mutex<HashMap<Arc<str>, Arc<AtomicUsize>>>,
    /// connections that have ended, and whose handlers have still to hear of that, or of what came before
    leaving: Arc<AtomicUsize>,
}

impl WebSockets {
    /// Counts one more of a route. `None` when there are `most` already; 0 for no limit.
    fn place(&self, pattern: &Arc<str>, most: usize) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.entry(pattern.clone()).or_default().clone();
        let one_more = |n| (most == 0 || n < most).then_some(n + 1);
        open.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        Some(Place(open))
    }

    /// Sessions of visitors, with the process that has each; `None` for the session that serves.
    pub(crate) fn sessions(&self) -> Vec<(Option<i32>, SessionStatus)> {
        self.visits.list()
    }

    /// Whether the handlers of all that have ended have heard of it.
    pub(crate) fn are_left(&self) -> bool {
        self.leaving.load(Relaxed) == 0
    }

    /// Counts one more that leaves.
    fn one_leaves(&self) -> Place {
        self.leaving.fetch_add(1, Relaxed);
        Place(self.leaving.clone())
    }
}

/// A WebSocket that counts, until dropped.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

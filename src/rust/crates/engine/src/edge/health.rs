//! `/livez` and `/readyz`, for balancers and orchestrators: whether the server runs, and whether more requests should
//! come to it.
//!
//! Not for what workers do: that is `dr_status()`. Clients of the app get them if `health` is set, as the paths may be
//! the app's own. Neighbour: `pipeline/internal`, which has the paths.

use crate::pool::Pool;
use crate::respond::text;
use http::StatusCode;
use httpd::Response;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const FULL: &str = "the queue is full";

/// See the module.
pub struct Health {
    /// whether clients of the app get them
    enabled: bool,
    /// set once, when the server is told to end
    leaving: AtomicBool,
    max_queue: usize,
    /// of the app; of all where they are behind one address
    pools: Vec<Pool>,
}

impl Health {
    pub fn new(enabled: bool, max_queue: usize, pools: Vec<Pool>) -> Self {
        Health { enabled, leaving: AtomicBool::new(false), max_queue, pools }
    }

    /// The server is about to end: balancers should send nothing more.
    pub fn leave(&self) {
        self.leaving.store(true, Relaxed);
    }

    /// Most requests that may wait for workers.
    pub fn max_queue(&self) -> usize {
        self.max_queue
    }

    /// Whether clients of the app may ask, too.
    pub fn is_public(&self) -> bool {
        self.enabled
    }

    /// It runs.
    pub fn live(&self) -> Response {
        text(StatusCode::OK, "ok\n")
    }

    /// Whether more requests should come.
    pub fn ready(&self) -> Response {
        match self.unready() {
            None => text(StatusCode::OK, "ok\n"),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        }
    }

    /// How much more should come, as a line of HAProxy's agent-check: the part of the queue that is free. `up` and
    /// `ready` take back what an earlier line has said.
    pub fn capacity(&self) -> String {
        if self.leaving.load(Relaxed) {
            return "up drain # the server is ending\n".to_owned();
        }
        if self.unready().is_some_and(|why| why != FULL) {
            return "down # no worker is ready\n".to_owned();
        }
        // 0 would take the server out, and the balancer would not see when it has room again
        let waiting = self.pools.iter().map(|pool| pool.waiting()).max().unwrap_or(0);
        let free = self.max_queue.saturating_sub(waiting) * 100 / self.max_queue.max(1);
        format!("up ready {}%\n", free.max(1))
    }

    /// Why no more requests should come. Of several apps, one that can do with more is reason enough for them to come.
    fn unready(&self) -> Option<&'static str> {
        if self.leaving.load(Relaxed) {
            return Some("the server is ending");
        }
        let mut problems = self.pools.iter().map(|pool| self.problem(pool));
        let first = problems.next().flatten()?;
        problems.all(|problem| problem.is_some()).then_some(first)
    }

    /// Why no more requests should come for one app.
    fn problem(&self, pool: &Pool) -> Option<&'static str> {
        let presence = pool.presence();
        if presence.problem().is_some() {
            presence.problem()
        } else if pool.ready() == 0 && !presence.is_asleep() {
            Some("no worker is ready")
        } else if pool.waiting() >= self.max_queue {
            Some(FULL)
        } else {
            None
        }
    }
}

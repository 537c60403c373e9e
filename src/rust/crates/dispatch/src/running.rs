//! What is told of a request whose handler runs in a worker. Neighbour: `report`, which finds them.

use std::time::Duration;

/// A request whose handler runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// the worker's process; `None` for the session
    pub pid: Option<i32>,
    /// names the request in the log
    pub request: u64,
    /// of the app that routed it
    pub generation: u32,
    /// the route's target
    pub route: u32,
    /// method and path, as the client sent them; `None` when it has left
    pub asked: Option<(String, String)>,
    /// since it began, or, of a C handler, since it came
    pub took: Duration,
}

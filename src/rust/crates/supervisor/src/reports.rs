//! What the supervisor says: to the log, to metrics, on the board, and to its owner.

use crate::board::{Board, Note};
use crate::outlet::Outlet;
use crate::Event;
use engine::{Level, Log, Metrics, Restart, Server};
use std::sync::Arc;

/// Where it says it.
pub struct Reports {
    log: Log,
    metrics: Option<Arc<Metrics>>,
    board: Arc<Board>,
    outlet: Outlet,
    /// events that are told when the board has been written
    unsent: Vec<Event>,
}

impl Reports {
    /// With the log and the metrics of this server.
    pub fn new(server: &Server, board: Arc<Board>, outlet: Outlet) -> Self {
        Reports { log: server.log().clone(), metrics: server.metrics(), board, outlet, unsent: Vec::new() }
    }

    /// A line of the log.
    pub fn info(&self, text: &str) {
        self.log.line(Level::Info, text);
    }

    /// A line of the log about what went wrong.
    pub fn error(&self, text: &str) {
        self.log.line(Level::Error, text);
    }

    /// A line that a worker has for the log.
    pub fn of_worker(&self, level: Level, pid: Option<i32>, text: &str) {
        self.log.of_worker(level, pid, text);
    }

    /// A worker has been replaced, or is to be.
    pub fn count_restart(&self, why: Restart) {
        if let Some(metrics) = &self.metrics {
            metrics.workers.restarts(why);
        }
    }

    /// R has collected garbage in a worker so often, which took so long.
    pub fn count_collections(&self, n: u32, micros: u32) {
        if let Some(metrics) = &self.metrics {
            metrics.workers.collected(n, micros);
        }
    }

    /// Tells the owner, once the board has been written: there it finds what the event is about.
    pub fn notify(&mut self, event: Event) {
        self.unsent.push(event);
    }

    /// Writes the names of pools on the board.
    pub fn set_pools(&self, names: Vec<String>) {
        self.board.set_pools(names);
    }

    /// Writes the board, and tells what there is to tell.
    pub fn publish(&mut self, workers: Vec<Note>) {
        self.board.write(workers);
        self.unsent.drain(..).for_each(|event| self.outlet.send(event));
    }

    /// Tells the last event.
    pub fn end(self, last: Event) {
        self.outlet.send(last);
    }
}

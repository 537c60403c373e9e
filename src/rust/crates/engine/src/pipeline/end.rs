//! Phase 6: how a request ended. Reached once by each, whether its client took the response, left, or sent what was
//! refused.
//!
//! Runs: the access log.

use crate::context::Context;
use crate::edge::access_log::{AccessLog, Entry};
use httpd::{Connection, End, Failure, Head};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// What is measured of a request because somebody wants to know.
pub struct Watch {
    log: Arc<AccessLog>,
    at: SystemTime,
    began: Instant,
    /// microseconds that the handler took, if a worker has said so; an atomic only because the runtime asks for `Send`
    ran: AtomicU32,
}

impl Watch {
    /// A request has begun. `None` when nobody wants to know.
    pub fn begin(context: &Context) -> Option<Self> {
        let log = context.access_log.as_ref()?.clone();
        Some(Watch { log, at: SystemTime::now(), began: Instant::now(), ran: AtomicU32::new(0) })
    }

    /// Its handler took so many microseconds.
    pub fn ran(&self, micros: u32) {
        self.ran.store(micros, Relaxed);
    }
}

/// A request whose response is on its way.
pub struct Ending {
    watch: Watch,
    id: u64,
    head: Head,
    connection: Arc<Connection>,
    status: u16,
    reason: String,
    answered: Instant,
}

impl Ending {
    pub fn new(watch: Watch, id: u64, head: Head, connection: Arc<Connection>, status: u16, reason: String) -> Self {
        Ending { watch, id, head, connection, status, reason, answered: Instant::now() }
    }
}

impl End for Ending {
    fn end(self: Box<Self>, bytes: u64, whole: bool) {
        let Watch { log, at, began, ran } = &self.watch;
        let until_answer = self.answered.duration_since(*began);
        log.write(&Entry {
            id: self.id,
            at: *at,
            remote_addr: &self.connection.remote_addr,
            head: Some(&self.head),
            status: self.status,
            bytes,
            whole,
            until_answer,
            handler: Duration::from_micros(ran.load(Relaxed).into()).min(until_answer),
            write: self.answered.elapsed(),
            reason: &self.reason,
        });
    }
}

/// Bytes that no request could be made of were refused.
pub fn refused(connection: &Connection, id: u64, failure: &Failure, context: &Context) {
    let Some(log) = &context.access_log else { return };
    log.write(&Entry {
        id,
        at: SystemTime::now(),
        remote_addr: &connection.remote_addr,
        head: None,
        status: failure.status.as_u16(),
        bytes: 0,
        whole: true,
        until_answer: Duration::ZERO,
        handler: Duration::ZERO,
        write: Duration::ZERO,
        reason: &failure.detail,
    });
}

//! Phase 8: how a request ended. Reached once by each, whether its client took the response, left, or sent what was
//! refused.
//!
//! Runs: metrics · traces · the access log.

use crate::context::Context;
use crate::edge::access_log::{AccessLog, Entry};
use crate::edge::traces::{Span, Traces};
use exchange::Trace;
use http::header::USER_AGENT;
use httpd::{Connection, End, Failure, Forwarded, Head, Version};
use observe::metrics::{count, Counted, Phases, Refusal, Route};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The handler's time is not known.
const UNSAID: u32 = u32::MAX;
/// Status in the access log for a client that left before there was an answer, as in nginx: not an HTTP status, as no
/// client gets it.
const CLIENT_LEFT: u16 = 499;

/// What is measured of a request for the log, traces and metrics. Atomics only because the runtime asks for `Send`.
pub struct Watch {
    log: Option<Arc<AccessLog>>,
    traces: Option<Arc<Traces>>,
    /// whether it is counted
    counts: bool,
    began: Instant,
    /// microseconds that the handler took, or [`UNSAID`]
    ran: AtomicU32,
    /// what it is counted for, as a number
    route: AtomicU16,
    /// its response comes piece by piece
    streams: AtomicBool,
}

impl Watch {
    /// A request has begun. `None` when the log, traces and metrics are all off.
    pub fn begin(context: &Context) -> Option<Self> {
        let counts = context.metrics.is_some();
        if !counts && context.access_log.is_none() && context.traces.is_none() {
            return None;
        }
        count(|cells| cells.begun.add(1));
        Some(Watch {
            log: context.access_log.clone(),
            traces: context.traces.clone(),
            counts,
            began: Instant::now(),
            ran: AtomicU32::new(UNSAID),
            route: AtomicU16::new(Route::NONE.number()),
            streams: AtomicBool::new(false),
        })
    }

    /// Notes how long its handler took, in microseconds.
    pub fn ran(&self, micros: u32) {
        self.ran.store(micros.min(UNSAID - 1), Relaxed);
    }

    /// It is counted for this route.
    pub fn goes_to(&self, route: Route) {
        self.route.store(route.number(), Relaxed);
    }

    /// Its response comes piece by piece.
    pub fn streams(&self) {
        self.streams.store(true, Relaxed);
        count(|cells| cells.streams.add(1));
    }

    fn handler(&self) -> Option<Duration> {
        let micros = self.ran.load(Relaxed);
        (micros != UNSAID).then(|| Duration::from_micros(micros.into()))
    }
}

/// What a request was answered.
pub struct Answered {
    /// `None` when its client left before
    pub status: Option<u16>,
    /// why there was no other answer; empty when that needs no reason
    pub reason: String,
    /// its connection is a WebSocket from now on
    pub is_websocket: bool,
}

impl Answered {
    /// Its client left before.
    pub fn not() -> Self {
        Answered { status: None, reason: "the client left".to_owned(), is_websocket: false }
    }
}

/// A request whose response is on its way.
pub struct Ending {
    watch: Watch,
    id: u64,
    head: Head,
    from: (Arc<Connection>, Option<Arc<Forwarded>>),
    answered: Answered,
    at: Instant,
}

impl Ending {
    pub fn new(
        watch: Watch,
        id: u64,
        head: Head,
        from: (Arc<Connection>, Option<Arc<Forwarded>>),
        answered: Answered,
    ) -> Self {
        count(|cells| cells.websockets.add(u64::from(answered.is_websocket)));
        Ending { watch, id, head, from, answered, at: Instant::now() }
    }

    fn count(&self, whole: bool, phases: Phases) {
        let route = Route::of_number(self.watch.route.load(Relaxed));
        let Answered { status, is_websocket, .. } = self.answered;
        let phases = (!is_websocket).then_some(phases);
        count(|cells| {
            cells.request(&Counted { route, method: self.head.method.as_str(), status, whole, phases });
            cells.ended.add(1);
            cells.ended_websockets.add(u64::from(is_websocket));
            cells.ended_streams.add(u64::from(self.watch.streams.load(Relaxed)));
        });
    }
}

/// What a client calls itself, as text.
fn agent(head: &Head) -> Option<String> {
    head.fields.get(&USER_AGENT).map(|agent| String::from_utf8_lossy(agent).into_owned())
}

impl Ending {
    /// Leaves a span, if its trace is recorded.
    fn trace(&self, traces: &Traces, whole: bool, phases: Phases) {
        let trace = Trace::new(self.id, self.head.trace_parent());
        if !trace.is_sampled() {
            return;
        }
        let (connection, forwarded) = (&self.from.0, self.from.1.as_ref());
        let now = SystemTime::now();
        let route = Route::of_number(self.watch.route.load(Relaxed));
        traces.add(Span {
            trace,
            method: self.head.method.as_str().to_owned(),
            route: traces.routes.pattern(route),
            path: self.head.whole_path().concat(),
            https: forwarded.and_then(|forwarded| forwarded.https).unwrap_or_else(|| connection.tls().is_some()),
            version: if self.head.version == Version::Http2 { "2" } else { "1.1" },
            client: Forwarded::client_of(forwarded, connection).address.to_string(),
            agent: agent(&self.head),
            status: self.answered.status,
            whole,
            began: now.checked_sub(phases.until_answer + phases.write).unwrap_or(now),
            until_answer: phases.until_answer,
            handler: phases.handler,
            write: phases.write,
        });
    }
}

impl End for Ending {
    fn end(self: Box<Self>, bytes: u64, whole: bool) {
        let until_answer = self.at.duration_since(self.watch.began);
        let handler = self.watch.handler().map(|handler| handler.min(until_answer));
        let phases = Phases { until_answer, handler, write: self.at.elapsed() };
        if self.watch.counts {
            self.count(whole, phases);
        }
        if let Some(traces) = &self.watch.traces {
            self.trace(traces, whole, phases);
        }
        let Some(log) = &self.watch.log else { return };
        let now = log.now();
        log.write(&Entry {
            id: self.id,
            at: now.checked_sub(until_answer + phases.write).unwrap_or(now),
            remote_addr: &Forwarded::client_of(self.from.1.as_ref(), &self.from.0).address,
            head: Some(&self.head),
            given_id: self.from.1.as_ref().and_then(|forwarded| forwarded.request_id.as_deref()),
            status: self.answered.status.unwrap_or(CLIENT_LEFT),
            bytes,
            whole,
            until_answer,
            handler: handler.unwrap_or_default(),
            write: phases.write,
            reason: &self.answered.reason,
        });
    }
}

/// A request is refused: counted, unless its handler has done so, or has failed.
pub fn refuses(failure: &Failure) {
    let status = failure.status.as_u16();
    if !failure.of_handler && status >= 400 && status != 500 {
        count(|cells| cells.refused(failure.counts_as.unwrap_or(Refusal::of_status(status))));
    }
}

/// Bytes that no request could be made of were refused.
pub fn refused(connection: &Connection, id: u64, failure: &Failure, context: &Context) {
    let status = failure.status.as_u16();
    if context.metrics.is_some() {
        refuses(failure);
        let request = Counted { route: Route::INVALID, method: "", status: Some(status), whole: true, phases: None };
        count(|cells| cells.request(&request));
    }
    let Some(log) = &context.access_log else { return };
    log.write(&Entry {
        id,
        at: log.now(),
        remote_addr: connection.remote_addr(),
        head: None,
        given_id: None,
        status,
        bytes: 0,
        whole: true,
        until_answer: Duration::ZERO,
        handler: Duration::ZERO,
        write: Duration::ZERO,
        reason: &failure.for_log(),
    });
}

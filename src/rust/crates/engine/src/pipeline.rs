//! The one file that knows the order: what happens to a request between its header section and its response.
//!
//! checks of the header section -> router -> static files -> 404 / 405 / OPTIONS -> body, within its limits -> C handler of this process, or
//! queue -> worker -> response.
//! What ends before the queue never meets R.

use crate::app::{App, Target};
use crate::config::Runs;
use crate::context::Context;
use crate::dispatch::{Errand, Outcome, Ticket};
use crate::natives::{gave, pending, Natives, Outcome as Settled, Pending, Place};
use crate::respond::{failure, from_answer, from_asset, from_head, from_reply, from_stream, Replied};
use crate::view::View;
use ::http::header::ALLOW;
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use admission::Late;
use bytes::Bytes;
use exchange::now;
use exchange::{Answer, RequestView as _};
use httpd::Head;
use httpd::{
    check_fields, may_have_content, receive, watch_closely, Answering, Body, Connection, Failure, Incoming,
    OpenRequest, Received, Response,
};
use observe::Level;
use router::{Match, MethodSet, Params, PathError};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// The route of requests that no route takes, when the app has a handler for them.
pub const NOT_FOUND_ROUTE: u32 = u32::MAX;

/// Answers a request. What needs not to wait is done when this returns, and costs no task's state.
pub fn handle(head: Head, mut body: Incoming, connection: Arc<Connection>, context: &Arc<Context>) -> Answering {
    let open = OpenRequest::new(connection);
    let id = open.connection().server().next_id();
    let exchange = Exchange { id, head, connection: open.connection(), context };
    let waiting = match exchange.at_once(&body) {
        Some(Step::Answer(answer)) => {
            let response = exchange.finish(answer);
            return Answering::Now(Some(keep_open(response, body, open)));
        }
        Some(Step::Wait(waiting)) => Some(waiting),
        None => None,
    };
    let Exchange { head, .. } = exchange;
    let context = context.clone();
    Answering::Later(Box::pin(async move {
        let exchange = Exchange { id, head, connection: open.connection(), context: &context };
        let answer = match waiting {
            Some(waiting) => exchange.wait(waiting).await,
            None => None,
        };
        let answer = match answer {
            Some(answer) => answer,
            // in a box of its own: the one around it, which most requests need, stays of a size that costs little to allocate
            None => Box::pin(exchange.answer(&mut body)).await,
        };
        let response = exchange.finish(answer);
        keep_open(response, body, open)
    }))
}

/// The request ends when its body has been handed over, not when its head is.
fn keep_open(response: Response, body: Incoming, open: OpenRequest) -> Response {
    // and an HTTP/2 body that was not read is given up only then, as before it the client might never see the answer
    let unread = body.into_unread();
    Response { body: response.body.keeping(open, unread), ..response }
}

/// What the body's length would have been, without the body.
fn without_body(response: &mut Response) {
    let body = std::mem::replace(&mut response.body, Body::empty());
    if let Some(len) = body.len().filter(|len| *len > 0) {
        response.fields.length = Some(len);
    }
}

struct Exchange<'a> {
    id: u64,
    head: Head,
    connection: &'a Connection,
    context: &'a Context,
}

impl Exchange<'_> {
    /// How far it gets without waiting for anything. `None` when its body is to be received first.
    fn at_once(&self, body: &Incoming) -> Option<Step> {
        let head = &self.head;
        if let Err(failure) = check_fields(head, &self.connection.server().limits) {
            return Some(Step::Answer(Err(failure)));
        }
        let path = head.path();
        if path == "*" {
            return Some(Step::Answer(server_wide(&head.method)));
        }
        let app = self.context.app();
        let mut params = Params::new();
        if matches!(head.method, Method::CONNECT | Method::TRACE) {
            let refused = refused_method(&app, path, &mut params);
            // what comes behind CONNECT may be meant for who is at the other end of the tunnel
            return Some(Step::Answer(Err(Failure { close: head.method == Method::CONNECT, ..refused })));
        }
        Some(match self.route(&app, path, &mut params) {
            Ok(Routed::To(route)) => self.hand_over(&app, route, path, &params, body.here()?),
            Ok(Routed::Answer(response)) => Step::Answer(Ok(response)),
            Err(failure) => Step::Answer(Err(failure)),
        })
    }

    fn view<'v, 'p>(&'v self, route: u32, path: &'v str, params: &'v Params<'p>, body: &'v Received) -> View<'v, 'p> {
        View { id: self.id, route, head: &self.head, connection: self.connection, path, params, body }
    }

    /// What every response has in common.
    fn finish(&self, answer: Result<Response, Failure>) -> Response {
        let answer = answer.and_then(|response| self.with_place(response));
        let mut response = answer.unwrap_or_else(|failure| self.fail(&failure));
        if !may_have_content(response.status) {
            response.body = Body::empty();
        }
        if self.head.method == Method::HEAD {
            without_body(&mut response);
        }
        response
    }

    /// Its open file, if there is one, takes a place among all that the server may have.
    fn with_place(&self, mut response: Response) -> Result<Response, Failure> {
        if response.body.is_file() && self.head.method != Method::HEAD {
            let place = self.connection.server().budget.file();
            let none = || Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many files are being sent");
            response.body.occupy(place.ok_or_else(none)?);
        }
        Ok(response)
    }

    /// The answer to a request that has a body, or that another generation of the app is to answer after all.
    async fn answer(&self, body: &mut Incoming) -> Result<Response, Failure> {
        let path = self.head.path();
        let mut received = None;
        loop {
            let app = self.context.app();
            let mut params = Params::new();
            let route = match self.route(&app, path, &mut params)? {
                Routed::To(route) => route,
                Routed::Answer(response) => return Ok(response),
            };
            if received.is_none() {
                received = Some(receive(body, self.connection).await?);
            }
            let Some(received) = &received else { continue };
            let waiting = match self.hand_over(&app, route, path, &params, received) {
                Step::Answer(answer) => return answer,
                Step::Wait(waiting) => waiting,
            };
            if let Some(answer) = self.wait(waiting).await {
                return answer;
            }
        }
    }

    /// Has the handler of the route answer: a C handler of this process, now or later, or a worker.
    fn hand_over(&self, app: &App, route: u32, path: &str, params: &Params<'_>, received: &Received) -> Step {
        let decoded = match router::decode(path) {
            Ok(decoded) => decoded,
            Err(e) => return Step::Answer(Err(bad_path(e))),
        };
        let view = self.view(route, &decoded, params, received);
        let target = app.target(route);
        match (target.runs, &app.natives) {
            (Runs::Inline, Some(natives)) => self.call(natives, target, &view),
            (Runs::Pool, Some(natives)) => self.submit(app, natives, target, &view),
            _ => self.ask_worker(app, target, &view),
        }
    }

    /// What came of it; `None` when the app that routed the request is not served any more.
    async fn wait(&self, waiting: Waiting) -> Option<Result<Response, Failure>> {
        let outcome = match waiting {
            Waiting::Native(pending, _place) => return Some(self.settled(pending.outcome().await)),
            Waiting::Worker(ticket) => ticket.await,
        };
        Some(match outcome {
            Outcome::Reply(message, spooled) => self.respond(message, spooled),
            Outcome::Stream(head, reader) => self.replied(from_head(&head, reader)),
            Outcome::Late(late) => Err(too_late(late)),
            Outcome::Ending => Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending")),
            Outcome::WorkerDied => {
                Err(Failure::new(StatusCode::BAD_GATEWAY, "the worker ended before it had answered"))
            }
            Outcome::Stale => {
                // another generation of the app took over in the meantime, or has, and the dispatcher of this thread is still to hear of it
                tokio::task::yield_now().await;
                return None;
            }
        })
    }

    fn route<'p>(&self, app: &App, path: &'p str, params: &mut Params<'p>) -> Result<Routed, Failure> {
        let head = &self.head;
        match app.router.find(router::Method::from_name(head.method.as_str()), path, params) {
            Match::Found { target, .. } => Ok(Routed::To(target)),
            Match::BadPath(e) => Err(bad_path(e)),
            other => match app.mounts.respond(&head.method, path, &head.fields) {
                Some(Ok(asset)) => from_asset(asset).map(Routed::Answer),
                Some(Err(e)) => Err(self.internal(format!("a static file cannot be read: {e}"))),
                None => self.unrouted(app, other),
            },
        }
    }

    /// What no route takes: `OPTIONS` and 405 are answered here, and 404 unless the app has a handler for it.
    fn unrouted(&self, app: &App, found: Match) -> Result<Routed, Failure> {
        match found {
            Match::MethodNotAllowed(set) if self.head.method == Method::OPTIONS => Ok(Routed::Answer(options(set))),
            Match::MethodNotAllowed(set) => Err(not_allowed(set)),
            _ if app.has_not_found => Ok(Routed::To(NOT_FOUND_ROUTE)),
            _ => Err(Failure::new(StatusCode::NOT_FOUND, "")),
        }
    }

    /// Calls a C handler here and now.
    fn call(&self, natives: &Natives, target: Target, view: &View<'_, '_>) -> Step {
        let mut later = None;
        let began = now();
        let answer = natives.handlers.run(target.handler, view, &mut || {
            let (pending, sink) = pending(None, target.timeout);
            later = Some(pending);
            sink
        });
        if let Some(took) = natives.blocked(began, now()) {
            let why = format!("an inline handler took {took} ms: all connections of its thread waited for it");
            self.log(Level::Warn, StatusCode::OK, &why);
        }
        match (answer, later) {
            (Some(answer), _) => Step::Answer(self.answered(answer)),
            (None, Some(pending)) => Step::Wait(Waiting::Native(pending, None)),
            (None, None) => Step::Answer(self.settled(Settled::Lost)),
        }
    }

    /// Has a thread of the pool call a C handler.
    fn submit(&self, app: &App, natives: &Natives, target: Target, view: &View<'_, '_>) -> Step {
        let Some(place) = natives.place() else { return Step::Answer(Err(self.queue_is_full())) };
        let mut message = natives.handlers.buffer();
        view.encode(&mut message);
        let (pending, sink) = pending(Some(app.queue_timeout), target.timeout);
        natives.handlers.submit(target.handler, message, Instant::now(), sink);
        gave(&natives.handlers);
        Step::Wait(Waiting::Native(pending, Some(place)))
    }

    /// Queues the request for a worker.
    fn ask_worker(&self, app: &App, target: Target, view: &View<'_, '_>) -> Step {
        let errand = Errand {
            generation: app.generation,
            route: view.route,
            runs: target.runs,
            timeout: target.timeout,
            ends_with_client: target.ends_with_client(&self.head.method),
        };
        match self.context.queue.submit(errand, |out| view.encode(out)) {
            Some(ticket) => {
                watch_closely();
                Step::Wait(Waiting::Worker(ticket))
            }
            None => Step::Answer(Err(self.queue_is_full())),
        }
    }

    fn settled(&self, outcome: Settled) -> Result<Response, Failure> {
        match outcome {
            Settled::Answer(answer) => self.answered(answer),
            Settled::Stream(head, reader) => from_stream(head, reader).map_err(|why| self.internal(why)),
            Settled::Lost => Err(self.internal("the C handler gave no answer".into())),
            Settled::Late(late) => Err(too_late(late)),
        }
    }

    fn answered(&self, answer: Answer) -> Result<Response, Failure> {
        match answer {
            Answer::Response(response) => {
                let response = from_answer(response.head, response.body).map_err(|why| self.internal(why))?;
                self.context.errors.note(&response);
                Ok(response)
            }
            Answer::Failure { status, detail, why } => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                if !why.is_empty() {
                    self.log(Level::Error, status, &why);
                }
                let detail = if self.context.debug && !why.is_empty() { why } else { detail };
                Err(Failure::new(status, detail))
            }
        }
    }

    fn respond(&self, message: Bytes, spooled: Option<OwnedFd>) -> Result<Response, Failure> {
        self.replied(from_reply(message, spooled, &self.head.method, &self.head.fields))
    }

    fn replied(&self, replied: Replied) -> Result<Response, Failure> {
        match replied {
            Replied::Response(response) => {
                self.context.errors.note(&response);
                Ok(response)
            }
            Replied::Failure(failure) => Err(failure),
            Replied::Wrong(why) => Err(self.internal(why)),
        }
    }

    fn queue_is_full(&self) -> Failure {
        let max_queue = self.connection.server().limits.max_queue;
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "request queue is full")
            .because(format_args!("over `max_queue` = {max_queue}"))
    }

    /// 500, with the reason in the log.
    fn internal(&self, why: String) -> Failure {
        self.log(Level::Error, StatusCode::INTERNAL_SERVER_ERROR, &why);
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, if self.context.debug { why } else { String::new() })
    }

    fn fail(&self, f: &Failure) -> Response {
        match f.status {
            // 404 and 405 are everyday; what a worker fails with, it has logged with its reason
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::INTERNAL_SERVER_ERROR => {}
            status if status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE => {
                self.connection.server().log.of_client(|| self.line(status, &f.for_log()));
            }
            status => self.log(Level::Warn, status, &f.for_log()),
        }
        failure(f, &self.context.errors, &self.head.fields, self.id)
    }

    fn log(&self, level: Level, status: StatusCode, text: &str) {
        self.connection.server().log.line(level, &self.line(status, text));
    }

    fn line(&self, status: StatusCode, text: &str) -> String {
        let (method, path) = (&self.head.method, self.head.path());
        format!("id={:016x} {} {method} {path} {} {text}", self.id, self.connection.remote_addr, status.as_u16())
    }
}

fn bad_path(e: PathError) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, e.to_string())
}

fn too_late(late: Late) -> Failure {
    match late {
        Late::Waiting(over) => {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "waited too long in the queue").because(over)
        }
        Late::Running(over) => Failure::new(StatusCode::GATEWAY_TIMEOUT, "the handler took too long").because(over),
    }
}

/// What came of a request so far.
enum Step {
    Answer(Result<Response, Failure>),
    /// others have it
    Wait(Waiting),
}

/// Who has it.
enum Waiting {
    /// a C handler of this process; one of the pool takes a place in its queue
    Native(Pending, Option<Place>),
    /// the queue, or a worker
    Worker(Ticket),
}

/// Where a request goes.
enum Routed {
    /// to the handler of this route
    To(u32),
    /// nowhere: this is the answer
    Answer(Response),
}

/// `OPTIONS *` asks about the server as a whole (RFC 9110 section 9.3.7); no other method has such a target.
fn server_wide(method: &Method) -> Result<Response, Failure> {
    match *method {
        Method::OPTIONS => Ok(options(MethodSet::ANY)),
        _ => Err(Failure::new(StatusCode::BAD_REQUEST, "the target * is for OPTIONS only")),
    }
}

/// `TRACE` shows a client's secrets to scripts, and `CONNECT` is for proxies: no route has them, not even one for any
/// method.
fn refused_method<'p>(app: &App, path: &'p str, params: &mut Params<'p>) -> Failure {
    match app.router.find(router::Method::Other, path, params) {
        Match::MethodNotAllowed(set) => not_allowed(set),
        _ => not_allowed(MethodSet::ANY),
    }
}

fn not_allowed(set: MethodSet) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "").with(ALLOW, allow(set))
}

fn allow(set: MethodSet) -> HeaderValue {
    HeaderValue::from_str(&set.to_string()).unwrap_or(HeaderValue::from_static(""))
}

fn options(set: MethodSet) -> Response {
    let headers = HeaderMap::from_iter([(ALLOW, allow(set))]);
    Response { status: StatusCode::NO_CONTENT, fields: headers.into(), body: Body::empty() }
}

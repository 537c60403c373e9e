//! The one file that knows the order: what happens to a request between the HTTP library and the response.
//!
//! checks of the header section -> router -> static files -> 404 / 405 / OPTIONS -> body, within its limits -> queue -> worker -> response.
//! What ends before the queue never meets R.

use crate::dispatch::{self, Outcome};
use crate::http::{check_fields, receive, sweep, Connection, OpenRequest, Received};
use crate::observe::Level;
use crate::respond::{add_nosniff, failure, from_asset, from_reply, Body, Failure, Replied, Response};
use crate::server::Context;
use ::http::header::{ALLOW, CONTENT_LENGTH, HOST};
use ::http::{HeaderValue, Method, Request, StatusCode, Version};
use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;
use router::{Match, MethodSet, Params};
use std::convert::Infallible;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use wire::{BodyRef, RequestHead, FLAG_HTTP2};

/// The route of requests that no route takes, when the app has a handler for them.
pub const NOT_FOUND_ROUTE: u32 = u32::MAX;

/// Answers a request.
pub async fn handle(
    request: Request<Incoming>,
    connection: Arc<Connection>,
    context: Arc<Context>,
) -> Result<Response, Infallible> {
    let open = OpenRequest::new(connection.clone());
    let (head, body) = request.into_parts();
    let exchange = Exchange { id: context.next_id(), head, connection: &connection, context: &context };
    let mut body = body;
    let mut response = match exchange.answer(&mut body).await {
        Ok(response) => response,
        Err(f) => exchange.fail(&f),
    };
    if exchange.head.method == Method::HEAD {
        without_body(&mut response);
    }
    // the request ends when its body has been handed over, not when its head is
    // and HTTP/2 gives up a body that was not read only then, as before it the client might never see the answer
    let unread = (exchange.head.version == Version::HTTP_2 && !body.is_end_stream()).then_some(body);
    Ok(response.map(|body| body.keeping(open, unread)))
}

/// What the body's length would have been, without the body.
fn without_body(response: &mut Response) {
    let len = response.body().len();
    if len > 0 {
        *response.body_mut() = Body::empty();
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(len));
    }
}

struct Exchange<'a> {
    id: u64,
    head: ::http::request::Parts,
    connection: &'a Arc<Connection>,
    context: &'a Arc<Context>,
}

impl Exchange<'_> {
    async fn answer(&self, body: &mut Incoming) -> Result<Response, Failure> {
        let head = &self.head;
        check_fields(head, &self.context.limits)?;
        let path = head.uri.path();
        if path == "*" {
            return server_wide(&head.method);
        }
        let mut params = Params::new();
        let method = router::Method::from_name(head.method.as_str());
        let route = match self.context.router.find(method, path, &mut params) {
            Match::Found { target, .. } => target,
            Match::BadPath(e) => return Err(Failure::new(StatusCode::BAD_REQUEST, e.to_string())),
            other => match self.context.mounts.respond(&head.method, path, &head.headers) {
                Some(Ok(asset)) => return from_asset(asset),
                Some(Err(e)) => return Err(self.internal(format!("a static file cannot be read: {e}"))),
                None => match self.unrouted(other) {
                    Unrouted::Handler => NOT_FOUND_ROUTE,
                    Unrouted::Answer(answer) => return answer,
                },
            },
        };
        let received = receive(body, self.connection, &self.context.limits, &self.context.upload_path).await?;
        self.ask_worker(route, path, &params, &received).await
    }

    /// What no route takes: `OPTIONS` and 405 are answered here, and 404 unless the app has a handler for it.
    fn unrouted(&self, found: Match) -> Unrouted {
        match found {
            Match::MethodNotAllowed(set) if self.head.method == Method::OPTIONS => Unrouted::Answer(Ok(options(set))),
            Match::MethodNotAllowed(set) => {
                Unrouted::Answer(Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "").with(ALLOW, allow(set))))
            }
            _ if self.context.has_not_found => Unrouted::Handler,
            _ => Unrouted::Answer(Err(Failure::new(StatusCode::NOT_FOUND, ""))),
        }
    }

    async fn ask_worker(
        &self,
        route: u32,
        path: &str,
        params: &Params<'_>,
        body: &Received,
    ) -> Result<Response, Failure> {
        let decoded = router::decode(path).map_err(|e| Failure::new(StatusCode::BAD_REQUEST, e.to_string()))?;
        let ticket = dispatch::submit(|out| self.encode(route, decoded.as_bytes(), params, body, out))
            .ok_or_else(|| Failure::new(StatusCode::SERVICE_UNAVAILABLE, "request queue is full"))?;
        sweep::hurry();
        match ticket.await {
            Outcome::Reply(message) => self.respond(message),
            Outcome::QueueTimeout => Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "waited too long in the queue")),
            Outcome::Timeout => Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, "the handler took too long")),
        }
    }

    fn encode(&self, route: u32, path: &[u8], params: &Params<'_>, body: &Received, out: &mut Vec<u8>) {
        let head = &self.head;
        let http2 = head.version == Version::HTTP_2;
        let message = RequestHead {
            id: self.id,
            route,
            flags: if http2 { FLAG_HTTP2 } else { 0 },
            remote_port: self.connection.remote_port,
            method: head.method.as_str().as_bytes(),
            target: head.uri.path_and_query().map_or("/", |t| t.as_str()).as_bytes(),
            path,
            remote_addr: self.connection.remote_addr.as_bytes(),
            body: match body {
                Received::Empty => BodyRef::Inline(&[]),
                Received::Memory(bytes) => BodyRef::Inline(bytes),
                Received::Spooled(file, len) => {
                    BodyRef::Spooled { path: file.path().as_os_str().as_bytes(), len: *len }
                }
            },
        };
        let params: smallvec::SmallVec<[&[u8]; 4]> = params.iter().map(|p| p.as_bytes()).collect();
        // an HTTP/2 request names its host as authority: handlers find it where HTTP/1.1 has it
        let authority = head.uri.authority().filter(|_| !head.headers.contains_key(HOST));
        let host = authority.map(|a| (&b"host"[..], a.as_str().as_bytes()));
        let fields = || {
            let fields = head.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
            host.into_iter().chain(fields)
        };
        message.encode(&params, fields, out);
    }

    fn respond(&self, message: Bytes) -> Result<Response, Failure> {
        match from_reply(message, &self.head.method, &self.head.headers) {
            Replied::Response(response) => Ok(response),
            Replied::Failure(failure) => Err(failure),
            Replied::Wrong(why) => Err(self.internal(why)),
        }
    }

    /// 500, with the reason in the log.
    fn internal(&self, why: String) -> Failure {
        self.log(Level::Error, StatusCode::INTERNAL_SERVER_ERROR, &why);
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, if self.context.debug { why } else { String::new() })
    }

    fn fail(&self, f: &Failure) -> Response {
        // 404 and 405 are everyday; what a worker fails with, it has logged with its reason
        let everyday = matches!(f.status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED);
        if !everyday && f.status != StatusCode::INTERNAL_SERVER_ERROR {
            self.log(Level::Warn, f.status, &f.detail);
        }
        failure(f, &self.head.headers, self.id)
    }

    fn log(&self, level: Level, status: StatusCode, text: &str) {
        let (method, path) = (&self.head.method, self.head.uri.path());
        let line =
            format!("id={:016x} {} {method} {path} {} {text}", self.id, self.connection.remote_addr, status.as_u16());
        self.context.log.line(level, &line);
    }
}

/// What becomes of a request that no route takes.
enum Unrouted {
    /// the app's handler for it answers
    Handler,
    /// the server does
    Answer(Result<Response, Failure>),
}

/// `OPTIONS *` asks about the server as a whole (RFC 9110 section 9.3.7); no other method has such a target.
fn server_wide(method: &Method) -> Result<Response, Failure> {
    match *method {
        Method::OPTIONS => Ok(options(MethodSet::ANY)),
        _ => Err(Failure::new(StatusCode::BAD_REQUEST, "the target * is for OPTIONS only")),
    }
}

fn allow(set: MethodSet) -> HeaderValue {
    HeaderValue::from_str(&set.to_string()).unwrap_or(HeaderValue::from_static(""))
}

fn options(set: MethodSet) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(ALLOW, allow(set));
    add_nosniff(response.headers_mut());
    response
}

//! From a handshake to an open WebSocket. If the app wants to be asked, the request goes to R like any other, through
//! the same middleware: a response of the handler refuses the client, and one of status 101 takes it. Handlers in C are
//! always asked.

use super::entered::{AtHome, Entered};
use super::event::{Identity, To, Whose};
use super::native::Here;
use super::of_worker::{Events, Open};
use super::route::WebSocketRoute;
use super::visits::Visiting;
use crate::context::Context;
use crate::respond::fields_of;
use crate::view::View;
use bytes::Bytes;
use dispatch::{Outcome, Owner, Runs, Submission, Ticket};
use exchange::{Answer, RequestView as _};
use http::header::TRANSFER_ENCODING;
use http::StatusCode;
use httpd::ws::{Accepted, Close, Handler, Handshake, Refusing};
use httpd::{watch_closely, Body, Failure, Received, Response, ResponseFields};
use std::future::{poll_fn, Future as _};
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::Poll;
use tokio::runtime::Handle;
use wire::websocket::{Event, What};
use wire::{BodyRef, Reply, ReplyBody, FLAG_WEBSOCKET};

/// Connections that have ended but whose handlers have not yet heard of it: with this many, no client gets a new one.
/// So clients that connect and leave faster than handlers hear of it do not pile up without limit.
const MOST_LEAVING: usize = 4096;
/// Of a reply: the client is taken.
const SWITCHING_PROTOCOLS: u16 = 101;

/// The response that makes a WebSocket of a connection; or what the handler did wrong.
type Made = Result<Response, String>;

/// How far a client came that wants a WebSocket.
pub enum Begun {
    /// it has one
    Open(Made),
    /// its handler, in C, has refused it
    Refused(Answer),
    /// R is asked, or C in a worker
    Asked(Box<Opening>),
    /// it has too much to do
    Full,
}

/// A client that waits for its handler's word. One that goes meanwhile is forgotten if its handler has not begun, and
/// heard to its end otherwise: its handler hears of the close if it has taken it.
pub struct Opening(Option<Waiting>);

struct Waiting {
    ticket: Ticket,
    handshake: Handshake,
    open: Box<Open>,
    route: Arc<WebSocketRoute>,
    to: To,
}

/// A client wants a WebSocket of this route, of this generation of the app; of the worker that is preferred, as long as
/// that is there.
///
/// # Errors
/// Why it gets none.
pub fn begin(
    view: &View<'_, '_>,
    from: Whose,
    route: &Arc<WebSocketRoute>,
    (generation, preferred): (u32, Option<Owner>),
    context: &Arc<Context>,
) -> Result<Begun, Failure> {
    let config = &route.config;
    let origins = config.origins.as_deref();
    let handshake = Handshake::read(view.head, view.https, &config.protocols, origins, config.deflate)?;
    // even an empty chunked one: a proxy in between may take what follows for the body
    if !matches!(view.body, Received::Empty) || view.head.fields.get(&TRANSFER_ENCODING).is_some() {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "the request for a WebSocket has a body").closing());
    }
    let websockets = &context.websockets;
    let place = websockets.place(&route.pattern, config.max_conns as usize);
    let Some(place) = place.filter(|_| websockets.leaving.load(Relaxed) < MOST_LEAVING) else {
        // a browser tells its page the code of a close, but not the status of a response
        let close = Close::new(Close::TRY_AGAIN_LATER, "server at capacity");
        return Ok(Begun::Open(accept(handshake, Box::new(Refusing(Some(close))), route, None)));
    };
    let entered = Entered::new(websockets.clone(), route.bounds.max_message);
    let connection = entered.connection();
    let protocol = handshake.protocol.clone().unwrap_or_default();
    let connect = Event { connection, state: &[], what: What::Connect(protocol.as_bytes()) };
    let identity = Identity {
        connection,
        path: view.path.to_owned(),
        params: view.params.iter().map(|value| value.to_string()).collect(),
        from: from.clone(),
    };
    if let (Runs::Inline, Some(natives)) = (route.runs, &context.app().natives) {
        if let Some(answer) = natives.handlers.event(route.asks, &connect, Some(view)) {
            return Ok(Begun::Refused(answer));
        }
        let here = Here::new(identity, entered, route.pattern.clone(), context.clone(), place);
        return Ok(Begun::Open(accept(handshake, Box::new(here), route, None)));
    }
    let open = Box::new(Open {
        identity,
        entered: Some(entered),
        home: None,
        visiting: None,
        pattern: route.pattern.clone(),
        state: Bytes::new(),
        context: context.clone(),
        place,
        events: Events::new(from.connection.server().budget.messages()),
    });
    if route.asks == 0 {
        return Ok(Begun::Open(accept(handshake, open, route, None)));
    }
    let to = To::any(route, generation);
    let mut event = Vec::new();
    connect.encode(&mut event);
    let submission = Submission { owner: preferred, ..to.submission(view.id(), connection, &from, true) };
    let ticket = context.queue.submit(submission, |out| view.encode_with(FLAG_WEBSOCKET, BodyRef::Inline(&event), out));
    let Some(ticket) = ticket else { return Ok(Begun::Full) };
    watch_closely();
    Ok(Begun::Asked(Box::new(Opening(Some(Waiting { ticket, handshake, open, route: route.clone(), to })))))
}

impl Opening {
    /// What its handler has said.
    ///
    /// # Errors
    /// What came instead of its consent: the same as for other requests.
    pub async fn outcome(mut self) -> Result<Made, Outcome> {
        let outcome = poll_fn(|cx| match &mut self.0 {
            Some(waiting) => Pin::new(&mut waiting.ticket).poll(cx),
            None => Poll::Pending,
        })
        .await;
        match self.0.take() {
            Some(waiting) => waiting.came(outcome),
            None => Err(outcome),
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let Some(mut waiting) = self.0.take() else { return };
        waiting.ticket.withdraw();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let outcome = (&mut waiting.ticket).await;
                // what becomes of it is dropped: its handler is told of the end
                let _ = waiting.came(outcome);
            });
        }
    }
}

impl Waiting {
    fn came(self, outcome: Outcome) -> Result<Made, Outcome> {
        let Waiting { handshake, mut open, route, to, .. } = self;
        let Outcome::Reply(message, file, pid) = outcome else { return Err(outcome) };
        let Some(said) = consent(&message) else { return Err(Outcome::Reply(message, file, pid)) };
        if route.is_kept() {
            let (owner, home) = home(&said, to, &open).ok_or(Outcome::WorkerDied(None))?;
            if route.config.is_session {
                let websockets = open.context.websockets.clone();
                let client = open.identity.from.client().address.to_string();
                open.visiting = Some(Visiting::new(websockets, open.identity.connection, owner, client));
            }
            open.home = Some((to.only(owner), home));
        } else {
            open.state = said;
        }
        Ok(accept(handshake, open, &route, Some(&message)))
    }
}

/// The worker that a connection belongs to: it says so itself. `None` when it has left.
fn home(said: &Bytes, to: To, open: &Open) -> Option<(Owner, AtHome)> {
    let (owner, name) = to.owner_of(said)?;
    let home = AtHome::new(&open.context, owner, to.generation(), open.identity.connection, name)?;
    Some((owner, home))
}

/// What the handler says of a client that it takes: the state of the connection.
fn consent(message: &Bytes) -> Option<Bytes> {
    let reply = Reply::decode(message).ok().filter(|reply| reply.status == SWITCHING_PROTOCOLS)?;
    match reply.body {
        ReplyBody::Bytes(state) => Some(Bytes::copy_from_slice(state)),
        _ => Some(Bytes::new()),
    }
}

/// The response that makes a WebSocket of the connection, with the header fields of the handler's reply.
fn accept(handshake: Handshake, handler: Box<dyn Handler>, route: &WebSocketRoute, reply: Option<&Bytes>) -> Made {
    let mut fields = match reply.and_then(|reply| Reply::decode(reply).ok()) {
        Some(reply) => fields_of(None, &reply)?,
        None => ResponseFields::of_handler(None, std::iter::empty)?,
    };
    for (name, value) in &handshake.fields() {
        fields.set(name, value);
    }
    let accepted = Accepted { handler, deflate: handshake.deflate, bounds: route.bounds };
    Ok(Response::new(handshake.status(), fields, Body::socket(accepted)))
}

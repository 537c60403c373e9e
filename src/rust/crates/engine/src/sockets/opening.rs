//! From a handshake to an open WebSocket. If the app wants to be asked, the request goes to R like any other, through
//! the same middleware: a response of the handler refuses the client, and one of status 101 takes it.

use super::channel::{Entered, Events, Open};
use super::event::Identity;
use super::route::SocketRoute;
use crate::context::Context;
use crate::view::View;
use bytes::Bytes;
use channels::Mailbox;
use dispatch::{Outcome, Runs, Submission, Ticket};
use exchange::RequestView as _;
use http::StatusCode;
use httpd::ws::{Accepted, Channel, Close, Handshake, Message, ToSend};
use httpd::{watch_closely, Body, Connection, Failure, Received, Response, ResponseFields};
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use wire::socket::{Event, What};
use wire::{BodyRef, Reply, ReplyBody, FLAG_SOCKET};

/// Most that may wait to be read by a client, in bytes.
const MAILBOX: usize = 1 << 20;
/// Of a reply: the client is taken.
const SWITCHING_PROTOCOLS: u16 = 101;

/// The response that makes a WebSocket of a connection; or what the handler did wrong.
type Made = Result<Response, String>;

/// How far a client came that wants a WebSocket.
pub enum Begun {
    /// it has one
    Open(Made),
    /// R is asked
    Asked(Box<Opening>),
    /// R has too much to do
    Full,
}

/// A client that waits for R's word.
pub struct Opening {
    ticket: Ticket,
    handshake: Handshake,
    open: Box<Open>,
    route: Arc<SocketRoute>,
}

/// A client wants a WebSocket of this route.
///
/// # Errors
/// Why it gets none.
pub fn begin(
    view: &View<'_, '_>,
    socket: &Arc<Connection>,
    route: &Arc<SocketRoute>,
    generation: u32,
    context: &Arc<Context>,
) -> Result<Begun, Failure> {
    let config = &route.config;
    let handshake = Handshake::read(view.head, &config.protocols, config.origins.as_deref(), config.deflate)?;
    if !matches!(view.body, Received::Empty) {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "the request for a WebSocket has a body").closing());
    }
    let sockets = &context.sockets;
    let Some(place) = sockets.place(&route.pattern, config.max_conns as usize) else {
        // a browser tells its page the code of a close, but not the status of a response
        let close = Close::new(Close::TRY_AGAIN_LATER, "server at capacity");
        return Ok(Begun::Open(accept(handshake, Box::new(Full(Some(close))), route, None)));
    };
    let mailbox = Arc::new(Mailbox::new(MAILBOX.max(2 * route.bounds.max_message)));
    let entered = Entered::new(sockets.clone(), mailbox.clone());
    let connection = entered.connection();
    let identity = Identity {
        connection,
        path: view.path.to_owned(),
        params: view.params.iter().map(|value| value.to_string()).collect(),
        socket: socket.clone(),
    };
    let open = Box::new(Open {
        identity,
        entered: Some(entered),
        mailbox,
        pattern: route.pattern.clone(),
        state: Bytes::new(),
        context: context.clone(),
        place,
        events: Events::new(socket.server().budget.messages()),
    });
    if !route.asks {
        return Ok(Begun::Open(accept(handshake, open, route, None)));
    }
    let submission = Submission {
        request: view.id(),
        from: Identity::origin(socket),
        generation,
        route: route.number,
        runs: Runs::R,
        timeout: route.timeout,
        ends_with_client: false,
        counts: true,
    };
    let mut event = Vec::new();
    let protocol = handshake.protocol.as_deref().unwrap_or_default();
    Event { connection, state: &[], what: What::Connect(protocol.as_bytes()) }.encode(&mut event);
    let ticket = context.queue.submit(submission, |out| view.encode_with(FLAG_SOCKET, BodyRef::Inline(&event), out));
    let Some(ticket) = ticket else { return Ok(Begun::Full) };
    watch_closely();
    Ok(Begun::Asked(Box::new(Opening { ticket, handshake, open, route: route.clone() })))
}

impl Opening {
    /// What R has said.
    ///
    /// # Errors
    /// What came instead of its consent: the same as for other requests.
    pub async fn outcome(self) -> Result<Made, Outcome> {
        let Opening { ticket, handshake, mut open, route } = self;
        match ticket.await {
            Outcome::Reply(message, file) => match consent(&message) {
                Some(state) => {
                    open.state = state;
                    Ok(accept(handshake, open, &route, Some(&message)))
                }
                None => Err(Outcome::Reply(message, file)),
            },
            other => Err(other),
        }
    }
}

/// The state of the connection, if the handler takes the client.
fn consent(message: &Bytes) -> Option<Bytes> {
    let reply = Reply::decode(message).ok().filter(|reply| reply.status == SWITCHING_PROTOCOLS)?;
    match reply.body {
        ReplyBody::Bytes(state) => Some(Bytes::copy_from_slice(state)),
        _ => Some(Bytes::new()),
    }
}

/// The response that makes a WebSocket of the connection, with the header fields of the handler's reply.
fn accept(handshake: Handshake, channel: Box<dyn Channel>, route: &SocketRoute, reply: Option<&Bytes>) -> Made {
    let reply = reply.and_then(|reply| Reply::decode(reply).ok());
    let given = || reply.iter().flat_map(Reply::headers);
    let mut fields = ResponseFields::of_handler(None, given)?;
    for (name, value) in &handshake.fields() {
        fields.set(name, value);
    }
    let accepted = Accepted { channel, deflate: handshake.deflate, bounds: route.bounds };
    Ok(Response::new(handshake.status(), fields, Body::socket(accepted)))
}

/// One too many: it is closed as soon as it is open.
struct Full(Option<Close>);

impl Channel for Full {
    fn poll_ready(&mut self, _: &mut Task<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn take(&mut self, _: Message) {}

    fn poll_next(&mut self, _: &mut Task<'_>) -> Poll<ToSend> {
        self.0.take().map_or(Poll::Pending, |close| Poll::Ready(ToSend::Close(close)))
    }

    fn poll_given_up(&mut self, _: &mut Task<'_>) -> Poll<Close> {
        Poll::Pending
    }

    fn end(self: Box<Self>, _: Close) {}
}

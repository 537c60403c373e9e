//! What has happened on a WebSocket, as a request for a worker.

use super::route::WebSocketRoute;
use crate::context::Context;
use dispatch::{Origin, Owner, Runs, Submission, Ticket};
use httpd::{watch_closely, Client, Connection, Forwarded};
use std::sync::Arc;
use wire::websocket::{Event, What};
use wire::{BodyRef, RequestHead, FLAG_WEBSOCKET};

/// Where the events of a connection go.
#[derive(Clone, Copy)]
pub struct To {
    /// its route, in this generation of the app
    route: u32,
    generation: u32,
    runs: Runs,
    timeout: u64,
    /// whether it belongs to one worker, and to which, once that is known
    is_kept: bool,
    owner: Option<Owner>,
}

impl To {
    /// To any worker of this generation.
    pub fn any(route: &WebSocketRoute, generation: u32) -> Self {
        let is_kept = route.is_kept();
        To { route: route.number, generation, runs: route.runs, timeout: route.timeout, is_kept, owner: None }
    }

    /// To this one only.
    pub fn only(self, owner: Owner) -> Self {
        To { owner: Some(owner), ..self }
    }

    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The worker that has answered, and the name of the connection, which is empty when it has none: a process gives
    /// its number, as it has to be known by it, and the name behind that, the session nothing.
    pub fn owner_of<'a>(&self, said: &'a [u8]) -> Option<(Owner, &'a [u8])> {
        if said.is_empty() {
            return Some((Owner::Session(self.generation), said));
        }
        let (number, name) = said.split_first_chunk()?;
        Some((Owner::Process(i32::from_le_bytes(*number)), name))
    }

    /// For the queue, of this connection. `answers`: it is a request, for whose answer the client waits.
    pub fn submission(self, request: u64, connection: u64, whose: &Whose, answers: bool) -> Submission {
        let To { route, generation, runs, timeout, is_kept, owner } = self;
        let from = Origin {
            client: whose.client().address.client(),
            connection: Arc::as_ptr(&whose.connection).addr() as u64,
        };
        Submission {
            request,
            from,
            generation,
            pool: 0,
            route,
            runs,
            timeout,
            times_handler: !answers,
            ends_with_client: false,
            takes_notices: false,
            // what is for one worker only waits there, and is refused when that has too much
            counts: owner.is_none(),
            peer: None,
            batch: None,
            opens: (is_kept && owner.is_none()).then_some(connection),
            owner,
        }
    }
}

/// Whose WebSocket it is, as every event says.
pub struct Identity {
    /// names it, see `rooms`
    pub connection: u64,
    /// of the request that it began with
    pub path: String,
    pub params: Vec<String>,
    pub from: Whose,
}

/// Whom it is from.
#[derive(Clone)]
pub struct Whose {
    /// what it runs on
    pub connection: Arc<Connection>,
    /// what a trusted proxy has said of the request
    pub forwarded: Option<Arc<Forwarded>>,
}

impl Whose {
    pub fn client(&self) -> &Client {
        Forwarded::client_of(self.forwarded.as_ref(), &self.connection)
    }
}

impl Identity {
    /// Hands an event to the workers. Gives its name in the log, too. `None` when the queue is full, or has ended.
    pub fn submit(&self, what: What<'_>, state: &[u8], to: To, context: &Context) -> Option<(u64, Ticket)> {
        let id = self.from.connection.server().next_id();
        let submission = to.submission(id, self.connection, &self.from, false);
        let mut body = Vec::new();
        Event { connection: self.connection, state, what }.encode(&mut body);
        let head = RequestHead {
            id,
            route: to.route,
            flags: FLAG_WEBSOCKET,
            remote_port: self.from.client().port,
            method: name(&what).as_bytes(),
            target: self.path.as_bytes(),
            path: self.path.as_bytes(),
            remote_addr: self.from.client().address.as_bytes(),
            body: BodyRef::Inline(&body),
            ..RequestHead::default()
        };
        let ticket = context.queue.submit(submission, |out| head.encode(&self.params, std::iter::empty, out))?;
        watch_closely();
        Some((id, ticket))
    }

    /// What the log says of an event.
    pub fn line(&self, id: u64, what: &What<'_>, text: &str) -> String {
        format!("id={id:016x} {} {} {} {text}", self.from.client().address, name(what), self.path)
    }
}

/// Where a request has its method.
fn name(what: &What<'_>) -> &'static str {
    match what {
        What::Connect(_) => "CONNECT",
        What::Text(_) | What::Binary(_) => "MESSAGE",
        What::Close { .. } => "CLOSE",
    }
}

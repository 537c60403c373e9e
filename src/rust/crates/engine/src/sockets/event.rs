//! What has happened on a WebSocket, as a request for a worker.

use super::route::SocketRoute;
use crate::context::Context;
use dispatch::{Origin, Runs, Submission, Ticket};
use httpd::{watch_closely, Connection};
use std::sync::Arc;
use wire::socket::{Event, What};
use wire::{BodyRef, RequestHead, FLAG_SOCKET};

/// Whose WebSocket it is, as every event says.
pub struct Identity {
    /// names it, see `channels`
    pub connection: u64,
    /// of the request that it began with
    pub path: String,
    pub params: Vec<String>,
    /// what it runs on
    pub socket: Arc<Connection>,
}

impl Identity {
    /// Who waits for a turn.
    pub fn origin(socket: &Arc<Connection>) -> Origin {
        Origin { client: socket.remote_addr.client(), connection: Arc::as_ptr(socket).addr() as u64 }
    }

    /// Hands an event to the workers. Gives its name in the log, too. `None` when the server is ending.
    pub fn submit(
        &self,
        what: What<'_>,
        state: &[u8],
        route: &SocketRoute,
        generation: u32,
        context: &Context,
    ) -> Option<(u64, Ticket)> {
        let id = self.socket.server().next_id();
        let submission = Submission {
            request: id,
            from: Identity::origin(&self.socket),
            generation,
            route: route.number,
            runs: Runs::R,
            timeout: route.timeout,
            ends_with_client: false,
            // one for each connection, of which `max_connections` says how many there may be
            counts: false,
        };
        let mut body = Vec::new();
        Event { connection: self.connection, state, what }.encode(&mut body);
        let head = RequestHead {
            id,
            route: route.number,
            flags: FLAG_SOCKET,
            remote_port: self.socket.remote_port,
            method: name(&what).as_bytes(),
            target: self.path.as_bytes(),
            path: self.path.as_bytes(),
            remote_addr: self.socket.remote_addr.as_bytes(),
            body: BodyRef::Inline(&body),
        };
        let ticket = context.queue.submit(submission, |out| head.encode(&self.params, std::iter::empty, out))?;
        watch_closely();
        Some((id, ticket))
    }

    /// What the log says of an event.
    pub fn line(&self, id: u64, what: &What<'_>, text: &str) -> String {
        format!("id={id:016x} {} {} {} {text}", self.socket.remote_addr, name(what), self.path)
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

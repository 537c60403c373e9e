//! What every open WebSocket has: a name in the store, by which handlers know it, and a mailbox, into which they send.

use super::WebSockets;
use crate::context::Context;
use dispatch::Owner;
use httpd::ws::{Close, ToSend};
use httpd::Connection;
use rooms::{Mailbox, Outgoing, Store as _};
use std::sync::Arc;
use std::task::{Context as Task, Poll};

/// Most that may wait to be read by a client, in bytes.
const MAILBOX: usize = 1 << 20;

/// See the module. It can be sent to until it is dropped.
pub struct Entered {
    websockets: Arc<WebSockets>,
    connection: u64,
    mailbox: Arc<Mailbox>,
}

impl Entered {
    /// One on which messages are so long at most.
    pub fn new(websockets: Arc<WebSockets>, max_message: usize) -> Self {
        let mailbox = Arc::new(Mailbox::new(MAILBOX.max(2 * max_message)));
        let connection = websockets.store.enter(mailbox.clone());
        Entered { websockets, connection, mailbox }
    }

    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// As [`httpd::ws::Handler::poll_next`].
    pub fn poll_next(&self, cx: &mut Task<'_>) -> Poll<ToSend> {
        self.mailbox.poll(cx).map(|next| match next {
            Outgoing::Message(packet) => ToSend::Message(packet),
            Outgoing::Close(code, reason) => ToSend::Close(Close::new(code, &reason)),
        })
    }

    /// As [`httpd::ws::Handler::poll_given_up`].
    pub fn poll_given_up(&self, socket: &Connection, cx: &mut Task<'_>) -> Poll<Close> {
        self.mailbox.poll_over(cx).map(|()| {
            let line = format!("{} WebSocket: too much waits to be read", socket.remote_addr());
            socket.server().log.of_client(|| line);
            Close::new(Close::TRY_AGAIN_LATER, "too much waits to be read")
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.websockets.store.leave(self.connection);
        // one that no worker has taken
        self.websockets.homes.forget(self.connection);
    }
}

/// That a connection is a worker's, until dropped.
pub struct AtHome {
    websockets: Arc<WebSockets>,
    owner: Owner,
    connection: u64,
    name: Box<[u8]>,
}

impl AtHome {
    /// One with this name, unless that is empty. `None` when that worker has left.
    pub fn new(context: &Context, owner: Owner, generation: u32, connection: u64, name: &[u8]) -> Option<Self> {
        let websockets = context.websockets.clone();
        let is_there = websockets.homes.enter(owner, connection);
        if !name.is_empty() {
            let app = Some(context.app()).filter(|app| app.generation == generation);
            websockets.homes.name(owner, generation, connection, name, app);
        }
        is_there.then_some(AtHome { websockets, owner, connection, name: name.into() })
    }
}

impl Drop for AtHome {
    fn drop(&mut self) {
        self.websockets.homes.leave(self.owner, self.connection, &self.name);
    }
}

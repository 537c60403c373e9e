//! What handlers want done with WebSockets and rooms. How workers say it: `commands.rs` of the engine.

use super::WebSockets;
use crate::pool::Current;
use bytes::Bytes;
use dispatch::Owner;
use exchange::{Packet, WebSocketCommands};
use httpd::ws::Close;
use rooms::Store as _;
use std::str::from_utf8;
use std::sync::Arc;
use wire::command::{Answer, Command};

/// For clients: the worker that their connection belongs to is not there any more.
pub(super) const OWNER_ENDS: &str = "the process that handles it ends";

/// What handlers in C say that run in this process.
impl WebSocketCommands for WebSockets {
    fn say(&self, command: &Command<'_>) -> bool {
        self.try_execute(*command, Bytes::copy_from_slice);
        true
    }
}

impl WebSockets {
    /// This worker is given nothing any more.
    pub fn has_left(&self, owner: Owner) {
        self.homes.has_left(owner).into_iter().for_each(|connection| {
            self.store.close(connection, Close::SERVICE_RESTART, OWNER_ENDS);
        });
    }

    /// This worker is asked to take this connection.
    pub fn expects(&self, owner: Owner, connection: u64) {
        self.homes.expect(owner, connection);
    }

    /// It has not been asked, after all.
    pub fn expects_no_more(&self, connection: u64) {
        self.homes.forget(connection);
    }

    /// Has `act` called when a worker has one more connection of its own or one fewer, or has been asked to take one,
    /// from whichever thread that is. It must not wait.
    pub fn on_change(&self, act: Box<dyn Fn() + Send + Sync>) {
        self.homes.on_change(act);
    }

    /// How many connections this worker has of its own, with those that it was asked to take.
    pub fn kept_by(&self, owner: Owner) -> usize {
        self.homes.count(owner)
    }

    /// How many sessions of visitors this worker has.
    pub fn sessions_of(&self, owner: Owner) -> usize {
        self.visits.count(owner)
    }

    /// The app that a request for this path is for, if that is the one of a session: it may be served to nobody else.
    pub fn app_of(&self, path: &str) -> Option<Arc<Current>> {
        self.homes.app_of_path(path)
    }

    /// The one worker that a request for this path is for, see `homes`.
    pub fn owner_of(&self, path: &str, generation: u32) -> Option<Owner> {
        self.homes.of_path(path, generation)
    }

    /// `own` makes a message the server's.
    pub fn try_execute(&self, command: Command<'_>, own: impl FnOnce(&[u8]) -> Bytes) -> Option<Answer> {
        let packet = move |binary: bool, message: &[u8]| {
            // clients end a connection on which a text is none
            if !binary {
                from_utf8(message).ok()?;
            }
            Some(Arc::new(Packet::new(!binary, own(message), self.store.unread())))
        };
        let named = |(number, text): (u64, Arc<str>)| (number, text.as_bytes().to_vec());
        match command {
            Command::Send { to, binary, message } => self.store.send(to, packet(binary, message)?),
            Command::Close { connection, code, reason } => self.store.close(connection, code, from_utf8(reason).ok()?),
            Command::Join { connection, room, name } => {
                if !self.store.join(connection, from_utf8(room).ok()?, from_utf8(name).ok()?) {
                    // only the client with that name is closed: it is not to break the list for all that ask for it
                    let why = "too many names collide with that of the room, or in it";
                    self.store.close(connection, Close::POLICY, why);
                }
            }
            Command::Leave { connection, room } => self.store.part(connection, from_utf8(room).ok()?),
            Command::Broadcast { room, binary, message, except } => {
                let count = self.store.broadcast(from_utf8(room).ok()?, packet(binary, message)?, except);
                return Some(Answer(vec![(count as u64, Vec::new())]));
            }
            Command::Members { room } => {
                return Some(Answer(self.store.members(from_utf8(room).ok()?).into_iter().map(named).collect()));
            }
            Command::Rooms => {
                let rooms = self.store.rooms().into_iter().map(|(name, members)| named((members as u64, name)));
                return Some(Answer(rooms.collect()));
            }
            // nothing of it is here
            Command::Purge { .. } | Command::Seed { .. } | Command::Enqueue { .. } | Command::Job { .. } => {}
        }
        None
    }
}

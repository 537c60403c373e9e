//! An open WebSocket: what has come waits here until it is its turn, and what workers send is taken from its mailbox.
//!
//! One thing is with a worker at a time. When that has been answered comes the next, with the state that the handler
//! left: so a worker that dies takes no more with it than the message that it had, and a reload is not even noticed.

use super::commands::OWNER_ENDS;
use super::entered::{AtHome, Entered};
use super::event::{Identity, To};
use super::visits::Visiting;
use super::Place;
use crate::context::Context;
use admission::Late;
use bytes::Bytes;
use dispatch::{Outcome, Ticket};
use httpd::ws::{Close, Handler, Message, ToSend};
use httpd::BodyRoom;
use observe::Level;
use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context as Task, Poll};
use std::time::Duration;
use tokio::time::{sleep, Sleep};
use wire::websocket::{What, LONGEST_STATE};
use wire::{ContentType, Reply, ReplyBody};

/// Messages that may wait behind the one that a handler has, and bytes: then the client waits.
const MOST_WAITING: usize = 64;
const MOST_BYTES: usize = 256 << 10;
/// What a message costs beside its bytes.
const OVERHEAD: usize = 256;
/// The pause before an event for which the workers had no place is handed over again, and how often the pause doubles
/// at most.
const AGAIN: Duration = Duration::from_millis(5);
const MOST_DOUBLED: u32 = 8;

/// See the module.
pub struct Open {
    pub identity: Identity,
    /// `None` once it is over
    pub entered: Option<Entered>,
    /// the worker that it belongs to, if it belongs to one
    pub home: Option<(To, AtHome)>,
    /// that it is a visitor's session, if it is one
    pub visiting: Option<Visiting>,
    /// of its route, which another app may have, too
    pub pattern: Arc<str>,
    /// what the app keeps of it
    pub state: Bytes,
    pub context: Arc<Context>,
    pub place: Place,
    pub events: Events,
}

/// What has come.
pub struct Events {
    waiting: VecDeque<Came>,
    bytes: usize,
    /// for these bytes, also once the connection is over
    room: BodyRoom,
    /// the first of them is with the workers
    ticket: Option<(u64, Ticket)>,
    /// or will be after a pause
    pause: Option<Pin<Box<Sleep>>>,
    /// how often in a row there was no place for it
    refused: u32,
    /// why the server ends the connection
    close: Option<Close>,
}

impl Events {
    /// None yet.
    pub fn new(room: BodyRoom) -> Self {
        Events { waiting: VecDeque::new(), bytes: 0, room, ticket: None, pause: None, refused: 0, close: None }
    }

    /// The first of them is dealt with.
    fn done(&mut self) {
        self.refused = 0;
        if let Some(done) = self.waiting.pop_front() {
            self.bytes -= done.worth();
            self.room.fit(self.bytes);
        }
        if self.waiting.is_empty() {
            // an idle connection keeps no space for a crowd of messages
            self.waiting = VecDeque::new();
        }
    }

    /// Forgets all but the first `n`.
    fn keep(&mut self, n: usize) {
        self.waiting.truncate(n);
        self.bytes = self.waiting.iter().map(Came::worth).sum();
        self.room.fit(self.bytes);
    }
}

enum Came {
    Message(Message),
    Close(Close),
}

impl Came {
    fn what(&self) -> What<'_> {
        match self {
            Came::Message(message) if message.is_text => What::Text(&message.bytes),
            Came::Message(message) => What::Binary(&message.bytes),
            Came::Close(close) => What::Close { code: close.code, reason: close.reason.as_bytes() },
        }
    }

    /// What it costs until it is handled.
    fn worth(&self) -> usize {
        match self {
            Came::Message(message) => message.bytes.len() + OVERHEAD,
            Came::Close(_) => 0,
        }
    }
}

impl Open {
    /// Goes on with what has come. Ready when nothing is left.
    fn poll(&mut self, cx: &mut Task<'_>) -> Poll<()> {
        loop {
            if let Some(pause) = &mut self.events.pause {
                ready!(pause.as_mut().poll(cx));
                self.events.pause = None;
            }
            if let Some((_, ticket)) = &mut self.events.ticket {
                let outcome = ready!(Pin::new(ticket).poll(cx));
                let id = self.events.ticket.take().map_or(0, |(id, _)| id);
                if !self.is_done(id, outcome) {
                    continue;
                }
                self.events.done();
            }
            if !self.submit() {
                return Poll::Ready(());
            }
        }
    }

    /// Hands the next thing to the workers, now or after a pause. `false` when there is none.
    fn submit(&mut self) -> bool {
        let Some(came) = self.events.waiting.front() else { return false };
        let to = match &self.home {
            Some((to, _)) => *to,
            None => {
                let app = self.context.app();
                let Some(route) = app.websockets.with_pattern(&self.pattern) else {
                    self.give_up(Close::new(Close::SERVICE_RESTART, "this path has no WebSocket any more"));
                    return false;
                };
                if matches!(came, Came::Close(_)) && !route.config.on_close {
                    self.events.keep(0);
                    return false;
                }
                To::any(route, app.generation)
            }
        };
        self.events.ticket = self.identity.submit(came.what(), &self.state, to, &self.context);
        if self.events.ticket.is_some() {
            return true;
        }
        if self.identity.from.connection.server().is_draining() {
            self.give_up(Close::new(Close::GOING_AWAY, "the server ends"));
            return false;
        }
        if self.has_no_place() {
            self.events.done();
            return self.submit();
        }
        true
    }

    /// There is no place for the next thing: it is handed over again after a pause. A message of a connection that is
    /// over is not: then `true`.
    fn has_no_place(&mut self) -> bool {
        if self.entered.is_none() && matches!(self.events.waiting.front(), Some(Came::Message(_))) {
            return true;
        }
        self.events.pause = Some(Box::pin(sleep(AGAIN * (1 << self.events.refused.min(MOST_DOUBLED)))));
        self.events.refused += 1;
        false
    }

    /// Forgets what waits, and closes the connection.
    fn give_up(&mut self, close: Close) {
        self.events.keep(0);
        self.events.close = Some(close);
    }

    /// `false` when it has to be handed over again.
    fn is_done(&mut self, id: u64, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Reply(reply, ..) => {
                if let Some(state) = state_of(&reply) {
                    self.state = state;
                }
            }
            // it is not read: handlers send to the client by `dr_ws_send()`
            Outcome::Stream(..) | Outcome::Notice(_) => {}
            // the worker that it belongs to has left
            Outcome::Stale if self.home.is_some() => self.give_up(Close::new(Close::SERVICE_RESTART, OWNER_ENDS)),
            Outcome::Stale => {
                // another app has taken over, of which the dispatcher of this thread may still have to hear
                self.events.pause = Some(Box::pin(sleep(Duration::from_millis(1))));
                return false;
            }
            Outcome::Full | Outcome::OfItself(_) => return self.has_no_place(),
            Outcome::Late(Late::Waiting(over), _) => {
                let line = || self.line(id, &format!("waited too long for a worker, and waits again: {over}"));
                self.identity.from.connection.server().log.of_client(line);
                return self.has_no_place();
            }
            Outcome::Late(Late::Running(over), pid) => {
                self.log(id, &format!("the handler took too long: {over}{}", of_worker(pid)));
                self.events.close = Some(Close::new(Close::INTERNAL, "the handler took too long"));
            }
            Outcome::WorkerDied(pid) => {
                self.log(id, &format!("the worker ended before it was done{}", of_worker(pid)));
                self.events.close = Some(Close::new(Close::INTERNAL, "the message was lost"));
            }
            Outcome::Ending => self.give_up(Close::new(Close::GOING_AWAY, "the server ends")),
        }
        true
    }

    fn log(&self, id: u64, text: &str) {
        self.identity.from.connection.server().log.line(Level::Warn, &self.line(id, text));
    }

    /// What the log says of what is with the workers.
    fn line(&self, id: u64, text: &str) -> String {
        let came = self.events.waiting.front();
        came.map_or_else(String::new, |came| self.identity.line(id, &came.what(), text))
    }

    fn add(&mut self, came: Came) {
        let bytes = self.events.bytes + came.worth();
        if !self.events.room.fit(bytes) {
            // what came before is handled
            self.events.close = Some(Close::new(Close::TRY_AGAIN_LATER, "too many messages wait for a worker"));
            return;
        }
        self.events.bytes = bytes;
        self.events.waiting.push_back(came);
        if self.events.ticket.is_none() && self.events.pause.is_none() {
            self.submit();
        }
    }
}

fn of_worker(pid: Option<i32>) -> String {
    pid.map(|pid| format!(", worker {pid}")).unwrap_or_default()
}

/// The state that a handler has left, if it has changed it.
fn state_of(reply: &Bytes) -> Option<Bytes> {
    let read = Reply::decode(reply).ok()?;
    match read.body {
        ReplyBody::Bytes(state) if read.content_type == ContentType::Octet && state.len() <= LONGEST_STATE => {
            Some(Bytes::copy_from_slice(state))
        }
        _ => None,
    }
}

impl Handler for Open {
    fn poll_ready(&mut self, cx: &mut Task<'_>) -> Poll<()> {
        let _ = self.poll(cx);
        let events = &self.events;
        let takes = events.waiting.len() < MOST_WAITING && events.bytes < MOST_BYTES && events.close.is_none();
        if takes {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn take(&mut self, message: Message) {
        if let Some(visiting) = &self.visiting {
            visiting.hears();
        }
        self.add(Came::Message(message));
    }

    fn poll_next(&mut self, cx: &mut Task<'_>) -> Poll<ToSend> {
        if let Some(close) = self.events.close.take() {
            return Poll::Ready(ToSend::Close(close));
        }
        self.entered.as_ref().map_or(Poll::Pending, |entered| entered.poll_next(cx))
    }

    fn poll_given_up(&mut self, cx: &mut Task<'_>) -> Poll<Close> {
        let entered = self.entered.as_ref();
        entered.map_or(Poll::Pending, |entered| entered.poll_given_up(&self.identity.from.connection, cx))
    }

    fn end(mut self: Box<Self>, close: Close) {
        // it is in no room any more when its handler hears of it
        self.entered = None;
        self.visiting = None;
        if close.code == Close::ABNORMAL {
            // the client has left without a close frame: of its messages only the one that is with a worker goes on
            self.events.keep(usize::from(self.events.ticket.is_some()));
            self.events.pause = None;
            if let Some((_, ticket)) = &self.events.ticket {
                ticket.withdraw();
            }
        }
        self.add(Came::Close(close));
        if self.events.waiting.is_empty() {
            return;
        }
        let leaves = self.context.websockets.one_leaves();
        // what came before is handled before, if there is place for it
        tokio::spawn(async move {
            poll_fn(|cx| self.poll(cx)).await;
            drop((self.place, leaves));
        });
    }
}

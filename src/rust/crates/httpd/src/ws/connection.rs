//! The order of things on a WebSocket, from the handshake to its end.
//!
//! ```text
//! Open ─close of the client▶ answered ─▶ over
//!   │ close of the server                ▲
//!   └─▶ Closing ─the client's answer, or 5 s┘
//! ```
//! Writing goes before reading, and a message is read only when the handler takes one: what a client sends faster than
//! that waits in its own socket.

use super::line::Line;
use super::{write, Accepted, ToSend};
use crate::budget::BodyRoom;
use crate::connection::{Connection, Directive};
use crate::turn::{self, give_way};
use admission::ms;
use exchange::now;
use std::future::{poll_fn, Future};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{sleep, Instant, Sleep};
use websocket::{Came, Close, Reader};

/// How long a client has to answer a close.
const TO_ANSWER: u64 = 5_000;
/// Bytes of a message that is not whole which every connection may have. For more it takes room of the server.
const FREE: usize = 16 << 10;
/// Things that are done before other connections have their turn.
const STEPS: usize = 64;

/// A WebSocket that is open.
struct Socket<L> {
    line: L,
    reader: Reader,
    accepted: Accepted,
    state: Arc<Connection>,
    /// the server has said that it ends the connection, and why
    closing: Option<Close>,
    /// the last frame has been added
    is_last: Option<Close>,
    opened: u64,
    /// when anything came
    received: u64,
    /// when a message came or went
    moved: u64,
    /// since when an answer to a ping is waited for
    asked: Option<u64>,
    /// when the close was said
    closed: u64,
    /// of the message that is coming, when it began and how many bytes of it were here when it was looked at
    coming: Option<(u64, usize)>,
    /// nothing is read, as the handler takes nothing, or what was written has to be read first: what the client says
    /// meanwhile is not known
    is_paused: bool,
    /// for what is not whole
    room: BodyRoom,
    timer: Pin<Box<Sleep>>,
}

/// Serves it to its end. Gives the line back, and whether the client may still be sending.
pub async fn serve<L: Line>(line: L, accepted: Accepted, state: &Arc<Connection>) -> (L, bool) {
    state.lasts();
    if state.server().is_draining() {
        state.give(Directive::Drain);
    }
    let at = now();
    let mut socket = Socket {
        line,
        reader: Reader::default(),
        accepted,
        state: state.clone(),
        closing: None,
        is_last: None,
        opened: at,
        received: at,
        moved: at,
        asked: None,
        closed: 0,
        coming: None,
        is_paused: false,
        room: state.server().budget.messages(),
        timer: Box::pin(sleep(Duration::ZERO)),
    };
    socket.set_timer(at);
    let (close, lingers) = poll_fn(|cx| socket.poll(cx)).await;
    let Socket { line, mut accepted, .. } = socket;
    accepted.end(close);
    (line, lingers)
}

/// How it has ended, and whether the client may still be sending.
type Over = (Close, bool);

fn gone() -> Over {
    (Close::new(Close::ABNORMAL, ""), false)
}

impl<L: Line> Socket<L> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Over> {
        turn::begin();
        self.line.begin();
        // an error of the socket is the client's going
        let over = self.turn(cx).unwrap_or_else(|_| Some(self.lost()));
        self.line.rest();
        match over {
            Some(over) => Poll::Ready(over),
            None => Poll::Pending,
        }
    }

    /// The client has left without a word, or in the middle of one.
    fn lost(&mut self) -> Over {
        match self.is_last.take().or(self.closing.take()) {
            Some(close) => (close, false),
            None => gone(),
        }
    }

    /// Goes on until something has to be waited for: then `None`.
    fn turn(&mut self, cx: &mut Context<'_>) -> io::Result<Option<Over>> {
        self.line.set_waker(&self.state, cx.waker());
        if let Some(over) = self.follow_directive() {
            return Ok(Some(over));
        }
        if let Some(over) = self.look_at_clock(cx) {
            return Ok(Some(over));
        }
        for _ in 0..STEPS {
            let can_write = !self.line.is_full() || self.line.poll_flush(cx)?.is_ready();
            if self.is_last.is_some() {
                return Ok(if self.line.poll_flush(cx)?.is_ready() { Some((self.lost().0, true)) } else { None });
            }
            if !can_write {
                if let Poll::Ready(close) = self.accepted.handler.poll_given_up(cx) {
                    return Ok(Some((close, false)));
                }
            }
            // it may end the connection when it learns what came of a message
            let takes = self.accepted.handler.poll_ready(cx).is_ready();
            self.read_on(can_write && (takes || self.closing.is_some()));
            let sent = can_write && self.send(cx);
            let came = !self.is_paused && self.receive(cx)?;
            if self.is_last.is_none() && !sent && !came {
                return self.pause(cx);
            }
        }
        let _ = self.line.poll_flush(cx)?;
        give_way(cx);
        Ok(None)
    }

    /// Nothing more is to be done for now.
    fn pause(&mut self, cx: &mut Context<'_>) -> io::Result<Option<Over>> {
        let _ = self.line.poll_flush(cx)?;
        Ok(None)
    }

    /// What the server wants of the connection.
    fn follow_directive(&mut self) -> Option<Over> {
        match self.line.directive(&self.state) {
            Directive::None => None,
            Directive::Drain => {
                self.close(Close::new(Close::GOING_AWAY, "the server ends"));
                None
            }
            Directive::WriteTimeout => {
                self.state.server().log.of_client(|| format!("{} write timeout", self.state.remote_addr()));
                Some(self.lost())
            }
            Directive::Close | Directive::Flood | Directive::HeaderTimeout => Some(self.lost()),
        }
    }

    /// The server ends the connection.
    fn close(&mut self, close: Close) {
        if self.closing.is_none() && self.is_last.is_none() {
            write::close(&close, &mut self.line);
            self.closing = Some(close);
            self.closed = now();
            // it may have been set to a day
            self.set_timer(self.closed);
        }
    }

    /// The next thing that the handler has for the client. `false` when there is none.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        if self.closing.is_some() {
            return false;
        }
        match self.accepted.handler.poll_next(cx) {
            Poll::Pending => return false,
            Poll::Ready(ToSend::Message(packet)) => {
                write::message(&packet, self.accepted.deflate, &mut self.line);
                if self.accepted.bounds.counts_sent {
                    self.moved = now();
                }
            }
            Poll::Ready(ToSend::Close(close)) => self.close(close),
        }
        true
    }

    /// The next thing that the client has sent. `false` when there is none.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        // what comes after the server's close is not for the app
        let is_open = self.closing.is_none();
        loop {
            match self.reader.next(self.accepted.bounds.max_message, self.accepted.deflate.is_some()) {
                Ok(Some(came)) => {
                    self.came(came, is_open);
                    return Ok(true);
                }
                Ok(None) => {}
                Err(close) => {
                    self.fail(close);
                    return Ok(true);
                }
            }
            let held = self.reader.held();
            if !self.room.fit(held.saturating_sub(FREE)) {
                self.fail(Close::new(Close::TRY_AGAIN_LATER, "the server has no room for the message"));
                return Ok(true);
            }
            self.coming = if held > 0 { Some(self.coming.unwrap_or((now(), 0))) } else { None };
            match self.line.poll_read(cx, &mut self.reader)? {
                Poll::Pending => return Ok(false),
                Poll::Ready(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Poll::Ready(_) => {
                    self.received = now();
                    self.asked = None;
                }
            }
        }
    }

    /// Whether the client is heard. Its time begins anew when it is heard again: until then it was the server that let
    /// it wait.
    fn read_on(&mut self, reads: bool) {
        if self.is_paused != reads {
            return;
        }
        self.is_paused = !reads;
        if reads {
            let now = now();
            (self.received, self.moved, self.asked) = (now, now, None);
            self.coming = self.coming.map(|_| (now, self.reader.held()));
            self.set_timer(now);
        }
    }

    fn came(&mut self, came: Came, is_open: bool) {
        match came {
            Came::Message(message) if is_open => {
                self.moved = self.received;
                // it counts as one that waits from now on
                self.room.fit(self.reader.held().saturating_sub(FREE));
                self.accepted.handler.take(message);
            }
            Came::Ping(payload) if is_open => write::pong(payload, &mut self.line),
            Came::Message(_) | Came::Ping(_) | Came::Pong => {}
            Came::Close(close) => {
                if is_open {
                    // the same, as the answer
                    write::close(&close, &mut self.line);
                }
                self.is_last = self.closing.take().or(Some(close));
            }
        }
    }

    /// The client has broken the rules.
    fn fail(&mut self, close: Close) {
        let remote_addr = self.state.remote_addr();
        self.state.server().log.of_client(|| format!("{remote_addr} WebSocket: {} {}", close.code, close.reason));
        if self.closing.is_none() {
            write::close(&close, &mut self.line);
        }
        self.is_last = Some(close);
    }

    // ---- time ------------------------------------------------------------------------------------------------------

    /// What is due now. The clock is looked at when the timer says so, which is set again then.
    fn look_at_clock(&mut self, cx: &mut Context<'_>) -> Option<Over> {
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = now();
            if self.closing.is_some() && now >= self.closed + TO_ANSWER {
                return Some(self.lost());
            }
            if let Some(over) = self.check(now) {
                return Some(over);
            }
            self.set_timer(now);
        }
        None
    }

    fn check(&mut self, now: u64) -> Option<Over> {
        let bounds = self.accepted.bounds;
        if self.closing.is_some() {
            return None;
        }
        if now.saturating_sub(self.opened) >= bounds.max_lifetime {
            self.close(Close::new(Close::GOING_AWAY, "the connection has had its time"));
        } else if self.is_paused {
            // what it has not done it may have done
        } else if now.saturating_sub(self.moved) >= bounds.idle_timeout {
            self.close(Close::new(Close::GOING_AWAY, "no message for too long"));
        } else if self.is_slow(now) {
            self.fail(Close::new(Close::POLICY, "a message came too slowly"));
        } else if self.asked.is_some_and(|asked| now.saturating_sub(asked) >= bounds.ping_interval) {
            self.state
                .server()
                .log
                .of_client(|| format!("{} WebSocket: no answer to a ping", self.state.remote_addr()));
            return Some(gone());
        } else if self.asked.is_none() && now.saturating_sub(self.received) >= bounds.ping_interval {
            write::ping(&mut self.line);
            self.asked = Some(now);
        }
        None
    }

    /// Whether a message that has begun comes as slowly as a body may not come.
    fn is_slow(&mut self, now: u64) -> bool {
        let limits = &self.state.server().limits;
        let held = self.reader.held();
        let Some((since, had)) = self.coming.as_mut() else { return false };
        let span = now.saturating_sub(*since);
        if span < ms(limits.body_timeout) {
            return false;
        }
        let is_slow = (held.saturating_sub(*had) as u64) * 1000 / span.max(1) < limits.min_body_rate.max(1);
        (*since, *had) = (now, held);
        is_slow
    }

    /// When to look at the clock next.
    fn set_timer(&mut self, now: u64) {
        let bounds = self.accepted.bounds;
        let due = if self.closing.is_some() {
            self.closed + TO_ANSWER
        } else if self.is_paused {
            self.opened.saturating_add(bounds.max_lifetime)
        } else {
            [
                self.opened.saturating_add(bounds.max_lifetime),
                self.moved.saturating_add(bounds.idle_timeout),
                self.asked.unwrap_or(self.received).saturating_add(bounds.ping_interval),
                self.coming.map_or(u64::MAX, |(since, _)| since + ms(self.state.server().limits.body_timeout)),
            ]
            .into_iter()
            .fold(u64::MAX, u64::min)
        };
        // a day, where nothing is due
        let pause = Duration::from_millis(due.saturating_sub(now).clamp(1, 86_400_000));
        self.timer.as_mut().reset(Instant::now() + pause);
    }
}

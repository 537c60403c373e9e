//! The order of things on an HTTP/1.1 connection: header section, body, answer, and again.
//!
//! ```text
//! Reading ─head─▶ Answering ─response─▶ Sending ─▶ Skipping ─▶ Reading
//!    ▲                │ at once            what is left of the request's body, if it is little
//!    └────────────────┘                └─▶ Ending, after the last answer
//! ```
//! Answers to requests that came together are written together, and before anything is waited for.

use super::encode::{self, Asked, Framed};
use super::head::Framing;
use super::{BodyReader, HeadReader};
use crate::head::{Head, Version};
use crate::http::body::Incoming;
use crate::http::line::Line;
use crate::http::socket::Socket;
use crate::http::state::{Connection, Order};
use crate::http::{h2, lent};
use crate::observe::Level;
use crate::pipeline::{self, Answering};
use crate::respond::{Body, Failure, Response};
use crate::server::{this_thread, Context as Server, Open};
use http::{Method, StatusCode};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// What is left of a request's body after its answer is read up to this many bytes, so that the connection can go on.
const SKIPPED: u64 = 64 << 10;
/// Steps after which other connections have their turn.
const STEPS: usize = 128;

/// How a connection ends, or goes on.
#[derive(Debug)]
pub enum Ended {
    /// there is nothing more to say
    Complete,
    /// the client may still be sending
    Linger,
    /// it has to be told why
    Refused(Failure),
    /// it goes on in HTTP/2
    Http2,
}

/// How a step ended; an error of the socket is the client's going.
type Step = Poll<io::Result<Option<Ended>>>;

enum Doing {
    /// waits for a header section, or reads it
    Reading,
    /// the answer is being made
    Answering(Pin<Box<dyn Future<Output = Response> + Send>>),
    /// the body of the answer is being sent
    Sending(Body, Framed),
    /// the rest of a body that nobody wanted is being read
    Skipping,
    /// all has been said
    Ending,
    /// what came is refused, once what came before is answered
    Refusing(Failure),
}

/// See the module.
pub struct Client {
    /// `None` only while it is lent
    line: Option<Box<Line>>,
    reader: HeadReader,
    doing: Doing,
    asked: Asked,
    /// the client has said that no request comes after this one
    was_last: bool,
    /// no request has come yet
    new: bool,
    /// the next answer is the last one
    draining: bool,
    state: Arc<Connection>,
    open: Open,
}

const LENT: &str = "the line is lent only while an answer is being made";

fn here(line: &mut Option<Box<Line>>) -> &mut Line {
    line.as_deref_mut().expect(LENT)
}

impl Client {
    pub fn new(line: Box<Line>, state: Arc<Connection>, open: Open) -> Self {
        let asked = Asked { head_only: false, http10: false, keep_alive: true };
        let (line, reader, doing) = (Some(line), HeadReader::default(), Doing::Reading);
        Client { line, reader, doing, asked, was_last: false, new: true, draining: false, state, open }
    }

    /// What the connection does.
    pub fn state(&self) -> &Arc<Connection> {
        &self.state
    }

    /// Whether nothing has come that could be of a request.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Its socket, for who waits for it in another way than a task.
    pub fn socket(&mut self) -> &mut Socket {
        here(&mut self.line).socket()
    }

    /// It stays. Gives the thread that is to have it, if that is another: one can, while nothing of a request is under way and the
    /// runtime of this thread does not know the socket.
    pub fn settle(&mut self) -> Option<usize> {
        let movable = matches!(self.doing, Doing::Reading) && !here(&mut self.line).is_watched();
        let thread = if movable { self.open.context().place() } else { this_thread() };
        self.open.settle(thread);
        (thread != this_thread()).then_some(thread)
    }

    /// Whose server it is of.
    pub fn server(&self) -> &Arc<Server> {
        self.open.context()
    }

    /// Its line, when there is nothing more to do in HTTP/1.1.
    pub fn into_line(mut self) -> (Box<Line>, Arc<Connection>, Open) {
        let line = self.line.take().expect(LENT);
        (line, self.state, self.open)
    }

    /// Goes on until something has to be waited for, and has the task woken for it.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let ended = self.turn(cx);
        if ended.is_ready() {
            return ended;
        }
        match here(&mut self.line).watch(cx) {
            Ok(()) => Poll::Pending,
            Err(e) => {
                let line = format!("{} cannot be served: {e}", self.state.remote_addr);
                self.open.context().log.line(Level::Error, &line);
                Poll::Ready(Ended::Complete)
            }
        }
    }

    /// Goes on until something has to be waited for.
    pub fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        if let Some(ended) = self.obey() {
            return Poll::Ready(ended);
        }
        here(&mut self.line).begin();
        let ended = self.go_on(cx);
        here(&mut self.line).rest();
        ended
    }

    /// What the server wants.
    fn obey(&mut self) -> Option<Ended> {
        match self.state.order() {
            Order::None => None,
            Order::Drain => {
                self.draining = true;
                let idle =
                    matches!(self.doing, Doing::Reading) && !self.reader.has_begun() && here(&mut self.line).is_idle();
                idle.then(|| self.after_last())
            }
            Order::Close | Order::Calm => Some(Ended::Complete),
            Order::HeaderTimeout => {
                let failure = Failure::new(StatusCode::REQUEST_TIMEOUT, "the header section came too slowly");
                Some(Ended::Refused(failure))
            }
            Order::WriteTimeout => {
                self.open.context().log.of_client(|| format!("{} write timeout", self.state.remote_addr));
                Some(Ended::Complete)
            }
        }
    }

    fn go_on(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        for _ in 0..STEPS {
            // an error of the socket is the client's going
            match ready!(self.step(cx)) {
                Ok(None) => {}
                Ok(Some(ended)) => return Poll::Ready(ended),
                Err(_) => return Poll::Ready(Ended::Complete),
            }
        }
        let flushed = here(&mut self.line).poll_flush(cx);
        cx.waker().wake_by_ref();
        match flushed {
            Poll::Ready(Err(_)) => Poll::Ready(Ended::Complete),
            _ => Poll::Pending,
        }
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Step {
        match &mut self.doing {
            Doing::Reading => self.read(cx),
            Doing::Answering(_) => self.answer(cx),
            Doing::Sending(..) => self.send(cx),
            Doing::Skipping => self.skip(cx),
            Doing::Ending => {
                ready!(here(&mut self.line).poll_flush(cx))?;
                Poll::Ready(Ok(Some(self.after_last())))
            }
            Doing::Refusing(failure) => {
                let failure = failure.clone();
                ready!(here(&mut self.line).poll_flush(cx))?;
                Poll::Ready(Ok(Some(Ended::Refused(failure))))
            }
        }
    }

    /// Reads the next header section.
    fn read(&mut self, cx: &mut Context<'_>) -> Step {
        loop {
            let line = here(&mut self.line);
            if line.is_full() {
                ready!(line.poll_flush(cx))?;
            }
            if !line.input().is_empty() {
                match if self.new { h2::recognise(line.input()) } else { Some(false) } {
                    Some(true) => return Poll::Ready(Ok(Some(Ended::Http2))),
                    Some(false) => {
                        self.new = false;
                        match self.reader.read(line.input(), &self.open.context().limits) {
                            Ok((used, request)) => {
                                line.consume(used);
                                if let Some((head, framing)) = request {
                                    self.begin(head, &framing);
                                    return Poll::Ready(Ok(None));
                                }
                            }
                            Err(refusal) => {
                                self.doing = Doing::Refusing(refusal.into());
                                return Poll::Ready(Ok(None));
                            }
                        }
                    }
                    None => {}
                }
                if self.reader.has_begun() || !line.input().is_empty() {
                    self.state.head_comes();
                }
            }
            ready!(line.poll_flush(cx))?;
            if ready!(line.poll_fill(cx))? == 0 {
                return Poll::Ready(Ok(Some(Ended::Complete)));
            }
        }
    }

    /// A request is here, but for its body.
    fn begin(&mut self, head: Head, framing: &Framing) {
        self.asked = Asked {
            head_only: head.method == Method::HEAD,
            http10: head.version == Version::Http10,
            keep_alive: framing.keep_alive,
        };
        self.was_last = !framing.keep_alive;
        let server = self.open.context();
        let line = here(&mut self.line);
        line.body = BodyReader::new(framing);
        let body = Incoming::of(line, &server.limits);
        match pipeline::handle(head, body, self.state.clone(), server) {
            Answering::Now(Some(response)) => self.respond(response),
            Answering::Now(None) => {}
            Answering::Later(answer) => self.doing = Doing::Answering(answer),
        }
    }

    fn answer(&mut self, cx: &mut Context<'_>) -> Step {
        let Doing::Answering(answer) = &mut self.doing else { return Poll::Ready(Ok(None)) };
        let poll = lent::lend(&mut self.line, || answer.as_mut().poll(cx));
        if let Poll::Ready(response) = poll {
            self.respond(response);
            return Poll::Ready(Ok(None));
        }
        self.while_waiting(cx)
    }

    /// Nothing more is to be done for now; but what is written goes out, and the client may go.
    fn while_waiting(&mut self, cx: &mut Context<'_>) -> Step {
        let line = here(&mut self.line);
        let _ = line.poll_flush(cx)?;
        // one that has ended its side still gets an answer whose length it knows
        let is_certain = matches!(&self.doing, Doing::Sending(body, _) if body.len().is_some());
        // most are answered before a new socket would be known to the runtime, and only those that are not are worth that
        let is_watched = line.is_watched() || self.state.is_worth_watching();
        if is_watched && !is_certain && line.body.has_ended() && line.input().is_empty() {
            if let Poll::Ready(0) = line.poll_fill(cx)? {
                return Poll::Ready(Ok(Some(Ended::Complete)));
            }
        }
        Poll::Pending
    }

    /// Writes the response, or its head.
    fn respond(&mut self, response: Response) {
        let line = here(&mut self.line);
        let framed = encode::framing(&response, self.asked);
        let can_skip =
            line.body.has_ended() || (!line.body.is_expected() && line.body.left().is_some_and(|left| left <= SKIPPED));
        let keep_alive = self.asked.keep_alive
            && !self.draining
            && !self.open.context().is_draining()
            && framed != Framed::Close
            && can_skip
            && !response.fields.close;
        self.asked.keep_alive = keep_alive;
        encode::head(&response, framed, self.asked, line.output());
        let mut body = response.body;
        match (framed, body.take_bytes()) {
            (Framed::Bodiless, _) => {}
            (Framed::Length(_), Some(bytes)) => line.push(bytes),
            _ => {
                self.doing = Doing::Sending(body, framed);
                return;
            }
        }
        drop(body);
        self.answered();
    }

    /// Sends more of the response's body.
    fn send(&mut self, cx: &mut Context<'_>) -> Step {
        let whole = loop {
            let line = here(&mut self.line);
            if line.is_full() {
                ready!(line.poll_flush(cx))?;
            }
            let Doing::Sending(body, framed) = &mut self.doing else { return Poll::Ready(Ok(None)) };
            match body.poll(cx, usize::MAX) {
                Poll::Pending => return self.while_waiting(cx),
                Poll::Ready(Some(Ok(piece))) => {
                    if !framed.write(piece, line) {
                        break false;
                    }
                }
                Poll::Ready(None) => break framed.end(line),
                Poll::Ready(Some(Err(_))) => break false,
            }
        };
        // a body that breaks off is told by the end of the connection
        self.asked.keep_alive &= whole;
        self.answered();
        Poll::Ready(Ok(None))
    }

    /// The response is in the output.
    fn answered(&mut self) {
        self.doing = if !self.asked.keep_alive {
            Doing::Ending
        } else if here(&mut self.line).body.has_ended() {
            Doing::Reading
        } else {
            self.state.transfer.body_begins();
            Doing::Skipping
        };
    }

    /// Reads on to the next request.
    fn skip(&mut self, cx: &mut Context<'_>) -> Step {
        self.state.transfer.set_waker(cx.waker());
        loop {
            let line = here(&mut self.line);
            let skipped = line.read_body(&self.open.context().limits, |_| Ok::<(), Failure>(()));
            if !matches!(skipped, Ok(false)) || self.state.transfer.is_body_late() {
                self.state.transfer.body_ends();
                self.doing = if matches!(skipped, Ok(true)) { Doing::Reading } else { Doing::Ending };
                return Poll::Ready(Ok(None));
            }
            ready!(line.poll_flush(cx))?;
            match ready!(line.poll_fill(cx))? {
                0 => return Poll::Ready(Ok(Some(Ended::Complete))),
                n => self.state.transfer.body_moves(n),
            }
        }
    }

    /// After the last answer. Closing a socket with unread bytes resets the connection, and a reset can overtake the answer:
    /// so what the client still sends is read for a while, unless it has nothing more to say.
    fn after_last(&mut self) -> Ended {
        // a client of a server that is ending has nothing more to say either
        if self.open.context().is_draining() || self.is_complete() {
            Ended::Complete
        } else {
            Ended::Linger
        }
    }

    /// Whether the client has said that it sends nothing any more, and all that it had sent is answered. Then the
    /// connection may be closed without reading on: no byte can come that would make the kernel reset it.
    fn is_complete(&mut self) -> bool {
        let line = here(&mut self.line);
        line.has_ended()
            || (self.was_last && line.body.has_ended() && line.input().is_empty() && !self.reader.has_begun())
    }
}

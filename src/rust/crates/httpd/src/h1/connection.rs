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
use crate::body::Incoming;
use crate::budget::{BodyRoom, SHORT_HEAD};
use crate::connection::{Connection, Directive};
use crate::head::{no_room_for_head, Head, Version};
use crate::response::{Body, Failure, Response, Sent};
use crate::service::{Answering, Service};
use crate::shared::{this_thread, OpenConnection};
use crate::socket::Socket;
use crate::transport::Transport;
use crate::turn::{self, give_way};
use crate::ws::Accepted;
use crate::{current_transport, h2};
use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode};
use observe::Level;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// What is left of a request's body after its answer is read up to this many bytes, so that the connection can go on.
const SKIPPED: u64 = 64 << 10;
/// Steps after which other connections have their turn, and bytes of a response.
const STEPS: usize = 128;
const SENT_AT_ONCE: usize = 128 << 10;

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
    /// it goes on as a WebSocket
    Socket(Box<Switched>),
}

/// A connection that has become a WebSocket.
pub struct Switched {
    pub accepted: Accepted,
    /// keeps the request open
    pub body: Body,
    /// told when all is over
    pub sent: Sent,
}

impl fmt::Debug for Switched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Switched")
    }
}

/// How a step ended; an error of the socket is the client's going.
type Step = Poll<io::Result<Option<Ended>>>;

enum Doing {
    /// waits for a header section, or reads it
    Reading,
    /// the answer is being made
    Answering(Pin<Box<dyn Future<Output = Response> + Send>>),
    /// the body of the answer is being sent
    Sending(Body, Framed, Sent),
    /// the rest of an unwanted body is being read
    Skipping,
    /// all has been said
    Ending,
    /// what came is refused, once what came before is answered
    Refusing(Failure),
    /// it becomes a WebSocket
    Switching(Box<Switched>),
}

/// See the module.
pub struct Http1Connection {
    /// `None` only while it is lent
    io: Option<Box<Transport>>,
    reader: HeadReader,
    doing: Doing,
    asked: Asked,
    /// the client has said that no request comes after this one
    was_last: bool,
    /// no request has come yet
    new: bool,
    /// the next answer is the last one
    draining: bool,
    /// what a long header section takes that is on its way
    room: Option<BodyRoom>,
    /// bytes of a response in this turn
    sent: usize,
    state: Arc<Connection>,
    open: OpenConnection,
    service: Arc<dyn Service>,
}

const BORROWED: &str = "the io is away only while an answer is being made";

fn here(io: &mut Option<Box<Transport>>) -> &mut Transport {
    io.as_deref_mut().expect(BORROWED)
}

impl Http1Connection {
    pub fn new(io: Box<Transport>, state: Arc<Connection>, open: OpenConnection, service: Arc<dyn Service>) -> Self {
        let asked = Asked { head_only: false, http10: false, keep_alive: true };
        let (io, reader, doing) = (Some(io), HeadReader::default(), Doing::Reading);
        Http1Connection {
            io,
            reader,
            doing,
            asked,
            was_last: false,
            new: true,
            draining: false,
            room: None,
            sent: 0,
            state,
            open,
            service,
        }
    }

    /// What the connection does.
    pub fn state(&self) -> &Arc<Connection> {
        &self.state
    }

    /// Whether nothing has come that could be of a request.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Its socket, for a caller that waits for it without a task.
    pub fn socket(&mut self) -> &mut Socket {
        here(&mut self.io).socket()
    }

    /// It stays. Gives the thread that is to have it, if that is another: one can, while nothing of a request is under
    /// way and the runtime of this thread does not know the socket.
    pub fn settle(&mut self) -> Option<usize> {
        let movable = matches!(self.doing, Doing::Reading) && !here(&mut self.io).is_watched();
        let thread = if movable { self.state.server().place() } else { this_thread() };
        self.open.settle(thread);
        (thread != this_thread()).then_some(thread)
    }

    /// Its transport, when there is nothing more to do in HTTP/1.1.
    pub fn into_transport(mut self) -> (Box<Transport>, Arc<Connection>, OpenConnection, Arc<dyn Service>) {
        let io = self.io.take().expect(BORROWED);
        (io, self.state, self.open, self.service)
    }

    /// Goes on until something has to be waited for, and has the task woken for it.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let ended = self.turn(cx);
        if ended.is_ready() {
            return ended;
        }
        match here(&mut self.io).watch(cx) {
            Ok(()) => Poll::Pending,
            Err(e) => {
                let line = format!("{} cannot be served: {e}", self.state.remote_addr());
                self.state.server().log.line(Level::Error, &line);
                Poll::Ready(Ended::Complete)
            }
        }
    }

    /// Goes on until something has to be waited for.
    pub fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        turn::begin();
        self.sent = 0;
        if let Some(ended) = self.follow_directive() {
            return Poll::Ready(ended);
        }
        here(&mut self.io).begin();
        let ended = self.go_on(cx);
        here(&mut self.io).rest();
        ended
    }

    /// What the server wants.
    fn follow_directive(&mut self) -> Option<Ended> {
        match self.state.directive() {
            Directive::None => None,
            Directive::Drain => {
                self.draining = true;
                let idle =
                    matches!(self.doing, Doing::Reading) && !self.reader.has_begun() && here(&mut self.io).is_idle();
                idle.then(|| self.after_last())
            }
            Directive::Close | Directive::Flood => Some(Ended::Complete),
            Directive::HeaderTimeout => {
                if let Some(what) = here(&mut self.io).stream().awaits() {
                    let remote = self.state.remote_addr();
                    self.state.server().log.of_client(|| format!("{remote} {what} took too long"));
                    return Some(Ended::Complete);
                }
                let failure = Failure::new(StatusCode::REQUEST_TIMEOUT, "the header section came too slowly");
                let most = self.state.server().limits.header_timeout;
                Some(Ended::Refused(failure.over("header_timeout", format_args!("{most} s"))))
            }
            Directive::WriteTimeout => {
                let most = self.state.server().limits.write_timeout;
                let remote = self.state.remote_addr();
                let line = || format!("{remote} write timeout: over `write_timeout` = {most} s");
                self.state.server().log.of_client(line);
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
                // what the client sent in TLS is wrong: what it still sends would keep it from reading why
                Err(e) if e.kind() == io::ErrorKind::InvalidData => return Poll::Ready(Ended::Linger),
                Err(_) => return Poll::Ready(Ended::Complete),
            }
        }
        let flushed = here(&mut self.io).poll_flush(cx);
        give_way(cx);
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
                ready!(here(&mut self.io).poll_flush(cx))?;
                Poll::Ready(Ok(Some(self.after_last())))
            }
            Doing::Refusing(failure) => {
                let failure = failure.clone();
                ready!(here(&mut self.io).poll_flush(cx))?;
                Poll::Ready(Ok(Some(Ended::Refused(failure))))
            }
            Doing::Switching(_) => {
                ready!(here(&mut self.io).poll_flush(cx))?;
                match std::mem::replace(&mut self.doing, Doing::Ending) {
                    Doing::Switching(switched) => Poll::Ready(Ok(Some(Ended::Socket(switched)))),
                    _ => Poll::Ready(Ok(None)),
                }
            }
        }
    }

    /// Reads the next header section.
    fn read(&mut self, cx: &mut Context<'_>) -> Step {
        loop {
            let io = here(&mut self.io);
            if io.is_full() {
                ready!(io.poll_flush(cx))?;
            }
            if !io.input().is_empty() {
                match if self.new { io.is_http2_agreed().or_else(|| h2::recognise(io.input())) } else { Some(false) } {
                    Some(true) => return Poll::Ready(Ok(Some(Ended::Http2))),
                    Some(false) => {
                        self.new = false;
                        match self.reader.read(io.input(), &self.state.server().limits) {
                            Ok((used, request)) => {
                                io.consume(used);
                                let so_far = self.reader.size() + io.input().len();
                                if let Some((mut head, framing)) = request {
                                    // it takes what it still lacks when it is admitted
                                    if let Some(room) = self.room.take() {
                                        head.holds(room);
                                    }
                                    self.begin(head, &framing);
                                    return Poll::Ready(Ok(None));
                                }
                                if so_far > SHORT_HEAD {
                                    let budget = &self.state.server().budget;
                                    let room = self.room.get_or_insert_with(|| budget.head());
                                    if !room.fit(so_far - SHORT_HEAD) {
                                        self.doing = Doing::Refusing(no_room_for_head());
                                        return Poll::Ready(Ok(None));
                                    }
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
                if self.reader.has_begun() || !io.input().is_empty() {
                    self.state.head_comes();
                }
            }
            ready!(io.poll_flush(cx))?;
            if ready!(io.poll_fill(cx))? == 0 {
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
        if here(&mut self.io).stream().is_misdirected() {
            self.doing = Doing::Refusing(misdirected(&head));
            return;
        }
        let server = self.state.server();
        let io = here(&mut self.io);
        io.body = BodyReader::new(framing);
        let body = Incoming::of(io, &server.limits);
        let answering = self.service.answer(head, body, self.state.clone());
        self.write_hints();
        match answering {
            Answering::Now(Some(response)) => self.respond(response),
            Answering::Now(None) => {}
            Answering::Later(answer) => self.doing = Doing::Answering(answer),
        }
    }

    fn answer(&mut self, cx: &mut Context<'_>) -> Step {
        let Doing::Answering(answer) = &mut self.doing else { return Poll::Ready(Ok(None)) };
        let poll = current_transport::lend(&mut self.io, || answer.as_mut().poll(cx));
        self.write_hints();
        if let Poll::Ready(response) = poll {
            self.respond(response);
            return Poll::Ready(Ok(None));
        }
        self.while_waiting(cx)
    }

    /// What the client is told ahead goes before all else of its response.
    fn write_hints(&mut self) {
        for hints in self.state.hints.take() {
            encode::early_hints(hints.fields(), here(&mut self.io).output());
        }
    }

    /// Nothing more is to be done for now; but what is written goes out, and the client may go.
    fn while_waiting(&mut self, cx: &mut Context<'_>) -> Step {
        let io = here(&mut self.io);
        let _ = io.poll_flush(cx)?;
        // one that has ended its side still gets an answer whose length it knows
        let is_certain = matches!(&self.doing, Doing::Sending(body, ..) if body.len().is_some());
        // most are answered before a new socket would be known to the runtime, and only those that are not are worth
        // that
        let is_watched = io.is_watched() || self.state.is_worth_watching();
        if is_watched && !is_certain && io.body.has_ended() && io.input().is_empty() {
            if let Poll::Ready(0) = io.poll_fill(cx)? {
                return Poll::Ready(Ok(Some(Ended::Complete)));
            }
        }
        Poll::Pending
    }

    /// Writes the response, or its head.
    fn respond(&mut self, response: Response) {
        let io = here(&mut self.io);
        let framed = encode::framing(&response, self.asked);
        let can_skip =
            io.body.has_ended() || (!io.body.is_expected() && io.body.left().is_some_and(|left| left <= SKIPPED));
        let keep_alive = self.asked.keep_alive
            && !self.draining
            && !self.state.server().is_draining()
            && framed != Framed::Close
            && can_skip
            && !response.fields.close;
        self.asked.keep_alive = keep_alive;
        encode::head(&response, framed, self.asked, io.output());
        let mut body = response.body;
        let mut sent = Sent::new(response.end);
        match (framed, body.take_bytes()) {
            (Framed::Switched, _) => {
                if let Some(accepted) = body.take_socket() {
                    self.doing = Doing::Switching(Box::new(Switched { accepted, body, sent }));
                }
                return;
            }
            (Framed::Bodiless, _) => {}
            (Framed::Length(_), Some(bytes)) => {
                sent.add(bytes.len());
                io.push(bytes);
            }
            _ => {
                self.doing = Doing::Sending(body, framed, sent);
                return;
            }
        }
        drop(body);
        io.ends(sent);
        self.answered();
    }

    /// Sends more of the response's body.
    fn send(&mut self, cx: &mut Context<'_>) -> Step {
        let whole = loop {
            let io = here(&mut self.io);
            if io.is_full() {
                ready!(io.poll_flush(cx))?;
            }
            if self.sent >= SENT_AT_ONCE {
                give_way(cx);
                return self.while_waiting(cx);
            }
            let Doing::Sending(body, framed, sent) = &mut self.doing else { return Poll::Ready(Ok(None)) };
            match body.poll(cx, usize::MAX) {
                Poll::Pending => return self.while_waiting(cx),
                Poll::Ready(Some(Ok(piece))) => {
                    sent.add(piece.len());
                    self.sent += piece.len();
                    if !framed.write(piece, io) {
                        break false;
                    }
                }
                Poll::Ready(None) => {
                    let whole = body.trailers().is_ok_and(|trailers| framed.end(&trailers, io));
                    if whole {
                        io.ends(std::mem::take(sent));
                    }
                    break whole;
                }
                Poll::Ready(Some(Err(_))) => break false,
            }
        };
        // a body that breaks off is told by the end of the connection
        if !whole {
            here(&mut self.io).stream().breaks_off();
        }
        self.asked.keep_alive &= whole;
        self.answered();
        Poll::Ready(Ok(None))
    }

    /// The response is in the output.
    fn answered(&mut self) {
        self.doing = if !self.asked.keep_alive {
            Doing::Ending
        } else if here(&mut self.io).body.has_ended() {
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
            let io = here(&mut self.io);
            let skipped = io.read_body(self.state.server().limits.max_body, |_| Ok::<(), Failure>(()));
            if !matches!(skipped, Ok(false)) || self.state.transfer.is_body_late() {
                self.state.transfer.body_ends();
                self.doing = if matches!(skipped, Ok(true)) { Doing::Reading } else { Doing::Ending };
                return Poll::Ready(Ok(None));
            }
            ready!(io.poll_flush(cx))?;
            match ready!(io.poll_fill(cx))? {
                0 => return Poll::Ready(Ok(Some(Ended::Complete))),
                n => self.state.transfer.body_moves(n),
            }
        }
    }

    /// After the last answer. Closing a socket with unread bytes resets the connection, and a reset can overtake the
    /// answer: so what the client still sends is read for a while, unless it has nothing more to say.
    fn after_last(&mut self) -> Ended {
        // a client of a server that is ending has nothing more to say either
        if self.state.server().is_draining() || self.is_complete() {
            Ended::Complete
        } else {
            Ended::Linger
        }
    }

    /// Whether the client has said that it sends nothing any more, and all that it had sent is answered. Then the
    /// connection may be closed without reading on: no byte can come that would make the kernel reset it.
    fn is_complete(&mut self) -> bool {
        let io = here(&mut self.io);
        io.has_ended() || (self.was_last && io.body.has_ended() && io.input().is_empty() && !self.reader.has_begun())
    }
}

/// The answer to a request that came without TLS where that is spoken: where to come, if the client has said how it
/// reached the server.
fn misdirected(head: &Head) -> Failure {
    let host = head.fields.named(b"host").next().and_then(|host| std::str::from_utf8(host).ok());
    let place = host.filter(|host| !host.is_empty()).map(|host| format!("https://{host}{}", head.target()));
    match place.and_then(|place| HeaderValue::try_from(place).ok()) {
        Some(place) => Failure::new(StatusCode::PERMANENT_REDIRECT, "this server speaks HTTPS").with(&LOCATION, place),
        None => Failure::new(StatusCode::BAD_REQUEST, "this server speaks HTTPS, and the request came without TLS"),
    }
}

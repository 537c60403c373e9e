//! A connection of HTTP/2, to its end: requests are taken as they come and answered at once where that is possible;
//! those that have to wait, or whose clients do, get a task each. Neighbours: `io` (what the library reads and writes),
//! `stream` (one request).

use super::io::Io;
use super::piece::Piece;
use super::stream::{self, Stream};
use super::websocket_line;
use crate::connection::{Connection, Directive};
use crate::current_transport;
use crate::service::Service;
use crate::shared::Shared;
use crate::transport::Transport;
use crate::turn::{self, give_way};
use admission::Limits;
use h2::server::{Builder, Connection as Machine, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;
use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::{Duration, Instant};

/// Bytes of requests' bodies that are on their way, for a stream and for all of a connection.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of a response that the library holds.
const HELD: usize = 64 << 10;
/// Streams that a client may have reset before they were accepted (CVE-2023-44487), and those that its errors may make
/// us reset (CVE-2025-8671): then the connection ends.
const RESETS: usize = 20;
const RESETS_OF_OURS: usize = 1024;
/// Those that a request has beside its header fields: method, scheme, authority, path and protocol.
const PSEUDO_FIELDS: usize = 5;
/// Other connections have their turn after `ROUNDS` rounds of requests, and between two requests after `SLICE`:
/// looking for a file takes ten times as long as answering from memory.
const ROUNDS: usize = 8;
const SLICE: Duration = Duration::from_micros(20);

/// Serves a connection to its end, and gives its transport back.
pub async fn serve(io: Box<Transport>, state: &Arc<Connection>, service: &Arc<dyn Service>) -> Option<Box<Transport>> {
    state.speaks_http2();
    let server = state.server();
    if server.is_draining() {
        state.give(Directive::Drain);
    }
    let mut serving = Serving {
        machine: Protocol::Beginning(builder(server).handshake(Io::new(state.clone()))),
        ending: Directive::None,
        arrived: VecDeque::new(),
        begun: Vec::new(),
        state,
        service,
    };
    let mut io = Some(io);
    poll_fn(|cx| {
        state.set_waker(cx.waker());
        if !serving.follow_directive() {
            return Poll::Ready(());
        }
        if let Some(io) = &mut io {
            io.begin();
        }
        let ended = serving.turn(cx, &mut io);
        if let Some(io) = &mut io {
            io.rest();
        }
        ended
    })
    .await;
    io
}

fn builder(server: &Shared) -> Builder {
    let limits = &server.limits;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.max_streams)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(header_list(limits))
        .max_send_buffer_size(HELD)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(Some(RESETS_OF_OURS))
        .enable_connect_protocol();
    builder
}

/// What the library takes of a header section before it refuses it by itself, of which no log tells: not less than
/// `fields` lets pass, as each field has 32 bytes more here (RFC 9113 section 6.5.2). Target and authority are fields,
/// too: together they have the same room, as what comes of a section before its end cannot be counted.
fn header_list(limits: &Limits) -> u32 {
    let fields = limits.max_headers.saturating_add(PSEUDO_FIELDS).saturating_mul(32);
    let size = limits.max_header_size.max(limits.max_request_line).saturating_add(fields);
    u32::try_from(size).unwrap_or(u32::MAX)
}

enum Protocol {
    Beginning(Handshake<Io, Piece>),
    Open(Machine<Io, Piece>),
}

struct Serving<'a> {
    machine: Protocol,
    /// the last directive that was followed
    ending: Directive,
    /// requests that have come, and are not looked at yet
    arrived: VecDeque<(Request<RecvStream>, SendResponse<Piece>)>,
    /// those that were answered at once
    begun: Vec<Stream>,
    state: &'a Arc<Connection>,
    service: &'a Arc<dyn Service>,
}

impl Serving<'_> {
    /// Does what the server wants. `false` when that is to end at once.
    fn follow_directive(&mut self) -> bool {
        let directive = self.state.directive();
        match directive {
            Directive::None => return true,
            Directive::Close | Directive::HeaderTimeout => return false,
            Directive::WriteTimeout => {
                let most = self.state.server().limits.write_timeout;
                self.log(&format!("write timeout: over `write_timeout` = {most} s"));
                return false;
            }
            Directive::Drain | Directive::Flood => {}
        }
        let machine = match &mut self.machine {
            Protocol::Open(machine) if self.ending < directive => machine,
            // followed already, or once the client has said what it speaks
            _ => return true,
        };
        self.ending = directive;
        if directive == Directive::Flood {
            machine.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
            self.log("too many frames that ask for nothing");
        } else {
            machine.graceful_shutdown();
            // what has no end of its own has to hear of it
            self.state.for_each_transfer(|transfer| transfer.wake());
        }
        true
    }

    fn log(&self, text: &str) {
        self.state.server().log.of_client(|| format!("{} {text}", self.state.remote_addr()));
    }

    /// Goes on until something has to be waited for.
    fn turn(&mut self, cx: &mut Context<'_>, io: &mut Option<Box<Transport>>) -> Poll<()> {
        turn::begin();
        let began = Instant::now();
        let mut ended = Poll::Pending;
        for round in 1.. {
            ended = current_transport::lend(io, || self.accept(cx));
            if ended.is_ready() || self.arrived.is_empty() {
                break;
            }
            if !self.answer(began) || round == ROUNDS {
                // a response that is written needs no task of its own
                ended = current_transport::lend(io, || self.accept(cx));
                give_way(cx);
                break;
            }
        }
        // by now the library has written what the client takes
        for stream in self.begun.drain(..).filter(|stream| !stream.is_done()) {
            tokio::spawn(stream);
        }
        ended
    }

    /// Answers what has come. `false` when that is enough for this turn.
    fn answer(&mut self, began: Instant) -> bool {
        while let Some((request, respond)) = self.arrived.pop_front() {
            self.begun.extend(stream::begin(request, respond, self.state, self.service, websocket_line::spawn));
            if !self.arrived.is_empty() && began.elapsed() >= SLICE {
                return false;
            }
        }
        true
    }

    /// Has the library read and write; requests that come together are answered together.
    fn accept(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.machine {
                Protocol::Beginning(handshake) => match ready!(Pin::new(handshake).poll(cx)) {
                    Ok(machine) => {
                        self.machine = Protocol::Open(machine);
                        // a directive may have waited for this
                        self.follow_directive();
                    }
                    Err(_) => return Poll::Ready(()),
                },
                Protocol::Open(machine) => match ready!(machine.poll_accept(cx)) {
                    Some(Ok(request)) => self.arrived.push_back(request),
                    Some(Err(_)) | None => return Poll::Ready(()),
                },
            }
        }
    }
}

//! The link of C handlers, and the thread that looks after it: takes requests, runs inline ones itself, gives others to
//! the threads of the handlers, and passes on what the server says of requests that run.
//!
//! A request that waits for a thread has not begun: the thread that begins with it says so in its slot (`Sink::start`),
//! and until then the server may take it back. Neighbours: `sink` (the answer of a request, from any thread), `outbox`
//! (the ring of replies), `exchange` (what is called).

use crate::log_line::{LogLine, ERROR, WARN};
use crate::notifying::Notifying;
use crate::outbox::{failure, Outbox};
use crate::packed::packed;
use crate::sink::{is_link, never_wait_here, sink, About, LinkRequest};
use bytes::Bytes;
use exchange::{Answer, Handlers, Head, Response, WebSocketCommands};
use shm::{Assembler, Bell, Consumer, RequestId, WorkerEnd};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use wire::command::Command;
use wire::stream::Order;
use wire::websocket::{Event, What};
use wire::{BodyRef, Request, FLAG_WEBSOCKET};

/// An inline handler that takes longer is logged: all other requests of the link wait for it.
const LONG: Duration = Duration::from_millis(50);
/// But not more often than this.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Statuses of replies.
const SWITCHING_PROTOCOLS: u16 = 101;
const NO_CONTENT: u16 = 204;

/// The handler of a route.
#[derive(Debug, Clone, Copy)]
pub struct CRoute {
    /// its number, from 1
    pub handler: u32,
    /// whether it has promised not to block
    pub inline: bool,
    /// longest time to its answer; `None` for any
    pub timeout: Option<Duration>,
}

/// Wake the handlers' threads after this many requests for them, even when more requests are in the ring.
const FLUSH_AFTER: u32 = 32;

/// See the module.
pub struct CLink {
    requests: Consumer,
    assembler: Assembler,
    bell: Arc<Bell>,
    outbox: Arc<Outbox>,
    /// by the numbers of routes; `None` for those of R
    routes: Vec<Option<CRoute>>,
    handlers: Arc<dyn Handlers>,
    log: LogLine,
    /// by slot: requests whose answers come through a sink
    sinks: Vec<Option<Arc<LinkRequest>>>,
    notifying: Notifying,
    /// replies of inline handlers were written since the server's bell was rung
    unnotified: bool,
    /// requests that the threads of the handlers have not been woken for
    unflushed: u32,
    warned_of_long: Option<Instant>,
    message: Vec<u8>,
    reply: Vec<u8>,
}

/// What still runs at a link, for ending its process.
#[derive(Clone)]
pub struct CRest(Arc<Outbox>);

impl CRest {
    /// From now on nothing is begun; the server gives it to others when this process has ended. Whether nothing runs
    /// any more.
    pub fn stop(&self) -> bool {
        self.0.stop()
    }
}

impl CLink {
    /// A link whose requests for these routes go to these handlers.
    pub fn new(end: WorkerEnd, routes: Vec<Option<CRoute>>, handlers: Arc<dyn Handlers>, log: LogLine) -> Self {
        CLink {
            requests: end.requests,
            assembler: Assembler::default(),
            bell: end.bell,
            outbox: Arc::new(Outbox::new(end.replies, end.files, end.server_bell, end.slots)),
            routes,
            handlers,
            log,
            sinks: Vec::new(),
            notifying: Notifying::default(),
            unnotified: false,
            unflushed: 0,
            warned_of_long: None,
            message: Vec::new(),
            reply: Vec::new(),
        }
    }

    /// The same, with the server's folder for long bodies. Without it, replies are short or failures.
    pub fn spooling(mut self, folder: PathBuf) -> Self {
        self.set(|outbox| outbox.folder = Some(folder));
        self
    }

    /// The same, telling clients why handlers fail, if so.
    pub fn debugging(mut self, debug: bool) -> Self {
        self.set(|outbox| outbox.debug = debug);
        self
    }

    fn set(&mut self, change: impl FnOnce(&mut Outbox)) {
        // not shared before the link serves
        if let Some(outbox) = Arc::get_mut(&mut self.outbox) {
            change(outbox);
        }
    }

    /// What runs at it, once it serves.
    pub fn rest(&self) -> CRest {
        CRest(self.outbox.clone())
    }

    /// Serves on this thread, until something has been written over the link.
    pub fn run(mut self) {
        never_wait_here();
        let commands: Weak<dyn WebSocketCommands> = Arc::downgrade(&self.outbox) as _;
        self.handlers.speak_to(commands);
        loop {
            while self.turn() {}
            if self.requests.is_broken() {
                return;
            }
            self.flush();
            if self.unnotified || self.assembler.is_open() {
                // the rest of a long message comes when the server knows that there is room
                self.notify();
            }
            self.bell.doze();
            if self.requests.is_empty() {
                self.bell.wait();
                self.bell.awake();
            } else {
                self.bell.stay_awake();
            }
        }
    }

    /// Deals with the next message. `false` when there is none.
    fn turn(&mut self) -> bool {
        let message = &mut self.message;
        let id = self.requests.receive(&mut self.assembler, |word, bytes| {
            message.clear();
            message.extend_from_slice(bytes);
            RequestId::from_word(word)
        });
        let Some(id) = id else { return false };
        if id == RequestId::NOBODY {
            // the answer to a command, such as how many a broadcast has reached: C handlers do not wait for it
            return true;
        }
        match Order::decode(&self.message) {
            Some(order) => {
                let half = self.sinks.get(id.slot as usize).and_then(Option::as_ref);
                if let Some(half) = half.filter(|half| half.about.id == id) {
                    half.apply(order);
                }
            }
            None => self.begin(id),
        }
        true
    }

    fn begin(&mut self, id: RequestId) {
        let number = Request::peek(&self.message);
        let mut message = std::mem::take(&mut self.message);
        let route = self.routes.get(number as usize).copied().flatten();
        match (route, Request::decode(&message)) {
            (Some(route), Ok(request)) if route.inline => self.run_inline(id, number, route, &request),
            (Some(route), Ok(request)) => {
                let received = Instant::now();
                let about = About::new(id, &request, route.timeout.and_then(|timeout| received.checked_add(timeout)));
                let (sink, half) = sink(about, &self.outbox, &self.log, None);
                self.remember(half);
                self.handlers.submit(route.handler, message, received, sink);
                self.unflushed += 1;
                if self.unflushed >= FLUSH_AFTER {
                    self.flush();
                }
                // the message has gone with it
                return;
            }
            (_, request) => {
                let why = request.err().map_or_else(|| "its route has no C handler".to_owned(), |e| e.to_string());
                (self.log)(ERROR, &format!("a request cannot be served: {why}"));
                if self.outbox.start(id) {
                    self.fail(id);
                }
            }
        }
        kept::empty(&mut message);
        self.message = message;
    }

    fn run_inline(&mut self, id: RequestId, number: u32, route: CRoute, request: &Request<'_>) {
        if !self.outbox.start(id) {
            return; // taken back
        }
        if self.notifying.must_notify_before(number) {
            self.notify();
        }
        self.flush();
        self.notifying.begin(number);
        let (outbox, log) = (&self.outbox, &self.log);
        let mut later = None;
        let answer = match event_of(request) {
            Some(event) => {
                let connect = matches!(event.what, What::Connect(_)).then_some(request as _);
                let wrong = self.handlers.event(route.handler, &event, connect);
                Some(wrong.unwrap_or_else(|| accepted(&event)))
            }
            None => self.handlers.run(route.handler, request, &mut || {
                let began = Instant::now();
                let about = About::new(id, request, route.timeout.and_then(|timeout| began.checked_add(timeout)));
                let (sink, half) = sink(about, outbox, log, Some(began));
                later = Some(half);
                sink
            }),
        };
        match (answer, later) {
            (Some(answer), _) => self.answer(id, request, &answer),
            (None, Some(half)) => {
                half.yielded();
                self.remember(half);
            }
            (None, None) => self.fail(id),
        }
        let took = self.notifying.end();
        if took >= LONG && self.warned_of_long.is_none_or(|warned| warned.elapsed() >= WARN_EVERY) {
            self.warned_of_long = Some(Instant::now());
            let (who, took) = (About::new(id, request, None).who(), took.as_millis());
            let why = format!("{who} an inline handler took {took} ms: all C handlers of its process waited for it");
            (self.log)(WARN, &why);
        }
    }

    fn answer(&mut self, id: RequestId, request: &Request<'_>, answer: &Answer) {
        if let Answer::Failure { status, why, .. } = answer {
            if !why.is_empty() {
                (self.log)(ERROR, &format!("{} {status} {why}", About::new(id, request, None).who()));
            }
        }
        self.outbox.encode(answer, &mut self.reply);
        if let Some(packed) = packed(&self.reply, request.head.terms) {
            self.reply = packed;
        }
        self.send_reply(id);
    }

    fn fail(&mut self, id: RequestId) {
        failure(500, "", &mut self.reply);
        self.send_reply(id);
    }

    fn send_reply(&mut self, id: RequestId) {
        let took = self.notifying.answered();
        self.outbox.reply(id, &mut self.reply, took);
        kept::empty(&mut self.reply);
        self.outbox.finished();
        self.notifying.replied();
        self.unnotified = true;
    }

    fn remember(&mut self, half: Arc<LinkRequest>) {
        let slot = half.about.id.slot as usize;
        if slot >= self.sinks.len() {
            self.sinks.resize(slot + 1, None);
        }
        self.sinks[slot] = Some(half);
    }

    /// Has the threads of the handlers begin with what they were given.
    fn flush(&mut self) {
        if std::mem::take(&mut self.unflushed) > 0 {
            self.handlers.flush();
        }
    }

    /// Rings for all replies of inline handlers that have not been rung for.
    fn notify(&mut self) {
        self.unnotified = false;
        self.outbox.notify();
        self.notifying.notified();
    }
}

/// What has happened on a WebSocket, if the request is of that kind.
fn event_of<'r>(request: &Request<'r>) -> Option<Event<'r>> {
    match request.head.body {
        BodyRef::Inline(body) if request.head.flags & FLAG_WEBSOCKET != 0 => Event::decode(body).ok(),
        _ => None,
    }
}

/// The reply when all is well: a client that wants to connect is taken, and the connection is this process's.
fn accepted(event: &Event<'_>) -> Answer {
    let (status, body) = match event.what {
        What::Connect(_) => (SWITCHING_PROTOCOLS, Bytes::copy_from_slice(&std::process::id().to_le_bytes())),
        What::Text(_) | What::Binary(_) | What::Close { .. } => (NO_CONTENT, Bytes::new()),
    };
    Answer::Response(Response { head: Head { status, content_type: None, headers: Vec::new() }, body })
}

impl WebSocketCommands for Outbox {
    fn say(&self, command: &Command<'_>) -> bool {
        let mut message = Vec::new();
        command.encode(0, &mut message);
        let said = self.send(RequestId::NOBODY, &message);
        // the link's thread rings when its handler has returned
        if !is_link() {
            self.notify();
        }
        said
    }
}

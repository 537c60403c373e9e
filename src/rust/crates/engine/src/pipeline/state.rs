//! What is known of a request from its head to its end.

use super::end::{Answered, Ending, Watch};
use crate::context::Context;
use crate::edge::auth::Heard;
use crate::edge::cache::Making;
use crate::edge::compress::Wanted;
use crate::edge::early_hints;
use crate::edge::policies::Covering;
use crate::pool::Current;
use admission::rate::Standing;
use bytes::Bytes;
use exchange::Trace;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::StatusCode;
use httpd::{Client, Connection, Decoding, EarlyHints, Forwarded, Head, OpenRequest, Received, Role};
use identity::Who;
use observe::metrics as counted;
use observe::{with_names, Level};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

/// See the module. One that is dropped before it was answered belongs to a client that has left.
pub struct State {
    /// names it, to its client and in the log
    pub id: u64,
    /// what it asks for
    pub head: Head,
    /// whether it is for something below the base path
    pub is_inside: bool,
    /// what a trusted proxy says of it
    forwarded: Option<Arc<Forwarded>>,
    /// `None` once it is answered
    open: Option<OpenRequest>,
    /// `None` when its end is not recorded
    pub watch: Option<Watch>,
    /// the policies of the app, once it is routed; never when there are none
    pub covered: OnceLock<Covered>,
    /// where a cache covers it: what its response is for
    pub making: OnceLock<Box<Making>>,
    /// the result of an authentication that took long
    pub heard: OnceLock<Heard>,
    /// the links that its route tells clients of, once it was handed to its handler: its response has them, too
    pub links: OnceLock<Arc<EarlyHints>>,
    /// the process that has answered it; 0 for none
    answered_by: AtomicI32,
    /// the process that its client names, where an app keeps clients with their workers; 0 for none
    preferred: AtomicI32,
    /// where failed requests are kept: what is to be kept of it. Locked only because the runtime asks for `Sync`.
    asked: Mutex<Option<Box<Asked>>>,
}

/// What is not known of a request any more when it is answered, and is kept of one that has failed.
pub struct Asked {
    /// `None` when it is in a file
    pub body: Option<Bytes>,
    pub body_size: u64,
    pub session: Option<Vec<u8>>,
    /// `None` when none has taken it
    pub route: Option<u32>,
    pub generation: u32,
    pub since: Instant,
    pub at: SystemTime,
}

/// How a client stands by limits, by their numbers: mostly none, or one.
pub type Counted = SmallVec<[(usize, Standing); 1]>;

/// The policies that a request was judged by: its response is dressed by the same, though another generation of the app
/// may have taken over meanwhile.
pub struct Covered {
    pub app: Arc<Current>,
    pub route: Option<u32>,
    pub covering: Covering,
    pub standings: Counted,
    /// how the answer is packed, if it is to be
    pub wanted: Option<Wanted>,
    /// how the body is to be unpacked, if it is packed
    pub decoding: Option<Decoding>,
    /// once all of them have been asked
    pub passed: OnceLock<Passed>,
    /// the session of its client and its end, if its cookie is to be renewed
    pub renewal: OnceLock<Box<(Vec<u8>, u64)>>,
}

/// What policies know of a request that they let pass.
pub struct Passed {
    /// the authenticated client, if any
    pub who: Option<Arc<Who>>,
    /// how the client stands by limits on it
    pub standings: Counted,
}

/// No process has this number.
const NOT_ASKED: i32 = -1;

impl State {
    pub fn new(mut head: Head, connection: Arc<Connection>, context: &Context) -> Self {
        let id = connection.server().next_id();
        let forwarded = Forwarded::read(&mut head, &connection);
        let is_inside = context.base_path.take(&mut head, &connection);
        // probes come every second, and from no client of the app
        let watch = if connection.role() == Role::Admin { None } else { Watch::begin(context) };
        State {
            id,
            head,
            is_inside,
            forwarded,
            open: Some(OpenRequest::new(connection)),
            watch,
            covered: OnceLock::new(),
            making: OnceLock::new(),
            heard: OnceLock::new(),
            links: OnceLock::new(),
            answered_by: AtomicI32::new(0),
            preferred: AtomicI32::new(NOT_ASKED),
            asked: Mutex::default(),
        }
    }

    /// The same request once more, whose response is for no client.
    pub fn unawaited(asked: &State) -> Self {
        let connection = asked.connection().clone();
        let covered = OnceLock::new();
        if let Some(Covered { app, route, covering, wanted, passed, .. }) = asked.covered.get() {
            // of the same client, and it counts for no limit
            let passed = passed.get().map(|passed| Passed { who: passed.who.clone(), standings: Counted::new() });
            let passed = passed.map_or_else(OnceLock::new, OnceLock::from);
            let _ = covered.set(Covered {
                app: app.clone(),
                route: *route,
                covering: covering.clone(),
                standings: Counted::new(),
                wanted: wanted.clone(),
                decoding: None,
                passed,
                renewal: OnceLock::new(),
            });
        }
        State {
            id: connection.server().next_id(),
            head: asked.head.copy(),
            is_inside: asked.is_inside,
            forwarded: asked.forwarded.clone(),
            open: Some(OpenRequest::unawaited(connection)),
            // no client has asked for it
            watch: None,
            covered,
            making: OnceLock::new(),
            heard: OnceLock::new(),
            links: OnceLock::new(),
            answered_by: AtomicI32::new(0),
            preferred: AtomicI32::new(NOT_ASKED),
            asked: Mutex::default(),
        }
    }

    /// A worker has answered it: this process, if it is one.
    pub fn answered_by(&self, pid: Option<i32>) {
        self.answered_by.store(pid.unwrap_or(0), Relaxed);
    }

    /// The process that its client names, the first time: when it is asked again, that one has gone.
    pub fn prefers(&self, pid: impl FnOnce() -> Option<i32>) -> Option<i32> {
        if self.preferred.load(Relaxed) != NOT_ASKED {
            return None;
        }
        let named = pid();
        self.preferred.store(named.unwrap_or(0), Relaxed);
        named
    }

    /// The process that has answered it, where its client has named another, or none, and was asked.
    pub fn strays_to(&self) -> Option<i32> {
        let (preferred, answered_by) = (self.preferred.load(Relaxed), self.answered_by.load(Relaxed));
        (preferred != NOT_ASKED && answered_by != 0 && answered_by != preferred).then_some(answered_by)
    }

    /// The connection that it came by.
    pub fn connection(&self) -> &Arc<Connection> {
        self.open.as_ref().expect("a request is open until it is answered").connection()
    }

    /// Tells its client of links ahead of its response, where that is one that takes them. Only while it is being
    /// answered.
    pub fn hint(&self, hints: Arc<EarlyHints>) {
        if self.open.as_ref().is_some_and(OpenRequest::is_awaited) && early_hints::takes(&self.head) {
            self.connection().hints.give(hints);
        }
    }

    /// Keeps the result of an authentication that took long.
    pub fn has_heard(&self, heard: Heard) {
        let _ = self.heard.set(heard);
    }

    /// The authenticated client, if any.
    pub fn who(&self) -> Option<&Who> {
        self.covered.get()?.passed.get()?.who.as_deref()
    }

    /// How its answer is packed, if it is to be.
    pub fn wanted(&self) -> Option<&Wanted> {
        self.covered.get()?.wanted.as_ref()
    }

    /// The terms by which the code that has its answer packs it.
    pub fn terms(&self) -> Option<&Arc<[u8]>> {
        let wanted = self.wanted()?;
        let is_packed_later = self.making.get().is_some_and(|making| making.packs());
        Some(if is_packed_later { wanted.terms_of_streams() } else { wanted.terms() })
    }

    /// How its body is to be unpacked, if it is packed.
    pub fn decoding(&self) -> Option<Decoding> {
        self.covered.get()?.decoding
    }

    /// Its body, which was packed, is here: handlers are told of what they get.
    pub fn unpacked(&mut self, body: &Received) {
        let len = match body {
            Received::Empty => 0,
            Received::Memory(bytes) => bytes.len() as u64,
            Received::Spooled(_, len) => *len,
        };
        let fields = &mut self.head.fields;
        fields.remove(CONTENT_ENCODING.as_str().as_bytes());
        if fields.get(&CONTENT_LENGTH).is_some() {
            fields.set(CONTENT_LENGTH.as_str().as_bytes(), len.to_string().as_bytes());
        }
    }

    /// What a trusted proxy says of it, if it came by one.
    pub fn forwarded(&self) -> Option<&Arc<Forwarded>> {
        self.forwarded.as_ref()
    }

    /// What a trusted proxy calls it.
    pub fn given_id(&self) -> Option<&str> {
        self.forwarded()?.request_id.as_deref()
    }

    /// Whom it is from.
    pub fn client(&self) -> &Client {
        Forwarded::client_of(self.forwarded(), self.connection())
    }

    /// Whether the client came by TLS, here or to a trusted proxy.
    pub fn is_https(&self) -> bool {
        let said = self.forwarded().and_then(|forwarded| forwarded.https);
        said.unwrap_or_else(|| self.connection().tls().is_some())
    }

    /// Writes a line of the log about it.
    pub fn log(&self, level: Level, status: StatusCode, text: &str) {
        self.connection().server().log.line(level, &self.line(status, text));
    }

    /// What the log says of it.
    pub fn line(&self, status: StatusCode, text: &str) -> String {
        let (method, path) = (&self.head.method, self.head.whole_path().concat());
        let (id, client) = (self.id, &self.client().address);
        let line = format!("id={id:016x} {client} {method} {path} {} {text}", status.as_u16());
        with_names(line, &Trace::new(id, self.head.trace_parent()), self.given_id())
    }

    /// What it asks for, as far as that is known.
    pub fn goes_to(&self, route: counted::Route) {
        if let Some(watch) = &self.watch {
            watch.goes_to(route);
        }
    }

    /// Notes how long its handler took, in microseconds.
    pub fn ran(&self, micros: u32) {
        if let Some(watch) = &self.watch {
            watch.ran(micros);
        }
    }

    /// Its response comes piece by piece.
    pub fn streams(&self) {
        if let Some(watch) = &self.watch {
            watch.streams();
        }
    }

    /// Keeps what is to be kept of it if it fails.
    pub fn asked(&self, asked: Asked) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(asked));
    }

    /// The same, once; `None` when no handler has been given it.
    pub fn take_asked(&self) -> Option<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take().map(|asked| *asked)
    }

    /// It is answered: how it ends is for others to say.
    pub fn answered(&mut self, answered: Answered) -> (Option<OpenRequest>, Option<Box<Ending>>) {
        let ending = self.ending(answered);
        (self.open.take(), ending)
    }

    fn ending(&mut self, answered: Answered) -> Option<Box<Ending>> {
        let watch = self.watch.take()?;
        let from = (self.connection().clone(), self.forwarded.clone());
        Some(Box::new(Ending::new(watch, self.id, self.head.take(), from, answered)))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(ending) = self.ending(Answered::not()) {
            httpd::End::end(ending, 0, false);
        }
    }
}

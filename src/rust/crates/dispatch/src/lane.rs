//! Handlers of a worker behind one link, and how many run at a time: R is a lane of width 1, a pool of C handlers one
//! as wide as it has threads. Inline C handlers run on the thread of a pool's link, one after the other. A lane
//! answers in any order.
//!
//! ```text
//! handed ──revoke▶ back to the queue
//!    │ begun ──reply▶ free
//!    │   │ the handler returned without one, as with a promise ▶ later ──reply▶ free
//!    │   └ the head of a stream ▶ parts ──end▶ free
//! ```
//! The slot of a request is freed by its last word, or when it is taken back in time; never while the worker may still
//! write it. Neighbours: `choose` (which lane a request goes to), `stream` (a body that comes piece by piece), `worker`
//! (its lanes together).

mod between;
mod late;
mod receive;
mod take_back;

use crate::assigned::Assigned;
use crate::link::Link;
use crate::load::Load;
use crate::request::Key;
use crate::runs::Runs;
use crate::stream::Stream;
use between::Between;
use bytes::Bytes;
use shm::{RequestId, ServerEnd};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wire::stream::Order;

/// See the module.
pub(crate) struct Lane {
    pub link: Link,
    /// handlers at a time, but for inline ones
    pub width: usize,
    /// by slot
    held: Vec<Option<Held>>,
    len: usize,
    /// with the thread of the link
    inline: Load,
    /// with all others
    main: Load,
    /// requests that it was ever given: the order of those that it has
    given: u64,
    /// requests whose bodies are being streamed
    streaming: usize,
    /// requests whose handlers have returned and answer later; in R's lane, promises under way
    awaited: usize,
    /// of these, those whose clients have left
    left: usize,
    /// of R's lane: what only R has
    r: Option<Between>,
    /// it has written what is no message
    broken: bool,
}

/// Promises whose clients have left that are waited for when the worker is to end: of more, the newest.
const MOST_LEFT: usize = 500;

struct Held {
    request: Assigned,
    runs: Runs,
    turn: u64,
    /// its handler has returned and answers later: it holds no thread
    later: bool,
    /// its handler was told that nothing waits for it
    cancelled: bool,
    /// its client has left, and it goes on as a promise
    left: bool,
    /// when a handler that still runs counts as stuck, in ms; never while a stream goes on
    due: u64,
    stuck: bool,
    /// how often it has said something for its client ahead of its answer
    links: u8,
    stream: Option<Stream>,
}

impl Held {
    /// Whether its handler has returned without any answer: that comes later.
    fn is_awaited(&self) -> bool {
        self.later && self.stream.is_none()
    }
}

/// What it said about a request.
pub(crate) enum Said {
    /// the last word: a reply, or the end of what was streamed
    Reply {
        /// `None` when it is not, or not any more, one that it has
        request: Option<Assigned>,
        message: Bytes,
        file: Option<OwnedFd>,
    },
    /// the head of a stream; the dispatcher gives it a pipe by [`Lane::begin`]
    Head { request: Assigned, message: Bytes },
    /// the handler of this request has returned and answers later
    Later(Key),
    /// the handler of this request has said something for its client, and goes on
    Notice(Key, Bytes),
    /// a stream has ended, after `micros` microseconds
    End { request: Assigned, micros: u32 },
    /// nothing that matters to others
    Aside,
    /// it wants something done that has to do with no request
    Command(Bytes),
}

impl Lane {
    /// R's lane, for up to `max_async` promises under way. In the context of the runtime of this thread.
    pub(crate) fn of_r(end: ServerEnd, max_async: usize) -> io::Result<Self> {
        Ok(Lane { r: Some(Between::new(max_async)), ..Lane::new(end, 1)? })
    }

    /// A lane of this width. In the context of the runtime of this thread.
    pub(crate) fn new(end: ServerEnd, width: usize) -> io::Result<Self> {
        Ok(Lane {
            link: Link::new(end)?,
            width: width.max(1),
            held: Vec::new(),
            len: 0,
            inline: Load::new(),
            main: Load::new(),
            given: 0,
            streaming: 0,
            awaited: 0,
            left: 0,
            r: None,
            broken: false,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Requests whose handlers have returned and answer later.
    pub(crate) fn awaited(&self) -> usize {
        self.awaited
    }

    /// How many requests it may have beside the promises that clients wait for: any of them may become one.
    pub(crate) fn room(&self) -> usize {
        self.r.as_ref().map_or(usize::MAX, |r| r.max_async.saturating_sub(self.awaited - self.left))
    }

    fn is_of_r(&self) -> bool {
        self.r.is_some()
    }

    /// Whether R is known to have other things to do between requests: pieces of bodies, and callbacks of promises.
    pub(crate) fn works_between(&self) -> bool {
        self.streaming > 0 || (self.is_of_r() && self.awaited > 0)
    }

    /// Whether the other end has nothing to do.
    pub(crate) fn sleeps(&self) -> bool {
        self.link.sleeps()
    }

    /// Whether R has begun none of the requests that it was given. It is waking up, or at something that the dispatcher
    /// cannot see: a callback of a timer, a garbage collection.
    pub(crate) fn has_begun_nothing(&self) -> bool {
        self.is_of_r() && self.main.n > 0 && !self.runs_any()
    }

    /// The same for so long that R is at something else: requests that wait for that.
    pub(crate) fn stalled(&self, now: Instant, slow: Duration) -> usize {
        if self.main.quiet_for(now) > slow && self.has_begun_nothing() {
            self.main.n
        } else {
            0
        }
    }

    /// Requests that hold a thread, or wait for one.
    pub(crate) fn running(&self) -> usize {
        self.inline.n + self.main.n
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken || self.link.is_broken()
    }

    /// Whether it has said something.
    pub(crate) fn has_news(&self) -> bool {
        self.link.has_news()
    }

    /// What is with the threads that run this.
    pub(crate) fn load(&self, runs: Runs) -> &Load {
        match runs {
            Runs::Inline => &self.inline,
            Runs::R | Runs::Pool => &self.main,
        }
    }

    fn load_mut(&mut self, runs: Runs) -> &mut Load {
        match runs {
            Runs::Inline => &mut self.inline,
            Runs::R | Runs::Pool => &mut self.main,
        }
    }

    /// How often in a row R did not begin what it was given.
    pub(crate) fn missed(&self) -> u32 {
        self.r.as_ref().map_or(0, Between::missed)
    }

    /// Whether R is at something else, as far as is known: it did not begin the last that it was given, and has neither
    /// said anything since nor slept.
    pub(crate) fn is_away(&self) -> bool {
        self.r.as_ref().is_some_and(|r| r.is_away) && !self.sleeps()
    }

    /// How many of this run at a time.
    pub(crate) fn width_of(&self, runs: Runs) -> usize {
        match runs {
            Runs::Inline => 1,
            Runs::R | Runs::Pool => self.width,
        }
    }

    /// Whether it is R's and does not come back from what it does between requests: a piece of a body, a callback. What
    /// it was given meanwhile has had its time, wherever it is now.
    pub(crate) fn is_unresponsive(&mut self, now: u64) -> bool {
        let sleeps = self.sleeps();
        let Some(r) = &mut self.r else { return false };
        if sleeps {
            r.unresponsive_at = u64::MAX;
        }
        now >= r.unresponsive_at && !self.runs_any()
    }

    /// The name in the log of the last request that left R something to do between requests, if one has.
    pub(crate) fn last_left(&self) -> Option<u64> {
        self.r.as_ref()?.last_left
    }

    fn leaves(&mut self, request: u64) {
        self.r.iter_mut().for_each(|r| r.last_left = Some(request));
    }

    /// Whether the thread of its link, which hands requests on, is in a handler that has no end.
    pub(crate) fn is_blocked(&self, now: impl FnOnce() -> Instant, slow: Duration) -> bool {
        self.inline.n > 0 && self.inline.quiet_for(now()) >= slow
    }

    /// Whether a handler of one of its requests is running.
    fn runs_any(&self) -> bool {
        self.all().any(|held| !held.later && self.has_begun(held.request.id))
    }

    fn all(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().flatten()
    }

    fn held(&self, id: RequestId) -> Option<&Held> {
        self.held.get(id.slot as usize)?.as_ref().filter(|held| held.request.id == id)
    }

    fn held_mut(&mut self, id: RequestId) -> Option<&mut Held> {
        self.held.get_mut(id.slot as usize)?.as_mut().filter(|held| held.request.id == id)
    }

    /// Hands it a request. `None` when it has no slot left.
    pub(crate) fn assign(
        &mut self,
        message: &[u8],
        runs: Runs,
        kill_after: u64,
        request: impl FnOnce(RequestId) -> Assigned,
    ) -> Option<RequestId> {
        let id = self.link.submit(message)?;
        let request = request(id);
        self.load_mut(runs).add(request.expected);
        self.given += 1;
        let due = request.deadline.saturating_add(kill_after);
        if let Some(r) = &mut self.r {
            r.unresponsive_at = r.unresponsive_at.min(due);
        }
        let held = Held {
            due,
            request,
            runs,
            turn: self.given,
            later: false,
            cancelled: false,
            left: false,
            stuck: false,
            links: 0,
            stream: None,
        };
        let slot = id.slot as usize;
        if slot >= self.held.len() {
            self.held.resize_with(slot + 1, || None);
        }
        self.held[slot] = Some(held);
        self.len += 1;
        Some(id)
    }

    /// It does not have this request any more. Its slot is free, unless it was taken back.
    fn take(&mut self, id: RequestId) -> Option<Held> {
        self.held_mut(id)?;
        let held = self.held[id.slot as usize].take()?;
        self.len -= 1;
        self.streaming -= usize::from(held.stream.is_some());
        self.awaited -= usize::from(held.is_awaited());
        self.left -= usize::from(held.left);
        if !held.later {
            self.load_mut(held.runs).remove(held.request.expected);
        }
        Some(held)
    }

    pub(crate) fn has_begun(&self, id: RequestId) -> bool {
        self.link.has_begun(id)
    }

    /// Whether a thread is in this request's handler: it has begun, and has not returned.
    pub(crate) fn runs(&self, id: RequestId) -> bool {
        self.running_request(id).is_some()
    }

    /// The request of this name, if it has it.
    pub(crate) fn key_of(&self, id: RequestId) -> Option<Key> {
        self.held(id).map(|held| held.request.key)
    }

    /// The name in the log of a request that runs.
    pub(crate) fn running_request(&self, id: RequestId) -> Option<u64> {
        let held = self.held(id).filter(|held| !held.later && self.has_begun(id))?;
        Some(held.request.request)
    }

    /// The requests whose handlers run, and since when, where one runs at a time.
    pub(crate) fn begun_requests(&self) -> impl Iterator<Item = (Assigned, Option<Instant>)> + '_ {
        let begun = self.all().filter(|held| !held.later && self.has_begun(held.request.id));
        begun.map(|held| {
            let since = (self.width_of(held.runs) == 1).then(|| self.load(held.runs).since);
            (held.request, since)
        })
    }

    /// Whether the thread of its link is in a handler, as far as can be told from here.
    fn runs_inline(&self) -> bool {
        self.inline.n > 0 && self.all().any(|h| h.runs == Runs::Inline && !h.later && self.has_begun(h.request.id))
    }

    /// Nothing waits for this request any more: tells its handler, which is stuck if it still runs at `due`, in ms.
    pub(crate) fn cancel(&mut self, id: RequestId, due: u64) {
        let Some(held) = self.held_mut(id) else { return };
        held.stream.iter_mut().for_each(Stream::cut);
        held.due = due;
        if !std::mem::replace(&mut held.cancelled, true) {
            self.link.send(id, &Order::Cancel.encode());
        }
    }

    /// The client has left. A promise goes on, and its place is another's: `true` when it is one.
    pub(crate) fn leave(&mut self, id: RequestId) -> bool {
        let Some(held) = self.held_mut(id).filter(|held| held.is_awaited()) else { return false };
        if !std::mem::replace(&mut held.left, true) {
            self.left += 1;
        }
        if self.left > MOST_LEFT {
            let oldest = self.all().filter(|held| held.left).min_by_key(|held| held.turn).map(|held| held.request.id);
            oldest.map(|id| self.free(id));
        }
        true
    }

    /// The client has taken pieces of the body worth this many bytes.
    pub(crate) fn credit(&mut self, id: RequestId, bytes: usize) {
        let Some(held) = self.held_mut(id).filter(|held| !held.cancelled) else { return };
        if let Some(granted) = held.stream.as_mut().and_then(|stream| stream.grant(bytes)) {
            self.link.send(id, &Order::Credit(granted).encode());
        }
    }

    /// Whether this request's body is being streamed.
    pub(crate) fn streams(&self, id: RequestId) -> bool {
        self.held(id).is_some_and(|held| held.stream.is_some())
    }

    /// The body of this request goes there.
    pub(crate) fn begin(&mut self, id: RequestId, stream: Stream) {
        if let Some(held) = self.held_mut(id) {
            let (was_awaited, name) = (held.is_awaited(), held.request.request);
            let had_left = std::mem::take(&mut held.left);
            let is_new = held.stream.replace(stream).is_none();
            if !held.cancelled {
                held.due = u64::MAX;
            }
            self.streaming += usize::from(is_new);
            self.awaited -= usize::from(was_awaited);
            self.left -= usize::from(had_left);
            self.leaves(name);
        }
    }

    /// Bodies that are being streamed and have no end of their own are to end.
    pub(crate) fn drain(&mut self) {
        let open = |held: &&Held| held.stream.is_some() && !held.cancelled;
        let open: Vec<RequestId> = self.all().filter(open).map(|held| held.request.id).collect();
        open.into_iter().for_each(|id| self.drain_stream(id));
    }

    /// The same for one of them.
    pub(crate) fn drain_stream(&mut self, id: RequestId) {
        self.link.send(id, &Order::Drain.encode());
    }

    fn free(&mut self, id: RequestId) -> Option<Assigned> {
        let held = self.take(id)?;
        self.link.release(id);
        Some(held.request)
    }

    /// Its process is dead: what it had not begun, and what it had begun with.
    pub(crate) fn into_requests(mut self) -> (Vec<Assigned>, Vec<Assigned>) {
        let unbegun = self.revoke_unbegun(0);
        // dropping a stream breaks it off
        (unbegun, self.held.into_iter().flatten().map(|held| held.request).collect())
    }
}

//! The answer of a C handler that does not answer as it is called: from any thread, whole or piece by piece.
//!
//! Its life is over for the handler when it has said its last word; what waits for credit is sent after that. One that
//! waits is taken back by its slot.
//!
//! Two halves: [`LinkSink`], which the handler has and whose drop tells that it has no answer, and [`LinkRequest`],
//! which the thread of the link keeps until the slot is used again, for what the server says of the request. Lock
//! order: a half's state, then the ring.

use crate::log_line::{LogLine, ERROR};
use crate::outbox::{encode_head, failure, micros, Outbox};
use crate::packed::{packed, packed_stream};
use bytes::Bytes;
use coding::Pieces;
use exchange::{Answer, Head, Life, OnCancel, Sent, Sink, Stage};
use shm::RequestId;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use wire::stream::{affordable, worth, Order, Part, FIRST};
use wire::{ReplyBody, Request};

thread_local! {
    /// whether this thread brings the credit that others wait for
    static IS_LINK: Cell<bool> = const { Cell::new(false) };
}

/// This thread is that of a link: it never waits for a client.
pub(crate) fn never_wait_here() {
    IS_LINK.set(true);
}

/// Whether it is.
pub(crate) fn is_link() -> bool {
    IS_LINK.get()
}

/// What is known of a request beside its message: for its log lines and its sink.
pub(crate) struct About {
    pub(crate) id: RequestId,
    number: u64,
    /// address, method and path, for log lines: most requests have none
    who: Box<[u8]>,
    pub(crate) deadline: Option<Instant>,
    /// by which its answer is packed
    terms: Box<[u8]>,
}

impl About {
    pub(crate) fn new(id: RequestId, request: &Request<'_>, deadline: Option<Instant>) -> Self {
        let head = &request.head;
        let who = [head.remote_addr, head.method, head.path].join(&b' ').into();
        About { id, number: head.id, who, deadline, terms: head.terms.into() }
    }

    /// As log lines begin.
    pub(crate) fn who(&self) -> String {
        format!("id={:016x} {}", self.number, String::from_utf8_lossy(&self.who))
    }
}

struct State {
    life: Life,
    began: Instant,
    yielded: bool,
    /// of a stream: what may be sent, and what waits for more; then the end, whole or not, that is to be sent after it
    credit: usize,
    pieces: Option<Pieces>,
    pending: VecDeque<Bytes>,
    end: Option<bool>,
}

/// See the module.
pub(crate) struct LinkRequest {
    pub(crate) about: About,
    outbox: Arc<Outbox>,
    log: LogLine,
    state: Mutex<State>,
    /// credit came, or the request was cancelled
    change: Condvar,
}

/// See the module.
pub(crate) struct LinkSink(Arc<LinkRequest>);

/// A sink for a request, and the link's half of it. `began`: its handler runs already.
pub(crate) fn sink(
    about: About,
    outbox: &Arc<Outbox>,
    log: &LogLine,
    began: Option<Instant>,
) -> (Arc<dyn Sink>, Arc<LinkRequest>) {
    let state = State {
        life: Life::new(began.is_some()),
        began: began.unwrap_or_else(Instant::now),
        yielded: false,
        credit: 0,
        pieces: None,
        pending: VecDeque::new(),
        end: None,
    };
    let half = Arc::new(LinkRequest {
        about,
        outbox: outbox.clone(),
        log: log.clone(),
        state: Mutex::new(state),
        change: Condvar::new(),
    });
    (Arc::new(LinkSink(half.clone())), half)
}

impl LinkRequest {
    fn state(&self) -> MutexGuard<'_, State> {
        // nothing panics while holding it
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server says of it.
    pub(crate) fn apply(&self, order: Order) {
        match order {
            Order::Credit(bytes) => {
                let mut state = self.state();
                state.credit = state.credit.saturating_add(bytes as usize);
                self.flush(&mut state);
                self.change.notify_all();
            }
            // a C handler says itself when it is through
            Order::Drain => {}
            Order::Cancel => {
                let mut state = self.state();
                let call = state.life.cancel();
                state.pending.clear();
                self.flush(&mut state);
                self.change.notify_all();
                drop(state);
                if let Some(call) = call {
                    call();
                }
            }
        }
        self.outbox.notify();
    }

    /// The handler has returned; its answer comes later, if it has not come already.
    pub(crate) fn yielded(&self) {
        let mut state = self.state();
        let goes_on = matches!(state.life.stage(), Stage::Running | Stage::Streaming) || state.end.is_some();
        if goes_on && !std::mem::replace(&mut state.yielded, true) {
            self.outbox.send(self.about.id, &[]);
            self.outbox.notify();
        }
    }

    /// Sends what waits, as far as the credit goes, and the end after it.
    fn flush(&self, state: &mut State) {
        while let Some(mut piece) = state.pending.pop_front() {
            let most = affordable(state.credit);
            if most == 0 {
                state.pending.push_front(piece);
                return;
            }
            let part = piece.split_to(most.min(piece.len()));
            state.credit -= worth(part.len());
            self.send(Part::Piece(&part));
            if !piece.is_empty() {
                state.pending.push_front(piece);
            }
        }
        state.pending = VecDeque::new();
        if let Some(whole) = state.end.take() {
            let whole = whole && !state.life.is_cancelled();
            self.send(Part::End { whole, micros: micros(state.began.elapsed()), trailers: b"" });
            self.outbox.finished();
        }
    }

    fn send(&self, part: Part<'_>) {
        with_buffer(|message| {
            part.encode(message);
            self.outbox.send(self.about.id, message);
        });
    }

    /// The whole answer, whose life is over, and which somebody wants or not. The server is not woken for it.
    fn reply(&self, answer: &Answer, wanted: bool, began: Instant) -> bool {
        if let Answer::Failure { status, why, .. } = answer {
            if !why.is_empty() {
                (self.log)(ERROR, &format!("{} {status} {why}", self.about.who()));
            }
        }
        let sent = with_buffer(|message| {
            // the server drops an answer that is not wanted: a short one will do
            if wanted {
                self.outbox.encode(answer, message);
            } else {
                failure(500, "", message);
            }
            let mut packed = packed(message, &self.about.terms);
            let message = packed.as_deref_mut().unwrap_or(message);
            self.outbox.reply(self.about.id, message, began.elapsed())
        });
        self.outbox.finished();
        sent && wanted
    }

    /// The handler's half was dropped.
    fn left(&self) {
        let mut state = self.state();
        if state.life.stage() == Stage::Waiting && self.outbox.start(self.about.id) {
            state.life.start();
        }
        match state.life.stage() {
            Stage::Running => {
                drop(state);
                let (detail, why) = ("".into(), "the C handler gave no answer".into());
                self.answer(&Answer::Failure { status: 500, detail, why });
                self.outbox.notify();
            }
            Stage::Streaming => {
                state.pending.clear();
                drop(state);
                self.end(false);
            }
            Stage::Waiting | Stage::Over => {}
        }
    }

    /// `false` when the answer comes too late, or the server has stopped reading.
    fn answer(&self, answer: &Answer) -> bool {
        let mut state = self.state();
        let Some(uncalled) = state.life.end(Stage::Running) else { return false };
        let (wanted, began) = (!state.life.is_cancelled(), state.began);
        drop(state);
        drop(uncalled);
        self.reply(answer, wanted, began)
    }

    fn end(&self, whole: bool) {
        let mut state = self.state();
        let Some(uncalled) = state.life.end(Stage::Streaming) else { return };
        // free the encoder now: the link keeps this half until another request has its slot
        if let Some(mut pieces) = state.pieces.take().filter(|_| whole) {
            let mut tail = Vec::new();
            pieces.end(&mut tail);
            state.pending.push_back(tail.into());
        }
        state.end = Some(whole);
        self.flush(&mut state);
        drop(state);
        drop(uncalled);
        self.outbox.notify();
    }
}

impl Sink for LinkSink {
    fn start(&self) -> bool {
        let half = &*self.0;
        let begins = half.outbox.start(half.about.id);
        let mut state = half.state();
        if begins {
            state.life.start();
        } else {
            // nothing is to be called: its handler has not run
            drop(state.life.end(Stage::Waiting));
        }
        state.began = Instant::now();
        begins
    }

    fn yielded(&self) {
        self.0.yielded();
    }

    fn answer(&self, answer: Answer) -> bool {
        let wanted = self.answer_held(answer);
        self.notify();
        wanted
    }

    fn answer_held(&self, answer: Answer) -> bool {
        self.0.answer(&answer)
    }

    fn notify(&self) {
        self.0.outbox.notify();
    }

    fn begin(&self, head: Head) -> bool {
        let half = &*self.0;
        let mut state = half.state();
        if !state.life.begin() {
            return false;
        }
        state.credit = FIRST;
        with_buffer(|message| {
            encode_head(&head, ReplyBody::Stream, message);
            let (packed, pieces) = packed_stream(message, &half.about.terms).unzip();
            state.pieces = pieces;
            half.outbox.send(half.about.id, packed.as_deref().unwrap_or(message));
        });
        half.outbox.notify();
        true
    }

    fn send(&self, piece: Bytes, wait: bool) -> Sent {
        let half = &*self.0;
        let mut state = half.state();
        loop {
            if state.life.is_cancelled() || state.life.stage() != Stage::Streaming {
                return Sent::Gone;
            }
            if piece.is_empty() {
                return Sent::Done;
            }
            if state.pending.is_empty() && affordable(state.credit) > 0 {
                break;
            }
            if !wait || IS_LINK.get() {
                return Sent::Full;
            }
            state = half.change.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let piece = match &mut state.pieces {
            Some(pieces) => {
                let mut packed = Vec::new();
                pieces.pack(&piece, &mut packed);
                packed.into()
            }
            None => piece,
        };
        state.pending.push_back(piece);
        half.flush(&mut state);
        drop(state);
        half.outbox.notify();
        Sent::Done
    }

    fn end(&self, whole: bool) {
        self.0.end(whole);
    }

    fn is_cancelled(&self) -> bool {
        self.0.state().life.is_cancelled()
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.about.deadline
    }

    fn on_cancel(&self, call: OnCancel) {
        let kept = self.0.state().life.on_cancel(call);
        if let Err(call) = kept {
            call();
        }
    }
}

impl Drop for LinkSink {
    fn drop(&mut self) {
        self.0.left();
    }
}

/// A buffer of this thread's for one message.
fn with_buffer<T>(f: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut buffer = BUFFER.take();
    let out = f(&mut buffer);
    kept::empty(&mut buffer);
    BUFFER.set(buffer);
    out
}

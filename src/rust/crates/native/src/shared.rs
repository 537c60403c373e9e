//! A request that outlives the call that brought it: of a handler on the pool, or of one that answers later or piece by
//! piece.
//!
//! Open -> streaming -> done, or open -> done; every move and every piece is made under the lock of `state`, so that
//! the sink sees them in order from all threads. No user function is called under the lock: it may call back. An I/O
//! thread never waits for the lock, as another thread may hold it while waiting for a client.
//!
//! It lives as long as it is held: by the call while that lasts, and by C, once for each `defer()`.

use crate::abi::{Code, Request, Times};
use crate::body::Mapped;
use crate::cancel::{Call, Cancel};
use crate::draft::Draft;
use crate::form::Form;
use crate::received::Received;
use crate::registry::{self, Registry};
use crate::{clock, hold, turn};
use bytes::Bytes;
use exchange::{Answer, RequestView, Sent, Sink};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Instant;

/// See the module.
#[repr(C)]
pub struct Shared {
    form: Form,
    me: Weak<Shared>,
    registry: Arc<Registry>,
    number: u32,
    received: Received,
    mapped: Mapped,
    sink: Arc<dyn Sink>,
    state: Mutex<State>,
    /// whether the stage is `Done`, for a look without the lock
    done: AtomicBool,
    /// whether C has had a handle
    deferred: AtomicBool,
    /// handles that C has and has not released
    handles: AtomicUsize,
    cancel: Cancel,
    /// whether the sink will call `cancel`
    watched: AtomicBool,
    received_at: Instant,
    started_at: Instant,
}

#[derive(Default)]
struct State {
    stage: Stage,
    draft: Draft,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    Streaming,
    Done,
}

impl Shared {
    /// A request for the handler `number` whose answer goes to `sink`.
    pub fn new(
        registry: Arc<Registry>,
        number: u32,
        received: Received,
        sink: Arc<dyn Sink>,
        draft: Draft,
        [received_at, started_at]: [Instant; 2],
    ) -> Arc<Shared> {
        Arc::new_cyclic(|me| Shared {
            form: Form::Shared,
            me: me.clone(),
            registry,
            number,
            received,
            mapped: Mapped::default(),
            sink,
            state: Mutex::new(State { stage: Stage::Open, draft }),
            done: AtomicBool::new(false),
            deferred: AtomicBool::new(false),
            handles: AtomicUsize::new(0),
            cancel: Cancel::default(),
            watched: AtomicBool::new(false),
            received_at,
            started_at,
        })
    }

    pub fn request(&self) -> &dyn RequestView {
        self.received.request()
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn body(&self) -> Result<&[u8], &str> {
        self.mapped.body(self.received.request())
    }

    /// What C knows it by.
    pub fn address(&self) -> *mut Request {
        self.me.as_ptr().cast_mut().cast()
    }

    /// Keeps it while it is used, should the last handle be released meanwhile.
    pub fn keep(&self) -> Option<Arc<Shared>> {
        self.me.upgrade()
    }

    fn log(&self, why: &str) {
        self.registry.log(2, self.request().id(), self.number, why);
    }

    /// The lock, for a call that may `wait` for it.
    fn enter(&self, wait: bool) -> Result<MutexGuard<'_, State>, Code> {
        if self.cancel.has_fired() {
            return Err(Code::Gone);
        }
        if wait && turn::may_wait() {
            // only a broken sink panics under this lock, and its panic is reported
            return Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Code::Full),
        }
    }

    /// The last move: what was drafted is given back, and the lock.
    fn finish(&self, mut state: MutexGuard<'_, State>) -> Draft {
        state.stage = Stage::Done;
        self.done.store(true, Ordering::Release);
        std::mem::take(&mut state.draft)
    }

    /// Answers the request, unless it has an answer.
    pub fn answer(&self, answer: impl FnOnce(Draft) -> Answer) -> Code {
        match self.enter(true) {
            Ok(state) if state.stage == Stage::Open => {
                let draft = self.finish(state);
                taken(hold::answer(&self.sink, answer(draft)))
            }
            Ok(_) => Code::Done,
            Err(code) => code,
        }
    }

    /// Answers with this failure, or breaks the response off, for the reason `why`.
    pub fn fail(&self, why: &str, answer: impl FnOnce() -> Answer) -> Code {
        match self.enter(true) {
            Ok(state) => match state.stage {
                Stage::Open => {
                    self.finish(state);
                    taken(self.sink.answer(answer()))
                }
                Stage::Streaming => {
                    // not before the last piece is with the sink, which the lock sees to
                    self.sink.end(false);
                    self.finish(state);
                    self.log(&format!("the response was broken off: {why}"));
                    Code::Ok
                }
                Stage::Done => Code::Done,
            },
            Err(code) => code,
        }
    }

    pub fn begin(&self, status: u16, content_type: Option<Cow<'static, [u8]>>) -> Code {
        match self.enter(true) {
            Ok(mut state) if state.stage == Stage::Open => {
                state.stage = Stage::Streaming;
                let head = std::mem::take(&mut state.draft).into_head(status, content_type);
                taken(self.sink.begin(head))
            }
            Ok(_) => Code::Done,
            Err(code) => code,
        }
    }

    pub fn send(&self, piece: Bytes, wait: bool) -> Code {
        let state = match self.enter(wait) {
            Ok(state) => state,
            Err(code) => return code,
        };
        match state.stage {
            Stage::Open => Code::Invalid,
            Stage::Done => Code::Done,
            Stage::Streaming => match self.sink.send(piece, wait && turn::may_wait()) {
                Sent::Done => Code::Ok,
                Sent::Full => Code::Full,
                Sent::Gone => Code::Gone,
            },
        }
    }

    pub fn end(&self) -> Code {
        let state = match self.enter(true) {
            Ok(state) => state,
            Err(code) => return code,
        };
        match state.stage {
            Stage::Open => Code::Invalid,
            Stage::Done => Code::Done,
            Stage::Streaming => {
                self.sink.end(true);
                self.finish(state);
                Code::Ok
            }
        }
    }

    pub fn edit(&self, edit: impl FnOnce(&mut Draft)) -> Code {
        match self.enter(true) {
            Ok(mut state) if state.stage == Stage::Open => {
                edit(&mut state.draft);
                Code::Ok
            }
            Ok(_) => Code::Done,
            Err(code) => code,
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.has_fired() || self.sink.is_cancelled()
    }

    pub fn on_cancel(&self, call: Option<Call>) -> Code {
        let call = call.filter(|_| !self.done.load(Ordering::Acquire));
        let armed = call.is_some();
        self.called_back(self.cancel.set(call));
        if !armed {
            return if self.done.load(Ordering::Acquire) { Code::Done } else { Code::Ok };
        }
        // the sink has room for one call: it is ours, and stays
        if !self.watched.swap(true, Ordering::AcqRel) {
            let me = self.me.clone();
            self.sink.on_cancel(Box::new(move || {
                if let Some(shared) = me.upgrade().filter(|shared| !shared.done.load(Ordering::Acquire)) {
                    shared.called_back(shared.cancel.fire());
                }
            }));
        }
        Code::Ok
    }

    fn called_back(&self, outcome: Result<(), String>) {
        if let Err(why) = outcome {
            self.log(&format!("the function of on_cancel(): {why}"));
        }
    }

    /// A hold for C; `None` when there is nothing left to do for it.
    pub fn defer(&self) -> Option<Arc<Shared>> {
        if self.done.load(Ordering::Acquire) {
            return None;
        }
        let me = self.me.upgrade()?;
        self.handles.fetch_add(1, Ordering::AcqRel);
        self.deferred.store(true, Ordering::Release);
        Some(me)
    }

    /// C gives a hold back. `false` when it has none.
    pub fn give_back(&self) -> bool {
        let less = self.handles.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
        if less.is_err() {
            self.log("it has released a handle more often than it was given");
        }
        less.is_ok()
    }

    pub fn times(&self) -> Times {
        Times {
            size: size_of::<Times>(),
            received_ns: clock::instant_ns(self.received_at),
            started_ns: clock::instant_ns(self.started_at),
            deadline_ns: self.sink.deadline().map_or(0, clock::instant_ns),
        }
    }

    /// The handler has returned, or failed for a reason. `true` when the answer, or its end, is still to come.
    pub fn returned(&self, outcome: Result<(), String>) -> bool {
        match outcome {
            Err(why) => {
                self.failed(&why);
                false
            }
            Ok(()) if self.deferred.load(Ordering::Acquire) => !self.done.load(Ordering::Acquire),
            Ok(()) => {
                if self.end() == Code::Invalid {
                    let why = "it returned without an answer";
                    self.answer(|_| registry::failed(why));
                }
                false
            }
        }
    }

    /// The handler has failed. What it has answered before stays.
    pub fn failed(&self, why: &str) {
        let code = self.fail(why, || registry::failed(why));
        // a handler may fail because its request was cancelled
        if matches!(code, Code::Done | Code::Full) && !self.is_cancelled() {
            self.log(&format!("after its answer: {why}"));
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let stage = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).stage;
        if stage == Stage::Done || self.is_cancelled() {
            return;
        }
        let why = "its last handle was released without an answer";
        if stage == Stage::Streaming {
            self.sink.end(false);
            self.log(&format!("the response was broken off: {why}"));
        } else {
            self.sink.answer(registry::failed(why));
        }
    }
}

fn taken(taken: bool) -> Code {
    if taken {
        Code::Ok
    } else {
        Code::Gone
    }
}

//! The handler's side of a request that is answered later: a [`Sink`]. What comes of the request goes to the mailbox of
//! the I/O thread that waits for it.
//!
//! Its life is under one lock, which both sides take; one that is cancelled before it starts is taken back, and when
//! the last of the handler's side is dropped before an answer, that is lost. The I/O thread knows it by a `Weak`: so
//! its memory is given back where it came from, after the answer has arrived, and not by the thread of the handler, for
//! which that is dear.

use super::mailbox::{Mailbox, Message, Settled};
use super::packed::{packed, packed_stream};

use admission::{Patience, NEVER};
use bytes::Bytes;
use coding::Pieces;
use exchange::{now, pipe, Answer, Head, Life, OnCancel, PipeWriter, Reading, Sent, Sink, Stage, Written};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

struct State {
    life: Life,
    writer: Option<Arc<PipeWriter>>,
}

/// See the module.
pub struct MailboxSink {
    state: Mutex<State>,
    me: Weak<MailboxSink>,
    mailbox: Arc<Mailbox>,
    /// what the I/O thread knows it by
    place: (usize, u64),
    /// when it came, by the clock of [`now`], and how long it may take
    since: u64,
    patience: Patience,
    /// by which the answer is packed, if it is to be
    terms: Option<Arc<[u8]>>,
    /// of a stream that is packed; the sender locks it before `state`
    pieces: Mutex<Option<Pieces>>,
}

impl MailboxSink {
    /// Of a request that the I/O thread of this mailbox knows by `place`, and whose handler has `begun` already or
    /// waits for a thread.
    pub fn new(
        mailbox: Arc<Mailbox>,
        place: (usize, u64),
        begun: bool,
        since: u64,
        patience: Patience,
        terms: Option<Arc<[u8]>>,
    ) -> Arc<Self> {
        let state = Mutex::new(State { life: Life::new(begun), writer: None });
        Arc::new_cyclic(|me| MailboxSink {
            state,
            me: me.clone(),
            mailbox,
            place,
            since,
            patience,
            terms,
            pieces: Mutex::new(None),
        })
    }

    /// As the client's side keeps it.
    pub fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // no code panics while holding this lock
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pieces(&self) -> MutexGuard<'_, Option<Pieces>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, outcome: Settled) {
        self.mailbox.put(Message { place: self.place, outcome });
    }

    /// Its time is over if it is at `now`: unless it was answered just now, its handler is told so, and what its client
    /// is to be told is returned.
    pub fn expire(&self, now: u64) -> Option<Settled> {
        let state = self.state();
        let stage = state.life.stage();
        if !matches!(stage, Stage::Waiting | Stage::Running) {
            return None;
        }
        let late = self.patience.late(now.saturating_sub(self.since), || stage == Stage::Running)?;
        cancel(state);
        Some(Settled::Late(late))
    }

    /// The client's side waits for no answer any more. One that streams is given up by its reader.
    pub fn give_up(&self) {
        if self.state().life.stage() != Stage::Streaming {
            self.cancel();
        }
    }

    fn cancel(&self) {
        cancel(self.state());
    }
}

/// Cancels the request. The handler is told without the lock, as it may ask back.
fn cancel(mut state: MutexGuard<'_, State>) {
    let call = state.life.cancel();
    drop(state);
    if let Some(call) = call {
        call();
    }
}

impl Sink for MailboxSink {
    fn start(&self) -> bool {
        let mut state = self.state();
        !state.life.is_cancelled() && state.life.start()
    }

    fn answer(&self, answer: Answer) -> bool {
        let wanted = self.answer_held(answer);
        self.notify();
        wanted
    }

    fn answer_held(&self, answer: Answer) -> bool {
        let mut state = self.state();
        let uncalled = state.life.end(Stage::Running);
        let wanted = uncalled.is_some() && !state.life.is_cancelled();
        drop(state);
        drop(uncalled);
        if wanted {
            self.settle(Settled::Answer(packed(answer, self.terms.as_deref(), usize::MAX)));
        }
        wanted
    }

    fn notify(&self) {
        self.mailbox.ring();
    }

    fn begin(&self, head: Head) -> bool {
        let me = self.weak();
        let (writer, reader) = pipe(Some(Box::new(move |reading| {
            if let (Reading::Left, Some(sink)) = (reading, me.upgrade()) {
                sink.cancel();
            }
        })));
        let mut state = self.state();
        if !state.life.begin() {
            drop(state);
            return false;
        }
        state.writer = Some(Arc::new(writer));
        drop(state);
        let (head, pieces) = packed_stream(head, self.terms.as_deref());
        *self.pieces() = pieces;
        self.settle(Settled::Stream(head, reader));
        self.mailbox.ring();
        true
    }

    fn send(&self, piece: Bytes, wait: bool) -> Sent {
        let Some(writer) = self.state().writer.clone() else { return Sent::Gone };
        let mut pieces = self.pieces();
        let written = match &mut *pieces {
            // one that does not fit has not been said: there is to be room for it first
            Some(pieces) if !piece.is_empty() => match writer.write(Bytes::new(), wait) {
                Written::Done => {
                    let mut packed = Vec::new();
                    pieces.pack(&piece, &mut packed);
                    writer.write_promised(packed.into())
                }
                other => other,
            },
            _ => writer.write(piece, wait),
        };
        drop(pieces);
        match written {
            Written::Done => Sent::Done,
            Written::Full => Sent::Full,
            Written::Gone => {
                // known here before the reader has told of it
                self.cancel();
                Sent::Gone
            }
        }
    }

    fn end(&self, whole: bool) {
        let mut state = self.state();
        let (writer, uncalled) = (state.writer.take(), state.life.end(Stage::Streaming));
        drop(state);
        drop(uncalled);
        if let Some(writer) = writer {
            if let Some(mut pieces) = self.pieces().take_if(|_| whole) {
                let mut tail = Vec::new();
                pieces.end(&mut tail);
                writer.write_promised(tail.into());
            }
            writer.end(whole);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.state().life.is_cancelled()
    }

    fn deadline(&self) -> Option<Instant> {
        let in_all = self.patience.in_all;
        let left = (self.since + in_all).saturating_sub(now());
        (in_all < NEVER).then(|| Instant::now().checked_add(Duration::from_millis(left)))?
    }

    fn on_cancel(&self, call: OnCancel) {
        let kept = self.state().life.on_cancel(call);
        if let Err(call) = kept {
            call();
        }
    }
}

impl Drop for MailboxSink {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        match state.life.stage() {
            Stage::Waiting | Stage::Running if state.life.is_cancelled() => {}
            Stage::Waiting | Stage::Running => {
                self.settle(Settled::Lost);
                self.mailbox.ring();
            }
            Stage::Streaming => self.end(false),
            Stage::Over => {}
        }
    }
}

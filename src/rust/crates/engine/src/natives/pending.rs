//! A request that a C handler of this process answers later: the handler's side, a [`Sink`], and the future of what comes of it.
//!
//! ```text
//! Waiting ─start▶ Running ─answer▶ Over
//!    │ taken back     ├─begin▶ Streaming ─end▶ Over
//!    └──▶ Over        └─the last of the handler's side is dropped: Lost
//! ```
//! The client's side gives up by dropping [`Pending`], at a timeout, or by dropping the reader of the stream: that is what handlers
//! know as cancelled.

use crate::respond::{pipe, PipeReader, PipeWriter, Reading, Written};
use bytes::Bytes;
use exchange::{Answer, Head, Sent, Sink};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::time::{timeout_at, Instant};

/// What came of the request.
pub enum Outcome {
    Answer(Answer),
    /// a response whose body is still to come
    Stream(Head, PipeReader),
    /// the handler's side has gone without an answer
    Lost,
    QueueTimeout,
    Timeout,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Running,
    Streaming,
    Over,
}

struct State {
    stage: Stage,
    outcome: Option<Outcome>,
    waker: Option<Waker>,
    cancelled: bool,
    on_cancel: Option<Box<dyn FnOnce() + Send>>,
    writer: Option<Arc<PipeWriter>>,
}

struct Shared(Mutex<State>);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // nobody panics while holding it
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, outcome: Outcome) {
        let mut state = self.state();
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn cancel(&self) {
        let mut state = self.state();
        if state.stage == Stage::Over {
            return;
        }
        if state.stage == Stage::Waiting {
            state.stage = Stage::Over;
        }
        state.cancelled = true;
        let call = state.on_cancel.take();
        drop(state);
        if let Some(call) = call {
            call();
        }
    }
}

/// The client's side.
pub struct Pending(Arc<Shared>);

/// The handler's side.
struct Handed(Arc<Shared>);

/// Both sides of a request. `running`: its handler has begun, and does not wait for a thread.
pub fn pending(running: bool) -> (Pending, Arc<dyn Sink>) {
    let stage = if running { Stage::Running } else { Stage::Waiting };
    let state = State { stage, outcome: None, waker: None, cancelled: false, on_cancel: None, writer: None };
    let shared = Arc::new(Shared(Mutex::new(state)));
    (Pending(shared.clone()), Arc::new(Handed(shared)))
}

impl Pending {
    /// Waits for the outcome: at most `in_queue` until its handler begins, and at most `in_all`.
    pub async fn outcome(&self, in_queue: Duration, in_all: Duration) -> Outcome {
        let now = Instant::now();
        if let Ok(outcome) = timeout_at(now + in_queue.min(in_all), self.ready()).await {
            return outcome;
        }
        let waits = self.0.state().stage == Stage::Waiting;
        if waits && in_queue <= in_all {
            self.0.cancel();
            return Outcome::QueueTimeout;
        }
        match timeout_at(now + in_all, self.ready()).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.0.cancel();
                Outcome::Timeout
            }
        }
    }

    async fn ready(&self) -> Outcome {
        poll_fn(|cx| {
            let mut state = self.0.state();
            match state.outcome.take() {
                Some(outcome) => Poll::Ready(outcome),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // one that streams is given up by its reader
        let streams = self.0.state().stage == Stage::Streaming;
        if !streams {
            self.0.cancel();
        }
    }
}

impl Sink for Handed {
    fn start(&self) -> bool {
        let mut state = self.0.state();
        let waits = state.stage == Stage::Waiting;
        if waits {
            state.stage = Stage::Running;
        }
        waits
    }

    fn answer(&self, answer: Answer) -> bool {
        let mut state = self.0.state();
        let wanted = !state.cancelled;
        state.stage = Stage::Over;
        let uncalled = state.on_cancel.take();
        drop(state);
        drop(uncalled);
        if wanted {
            self.0.settle(Outcome::Answer(answer));
        }
        wanted
    }

    fn begin(&self, head: Head) -> bool {
        let shared: Weak<Shared> = Arc::downgrade(&self.0);
        let (writer, reader) = pipe(Some(Box::new(move |reading| {
            if let (Reading::Left, Some(shared)) = (reading, shared.upgrade()) {
                shared.cancel();
            }
        })));
        let mut state = self.0.state();
        if state.cancelled {
            drop(state);
            return false;
        }
        state.stage = Stage::Streaming;
        state.writer = Some(Arc::new(writer));
        drop(state);
        self.0.settle(Outcome::Stream(head, reader));
        true
    }

    fn send(&self, piece: Bytes, wait: bool) -> Sent {
        let Some(writer) = self.0.state().writer.clone() else { return Sent::Gone };
        match writer.write(piece, wait) {
            Written::Done => Sent::Done,
            Written::Full => Sent::Full,
            Written::Gone => Sent::Gone,
        }
    }

    fn end(&self, whole: bool) {
        let mut state = self.0.state();
        state.stage = Stage::Over;
        let (writer, uncalled) = (state.writer.take(), state.on_cancel.take());
        drop(state);
        drop(uncalled);
        if let Some(writer) = writer {
            writer.end(whole);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.0.state().cancelled
    }

    fn on_cancel(&self, call: Box<dyn FnOnce() + Send>) {
        let mut state = self.0.state();
        let replaced = match (state.cancelled, state.stage) {
            (true, _) => {
                drop(state);
                return call();
            }
            (false, Stage::Over) => None,
            (false, _) => state.on_cancel.replace(call),
        };
        drop(state);
        drop(replaced);
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        let stage = self.0.state().stage;
        match stage {
            Stage::Waiting | Stage::Running => self.0.settle(Outcome::Lost),
            Stage::Streaming => self.end(false),
            Stage::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn answer() -> Answer {
        let head = Head { status: 200, content_type: None, headers: Vec::new() };
        Answer::Response(exchange::Response { head, body: Bytes::from_static(b"x") })
    }

    fn wait(pending: &Pending, in_queue: u64, in_all: u64) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(pending.outcome(Duration::from_millis(in_queue), Duration::from_millis(in_all)))
    }

    #[test]
    fn an_answer_from_another_thread_arrives() {
        let (client, sink) = pending(false);
        let thread = std::thread::spawn(move || sink.start() && sink.answer(answer()));
        assert!(matches!(wait(&client, 5000, 5000), Outcome::Answer(_)));
        assert!(thread.join().unwrap());
    }

    #[test]
    fn who_waits_too_long_never_starts() {
        let (client, sink) = pending(false);
        assert!(matches!(wait(&client, 1, 5000), Outcome::QueueTimeout));
        assert!(!sink.start() && sink.is_cancelled());
    }

    #[test]
    fn a_timeout_is_told_once() {
        let calls = Arc::new(AtomicU32::new(0));
        let count = calls.clone();
        let (client, sink) = pending(false);
        assert!(sink.start());
        sink.on_cancel(Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        assert!(matches!(wait(&client, 1, 2), Outcome::Timeout));
        drop(client);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert!(!sink.answer(answer()) && !sink.begin(Head { status: 200, content_type: None, headers: vec![] }));
    }

    #[test]
    fn a_handler_that_vanishes_is_noticed() {
        let (client, sink) = pending(true);
        drop(sink);
        assert!(matches!(wait(&client, 5000, 5000), Outcome::Lost));
    }

    #[test]
    fn a_stream_outlives_its_wait_and_ends_with_its_reader() {
        let (client, sink) = pending(true);
        assert!(sink.begin(Head { status: 200, content_type: None, headers: vec![] }));
        let Outcome::Stream(_, reader) = wait(&client, 5000, 5000) else { panic!("no stream") };
        drop(client);
        assert!(!sink.is_cancelled());
        assert_eq!(sink.send(Bytes::from_static(b"a"), true), Sent::Done);
        drop(reader);
        assert!(sink.is_cancelled());
        assert_eq!(sink.send(Bytes::from_static(b"b"), true), Sent::Gone);
    }
}

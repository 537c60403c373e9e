//! A request that a C handler of this process answers later: the handler's side, a [`Sink`], and the future of what comes of it.
//!
//! ```text
//! Waiting ─start▶ Running ─answer▶ Over
//!    │ taken back     ├─begin▶ Streaming ─end▶ Over
//!    └──▶ Over        └─the last of the handler's side is dropped: Lost
//! ```
//! The client's side gives up by dropping [`Pending`], at a timeout, or by dropping the reader of the stream: that is what handlers
//! know as cancelled.

use super::home::{mailbox, Mailbox};
use crate::http::{now, sweep};
use crate::respond::{pipe, PipeReader, PipeWriter, Reading, Written};
use bytes::Bytes;
use exchange::{Answer, Head, Sent, Sink};
use slab::Slab;
use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

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

struct Shared {
    state: Mutex<State>,
    /// of the I/O thread that waits for it
    mailbox: Option<Arc<Mailbox>>,
    /// until when it may wait for a thread, and until when for its answer, by the clock of [`now`]
    begin_by: u64,
    deadline: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // nobody panics while holding it
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first outcome counts: a handler that is told of a timeout may let go of its request before the client has looked.
    fn settle(&self, outcome: Outcome) {
        let mut state = self.state();
        state.outcome.get_or_insert(outcome);
        let waker = state.waker.take();
        drop(state);
        match (waker, &self.mailbox) {
            (Some(waker), Some(mailbox)) => mailbox.put(waker),
            (Some(waker), None) => waker.wake(),
            (None, _) => {}
        }
    }

    fn ring(&self) {
        if let Some(mailbox) = &self.mailbox {
            mailbox.ring();
        }
    }

    /// Whether its time is over at `now`.
    fn is_overdue(&self, now: u64) -> bool {
        now >= self.deadline || (now >= self.begin_by && self.state().stage == Stage::Waiting)
    }

    /// Its time is over: unless it was answered just now, its client is told so, and its handler.
    fn expire(&self, now: u64) {
        let mut state = self.state();
        let waits = state.stage == Stage::Waiting;
        if !(waits || state.stage == Stage::Running) {
            return;
        }
        state.outcome = Some(if now >= self.deadline {
            Outcome::Timeout
        } else if waits {
            Outcome::QueueTimeout
        } else {
            return;
        });
        if waits {
            state.stage = Stage::Over;
        }
        state.cancelled = true;
        let (call, waker) = (state.on_cancel.take(), state.waker.take());
        drop(state);
        if let Some(call) = call {
            call();
        }
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

thread_local! {
    /// what this I/O thread waits for
    static OUT: RefCell<Slab<Arc<Shared>>> = const { RefCell::new(Slab::new()) };
}

/// Ends the wait for what takes too long. `true` while this thread waits for anything.
pub fn expire() -> bool {
    let now = now();
    let (any, overdue) = OUT.with_borrow(|out| {
        let overdue = out.iter().filter(|(_, shared)| shared.is_overdue(now)).map(|(_, shared)| shared.clone());
        (!out.is_empty(), overdue.collect::<Vec<_>>())
    });
    overdue.iter().for_each(|shared| shared.expire(now));
    any
}

/// The client's side.
pub struct Pending {
    shared: Arc<Shared>,
    /// in `OUT`
    key: usize,
}

/// The handler's side.
struct Handed {
    shared: Arc<Shared>,
}

/// Both sides of a request that is to be answered within `in_all` ms. It waits for a thread for at most `in_queue` ms; `None`
/// when its handler has begun already.
pub fn pending(in_queue: Option<u64>, in_all: u64) -> (Pending, Arc<dyn Sink>) {
    let stage = if in_queue.is_some() { Stage::Waiting } else { Stage::Running };
    let state = State { stage, outcome: None, waker: None, cancelled: false, on_cancel: None, writer: None };
    let now = now();
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        mailbox: mailbox(),
        begin_by: in_queue.map_or(u64::MAX, |most| now + most),
        deadline: now + in_all,
    });
    let key = OUT.with_borrow_mut(|out| out.insert(shared.clone()));
    sweep::hurry();
    (Pending { shared: shared.clone(), key }, Arc::new(Handed { shared }))
}

impl Pending {
    /// Waits for the outcome.
    pub async fn outcome(&self) -> Outcome {
        poll_fn(|cx| {
            let mut state = self.shared.state();
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
        OUT.with_borrow_mut(|out| out.try_remove(self.key));
        // one that streams is given up by its reader
        let streams = self.shared.state().stage == Stage::Streaming;
        if !streams {
            self.shared.cancel();
        }
    }
}

impl Sink for Handed {
    fn start(&self) -> bool {
        let mut state = self.shared.state();
        let waits = state.stage == Stage::Waiting;
        if waits {
            state.stage = Stage::Running;
        }
        waits
    }

    fn answer(&self, answer: Answer) -> bool {
        let wanted = self.answer_held(answer);
        self.tell();
        wanted
    }

    fn answer_held(&self, answer: Answer) -> bool {
        let mut state = self.shared.state();
        let wanted = !state.cancelled;
        state.stage = Stage::Over;
        let uncalled = state.on_cancel.take();
        drop(state);
        drop(uncalled);
        if wanted {
            self.shared.settle(Outcome::Answer(answer));
        }
        wanted
    }

    fn tell(&self) {
        self.shared.ring();
    }

    fn begin(&self, head: Head) -> bool {
        let shared: Weak<Shared> = Arc::downgrade(&self.shared);
        let (writer, reader) = pipe(Some(Box::new(move |reading| {
            if let (Reading::Left, Some(shared)) = (reading, shared.upgrade()) {
                shared.cancel();
            }
        })));
        let mut state = self.shared.state();
        if state.cancelled {
            drop(state);
            return false;
        }
        state.stage = Stage::Streaming;
        state.writer = Some(Arc::new(writer));
        drop(state);
        self.shared.settle(Outcome::Stream(head, reader));
        self.shared.ring();
        true
    }

    fn send(&self, piece: Bytes, wait: bool) -> Sent {
        let Some(writer) = self.shared.state().writer.clone() else { return Sent::Gone };
        match writer.write(piece, wait) {
            Written::Done => Sent::Done,
            Written::Full => Sent::Full,
            Written::Gone => {
                // known here before the reader has told of it
                self.shared.cancel();
                Sent::Gone
            }
        }
    }

    fn end(&self, whole: bool) {
        let mut state = self.shared.state();
        state.stage = Stage::Over;
        let (writer, uncalled) = (state.writer.take(), state.on_cancel.take());
        drop(state);
        drop(uncalled);
        if let Some(writer) = writer {
            writer.end(whole);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.shared.state().cancelled
    }

    fn deadline(&self) -> Option<Instant> {
        let left = self.shared.deadline.saturating_sub(now());
        Instant::now().checked_add(Duration::from_millis(left))
    }

    fn on_cancel(&self, call: Box<dyn FnOnce() + Send>) {
        let mut state = self.shared.state();
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
        let stage = self.shared.state().stage;
        match stage {
            Stage::Waiting | Stage::Running => {
                self.shared.settle(Outcome::Lost);
                self.shared.ring();
            }
            Stage::Streaming => self.end(false),
            Stage::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{leave, on_park, on_unpark};
    use super::*;
    use std::future::Future;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn head() -> Head {
        Head { status: 200, content_type: None, headers: Vec::new() }
    }

    fn answer() -> Answer {
        Answer::Response(exchange::Response { head: head(), body: Bytes::from_static(b"x") })
    }

    fn queued(in_queue: u64, in_all: u64) -> (Pending, Arc<dyn Sink>) {
        pending(Some(in_queue), in_all)
    }

    fn begun() -> (Pending, Arc<dyn Sink>) {
        pending(None, 5000)
    }

    /// Runs a test as an I/O thread would.
    fn on_io_thread(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().on_thread_park(on_park).on_thread_unpark(on_unpark).build().unwrap();
        runtime.block_on(async {
            let looks = async {
                loop {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    expire();
                }
            };
            tokio::select! { () = test => {}, () = looks => {} }
        });
        leave();
    }

    #[test]
    fn an_answer_from_another_thread_arrives() {
        on_io_thread(async {
            let (client, sink) = queued(5000, 5000);
            let thread = std::thread::spawn(move || sink.start() && sink.answer(answer()));
            assert!(matches!(client.outcome().await, Outcome::Answer(_)));
            assert!(thread.join().unwrap());
        });
    }

    #[test]
    fn held_answers_arrive_when_they_are_told() {
        on_io_thread(async {
            let (clients, sinks): (Vec<_>, Vec<_>) = (0..3).map(|_| queued(5000, 5000)).unzip();
            let thread = std::thread::spawn(move || {
                assert!(sinks.iter().all(|sink| sink.start() && sink.answer_held(answer())));
                std::thread::sleep(Duration::from_millis(20));
                sinks[0].tell();
            });
            for client in &clients {
                assert!(matches!(client.outcome().await, Outcome::Answer(_)));
            }
            thread.join().unwrap();
        });
    }

    #[test]
    fn who_waits_too_long_never_starts() {
        on_io_thread(async {
            let (client, sink) = queued(1, 5000);
            assert!(matches!(client.outcome().await, Outcome::QueueTimeout));
            assert!(!sink.start() && sink.is_cancelled());
        });
    }

    #[test]
    fn a_timeout_is_told_once() {
        on_io_thread(async {
            let calls = Arc::new(AtomicU32::new(0));
            let count = calls.clone();
            let (client, sink) = queued(1, 2);
            assert!(sink.start());
            sink.on_cancel(Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            }));
            assert!(matches!(client.outcome().await, Outcome::Timeout));
            drop(client);
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            assert!(!sink.answer(answer()) && !sink.begin(head()));
        });
    }

    #[test]
    fn a_timeout_stays_one_when_the_handler_lets_go_at_once() {
        on_io_thread(async {
            let (client, sink) = pending(None, 2);
            let held = Mutex::new(Some(sink.clone()));
            sink.on_cancel(Box::new(move || drop(held.lock().unwrap().take())));
            drop(sink);
            assert!(matches!(client.outcome().await, Outcome::Timeout));
        });
    }

    #[test]
    fn a_handler_that_vanishes_is_noticed() {
        on_io_thread(async {
            let (client, sink) = begun();
            drop(sink);
            assert!(matches!(client.outcome().await, Outcome::Lost));
        });
    }

    #[test]
    fn a_stream_outlives_its_wait_and_ends_with_its_reader() {
        on_io_thread(async {
            let (client, sink) = begun();
            assert!(sink.begin(head()));
            let Outcome::Stream(_, reader) = client.outcome().await else { panic!("no stream") };
            drop(client);
            assert!(!sink.is_cancelled());
            assert_eq!(sink.send(Bytes::from_static(b"a"), true), Sent::Done);
            drop(reader);
            assert!(sink.is_cancelled());
            assert_eq!(sink.send(Bytes::from_static(b"b"), true), Sent::Gone);
        });
    }
}

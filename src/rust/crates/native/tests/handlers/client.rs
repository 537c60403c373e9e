//! The other end of an answer: takes what a handler says, and notes when it is said out of turn.

use bytes::Bytes;
use exchange::{Answer, Head, Sent, Sink};
use patience::patience;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

/// Bytes of a stream that it holds before it is full.
pub const WINDOW: usize = 256 << 10;

#[derive(Default)]
pub struct Seen {
    pub started: bool,
    pub answer: Option<Answer>,
    /// an answer that is there and of which it was not told
    held: Option<Answer>,
    pub head: Option<Head>,
    pub body: Vec<u8>,
    pub end: Option<bool>,
    pub yielded: bool,
    pub dropped: bool,
    pub cancelled: bool,
    /// bytes that it holds and has not read
    unread: usize,
    /// whether it reads as it comes
    reads: bool,
    on_cancel: Option<Box<dyn FnOnce() + Send>>,
    out_of_turn: Vec<&'static str>,
}

/// What a test holds of it.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    seen: Mutex<Seen>,
    changed: Condvar,
    deadline: Option<Instant>,
}

/// What a handler's answer goes to.
struct Line(Arc<Inner>);

impl Client {
    pub fn new() -> Self {
        Self::with_deadline(None)
    }

    pub fn with_deadline(deadline: Option<Instant>) -> Self {
        let seen = Mutex::new(Seen { reads: true, ..Seen::default() });
        Client(Arc::new(Inner { seen, changed: Condvar::new(), deadline }))
    }

    /// One that reads nothing of a stream until it is told to.
    pub fn slow() -> Self {
        let client = Self::new();
        client.see().reads = false;
        client
    }

    pub fn sink(&self) -> Arc<dyn Sink> {
        Arc::new(Line(self.0.clone()))
    }

    pub fn see(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap()
    }

    /// Puts the answer of an inline call where those of others are.
    pub fn take(&self, answer: Answer) {
        self.see().answer = Some(answer);
    }

    pub fn read_on(&self) {
        let mut seen = self.see();
        (seen.reads, seen.unread) = (true, 0);
        self.0.changed.notify_all();
    }

    /// Goes away.
    pub fn cancel(&self) {
        let call = {
            let mut seen = self.see();
            seen.cancelled = true;
            seen.on_cancel.take()
        };
        self.0.changed.notify_all();
        if let Some(call) = call {
            call();
        }
    }

    /// Waits until something has been seen.
    #[track_caller]
    pub fn wait(&self, what: &str, condition: impl Fn(&Seen) -> bool) {
        let waited = self.0.changed.wait_timeout_while(self.see(), patience(60), |seen| !condition(seen));
        let (seen, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "no {what}");
        assert!(seen.out_of_turn.is_empty(), "{:?}", seen.out_of_turn);
    }

    /// The whole answer, when it is there.
    #[track_caller]
    pub fn answer(&self) -> Answer {
        self.wait("answer", |seen| seen.answer.is_some() || seen.head.is_some());
        self.see().answer.clone().expect("a whole answer, not a stream")
    }

    /// Head, body and whether it is whole, of a stream.
    #[track_caller]
    pub fn stream(&self) -> (Head, String, bool) {
        self.wait("end of a stream", |seen| seen.end.is_some() || seen.answer.is_some());
        let seen = self.see();
        assert_eq!(seen.answer, None);
        let body = String::from_utf8(seen.body.clone()).unwrap();
        (seen.head.clone().unwrap(), body, seen.end.unwrap())
    }
}

impl Line {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let result = change(&mut self.seen());
        self.0.changed.notify_all();
        result
    }
}

impl Seen {
    fn complete(&self) -> bool {
        self.answer.is_some() || self.held.is_some() || self.end.is_some()
    }

    fn check(&mut self, ok: bool, what: &'static str) {
        if !ok {
            self.out_of_turn.push(what);
        }
    }
}

impl Sink for Line {
    fn start(&self) -> bool {
        self.change(|seen| {
            seen.check(!seen.started, "start");
            seen.started = true;
            !seen.cancelled
        })
    }

    fn answer(&self, answer: Answer) -> bool {
        let call = self.change(|seen| {
            seen.check(!seen.complete() && seen.head.is_none(), "answer");
            seen.answer = Some(answer);
            seen.on_cancel.take()
        });
        drop(call);
        !self.seen().cancelled
    }

    fn answer_held(&self, answer: Answer) -> bool {
        let mut seen = self.seen();
        let in_turn = !seen.complete() && seen.head.is_none();
        seen.check(in_turn, "answer_held");
        seen.held = Some(answer);
        let call = seen.on_cancel.take();
        let wanted = !seen.cancelled;
        drop(seen);
        drop(call);
        wanted
    }

    /// Each is told by its own sink: those of others may have another thread.
    fn notify(&self) {
        self.change(|seen| {
            if let Some(answer) = seen.held.take() {
                seen.answer = Some(answer);
            }
        });
    }

    fn begin(&self, head: Head) -> bool {
        self.change(|seen| {
            seen.check(!seen.complete() && seen.head.is_none(), "begin");
            seen.head = Some(head);
            !seen.cancelled
        })
    }

    fn send(&self, piece: Bytes, wait: bool) -> Sent {
        let mut seen = self.seen();
        while seen.unread >= WINDOW && !seen.cancelled {
            if !wait {
                return Sent::Full;
            }
            seen = self.0.changed.wait(seen).unwrap();
        }
        if seen.cancelled {
            return Sent::Gone;
        }
        let in_turn = seen.head.is_some() && !seen.complete();
        seen.check(in_turn, "send");
        seen.body.extend_from_slice(&piece);
        if !seen.reads {
            seen.unread += piece.len();
        }
        self.0.changed.notify_all();
        Sent::Done
    }

    fn end(&self, whole: bool) {
        let call = self.change(|seen| {
            seen.check(seen.head.is_some() && !seen.complete(), "end");
            seen.end = Some(whole);
            seen.on_cancel.take()
        });
        drop(call);
    }

    fn is_cancelled(&self) -> bool {
        self.seen().cancelled
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    fn yielded(&self) {
        self.change(|seen| {
            seen.check(!seen.yielded, "yielded");
            seen.yielded = true;
        });
    }

    fn on_cancel(&self, call: Box<dyn FnOnce() + Send>) {
        let mut seen = self.seen();
        if seen.cancelled {
            drop(seen);
            call();
        } else if !seen.complete() {
            seen.on_cancel = Some(call);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.change(|seen| seen.dropped = true);
    }
}

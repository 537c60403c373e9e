//! How the body of one request comes in and how its response goes out, each with a clock; and how the rest of the body
//! comes in, to be discarded, when the client has its response.
//!
//! A connection of HTTP/1.1 has one transfer, as it has one request at a time; each stream of HTTP/2 has its own. Used
//! by the tasks of one I/O thread; the fields are atomics only because the runtime asks for `Send`, and need no
//! read-modify-write.
//! Neighbours: `body` and `h2`, which move the bytes, and `timeouts`, which looks at the clocks.

use super::wakeup::Wakeup;
use exchange::now;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Waker;

/// A response moves when its client has taken this many bytes of it, or all that there are: a client that takes them
/// one by one stalls it as well.
const MOVED: usize = 4 << 10;
/// With fewer bytes waiting, the response may add more: as many as the largest frame that most clients take.
const LOW: usize = 16 << 10;

/// When it has its response, a client may go on sending for this many ms, and say nothing for this many: nginx's
/// `lingering_time` and `lingering_timeout`.
const LINGER: u64 = 30_000;
const LINGER_PAUSE: u64 = 5_000;

/// See the module. Times are of [`now`]; 0 means "not".
#[derive(Debug, Default)]
pub struct Transfer {
    body: Incoming,
    response: Outgoing,
    rest: Rest,
    /// what is late is given up by its task
    task: Wakeup,
}

#[derive(Debug, Default)]
struct Incoming {
    /// when the span began that the rate is measured over
    began: AtomicU64,
    /// bytes in that span
    bytes: AtomicU64,
    moved: AtomicU64,
    late: AtomicBool,
}

/// What comes of a body after the response.
#[derive(Debug, Default)]
struct Rest {
    began: AtomicU64,
    moved: AtomicU64,
    over: AtomicBool,
}

#[derive(Debug, Default)]
struct Outgoing {
    /// bytes that wait to be taken
    waiting: AtomicUsize,
    /// bytes taken since `since`
    taken: AtomicUsize,
    /// since when the client has let the response wait
    since: AtomicU64,
    late: AtomicBool,
}

impl Transfer {
    /// A body is expected from now on.
    pub fn body_begins(&self) {
        let now = now();
        self.body.bytes.store(0, Relaxed);
        self.body.moved.store(now, Relaxed);
        self.body.began.store(now, Relaxed);
    }

    /// Some of the body has come.
    pub fn body_moves(&self, bytes: usize) {
        self.body.bytes.store(self.body.bytes.load(Relaxed) + bytes as u64, Relaxed);
        self.body.moved.store(now(), Relaxed);
    }

    /// The body is here, or given up.
    pub fn body_ends(&self) {
        self.body.began.store(0, Relaxed);
    }

    /// Whether the wait for the body is over.
    pub fn is_body_late(&self) -> bool {
        self.body.late.load(Relaxed)
    }

    /// Gives the body up when none of it has come for `pause` ms, or when less than `rate` bytes a second have come in
    /// a span of that length. Gives whether it has done so, like the other two checks.
    pub fn check_body(&self, now: u64, pause: u64, rate: u64) -> bool {
        let began = self.body.began.load(Relaxed);
        if began == 0 {
            return false;
        }
        let span = now.saturating_sub(began);
        let is_over = span > pause;
        let is_late = now.saturating_sub(self.body.moved.load(Relaxed)) > pause
            || is_over && self.body.bytes.load(Relaxed) * 1000 / span < rate;
        if is_late {
            self.body.late.store(true, Relaxed);
            self.task.wake();
        } else if is_over {
            self.body.bytes.store(0, Relaxed);
            self.body.began.store(now, Relaxed);
        }
        is_late
    }

    /// Something has changed that its task has to look at.
    pub fn wake(&self) {
        self.task.wake();
    }

    /// The response waits for its client to make room.
    pub fn wants_room(&self) {
        if self.response.since.load(Relaxed) == 0 {
            self.response.taken.store(0, Relaxed);
            self.response.since.store(now(), Relaxed);
        }
    }

    /// The client has made room, and nothing waits for it.
    pub fn has_room(&self) {
        if self.waiting() == 0 {
            self.response.since.store(0, Relaxed);
        }
    }

    /// `bytes` more of the response wait to be taken.
    pub fn hands_over(&self, bytes: usize) {
        self.response.waiting.store(self.waiting() + bytes, Relaxed);
        if bytes > 0 {
            self.wants_room();
        }
    }

    /// The client has taken `bytes` of them.
    pub fn took(&self, bytes: usize) {
        let (before, out) = (self.waiting(), &self.response);
        let waiting = before.saturating_sub(bytes);
        out.waiting.store(waiting, Relaxed);
        let taken = out.taken.load(Relaxed) + bytes;
        if waiting == 0 {
            out.since.store(0, Relaxed);
        } else if taken >= MOVED {
            out.taken.store(0, Relaxed);
            out.since.store(now(), Relaxed);
        } else {
            out.taken.store(taken, Relaxed);
        }
        if before >= LOW && waiting < LOW || waiting == 0 {
            self.task.wake();
        }
    }

    /// Bytes that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.response.waiting.load(Relaxed)
    }

    /// Whether more of the response is welcome.
    pub fn is_low(&self) -> bool {
        self.waiting() < LOW
    }

    /// Whether the wait for the client is over.
    pub fn is_response_late(&self) -> bool {
        self.response.late.load(Relaxed)
    }

    /// Gives the response up when its client has not made it move for `pause` ms.
    pub fn check_response(&self, now: u64, pause: u64) -> bool {
        let since = self.response.since.load(Relaxed);
        let is_late = since != 0 && now.saturating_sub(since) > pause;
        if is_late {
            self.response.late.store(true, Relaxed);
            self.task.wake();
        }
        is_late
    }

    /// The client has its response, and may still be sending.
    pub fn lingers(&self) {
        self.rest.began.store(now(), Relaxed);
        self.client_sent();
    }

    /// It has sent something.
    pub fn client_sent(&self) {
        self.rest.moved.store(now(), Relaxed);
    }

    /// Whether it has had its time.
    pub fn has_lingered(&self) -> bool {
        self.rest.over.load(Relaxed)
    }

    /// Gives such a client up when it has had its time.
    pub fn check_linger(&self, now: u64) -> bool {
        let since = |at: &AtomicU64| now.saturating_sub(at.load(Relaxed));
        let lingers = self.rest.began.load(Relaxed) != 0;
        let is_over = lingers && (since(&self.rest.began) > LINGER || since(&self.rest.moved) > LINGER_PAUSE);
        if is_over {
            self.rest.over.store(true, Relaxed);
            self.task.wake();
        }
        is_over
    }

    /// The task to wake when something is late, or when there is room.
    pub fn set_waker(&self, waker: &Waker) {
        self.task.set(waker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_must_move_and_keep_its_rate_in_every_span() {
        let late = |bytes: usize, after: u64| {
            let transfer = Transfer::default();
            transfer.body_begins();
            transfer.body_moves(1_000_000);
            let first = now() + 1001;
            transfer.body.moved.store(first, Relaxed);
            transfer.check_body(first, 1000, 500);
            assert!(!transfer.is_body_late(), "the first span had its bytes");
            transfer.body_moves(bytes);
            transfer.body.moved.store(first + after, Relaxed);
            transfer.check_body(first + 1001, 1000, 500);
            transfer.is_body_late()
        };
        assert!(late(0, 0), "it does not move");
        assert!(late(400, 900), "what came before does not count");
        assert!(!late(501, 900));
    }

    #[test]
    fn a_response_that_is_taken_byte_by_byte_stalls() {
        let transfer = Transfer::default();
        transfer.check_response(now() + 10_000, 1000);
        assert!(!transfer.is_response_late(), "nothing waits");
        transfer.hands_over(2 * MOVED);
        let began = transfer.response.since.load(Relaxed);
        transfer.took(MOVED - 1);
        assert_eq!(transfer.response.since.load(Relaxed), began);
        transfer.response.since.store(1, Relaxed);
        transfer.took(1);
        assert_ne!(transfer.response.since.load(Relaxed), 1, "enough was taken");
        transfer.took(MOVED);
        transfer.check_response(now() + 10_000, 1000);
        assert!(!transfer.is_response_late(), "all was taken");
        transfer.wants_room();
        transfer.check_response(now() + 1002, 1000);
        assert!(transfer.is_response_late());
    }
}

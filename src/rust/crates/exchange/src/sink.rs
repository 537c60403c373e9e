//! Where the answer goes of a request whose handler does not answer as it is called: it runs on another thread, answers
//! later, or piece by piece. The other end is a client's connection, in this process or beyond shared memory.
//!
//! Order: `start` (once, before a handler runs that had to wait for a thread) · then `answer` once, or `begin`, any
//! number of `send`, and `end` once. Whoever calls keeps to it; a sink need not check. A sink that is dropped before
//! its answer is complete is one that failed: its client gets 500, or the end of its connection when the response has
//! begun.

use crate::{Answer, Head, OnCancel};
use bytes::Bytes;
use std::time::Instant;

/// What became of a piece of a streamed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// it is on its way
    Done,
    /// the client is behind; try again later. Only without `wait`.
    Full,
    /// the response is no longer wanted
    Gone,
}

/// See the module. All may be called from any thread.
pub trait Sink: Send + Sync {
    /// A handler begins with the request now. `false` when it is not wanted any more (it waited too long, its client
    /// has gone): then drop the sink and do nothing.
    fn start(&self) -> bool;
    /// The handler has returned and will answer later: the thread that ran it is free. Called once, by a thread that
    /// `start` was for; never after the answer. A sink that does not count threads has nothing to do.
    fn yielded(&self) {}
    /// The whole answer. `false` when it is no longer wanted.
    fn answer(&self, answer: Answer) -> bool;
    /// The same, but the client's side need not notice before [`Sink::notify`]: a thread that answers many in a row
    /// wakes it once.
    fn answer_held(&self, answer: Answer) -> bool {
        self.answer(answer)
    }
    /// What this thread has answered and held, through this sink and others of the same client's side, is to be noticed
    /// now.
    fn notify(&self) {}
    /// A streamed response begins. `false` when it is no longer wanted.
    fn begin(&self, head: Head) -> bool;
    /// The next piece of it. `wait`: until the client has taken enough of what was sent before; never on an I/O thread.
    fn send(&self, piece: Bytes, wait: bool) -> Sent;
    /// The body is complete; or, if not `whole`, never will be.
    fn end(&self, whole: bool);
    /// Whether the answer is no longer wanted: the client has gone, or the request's time is over.
    fn is_cancelled(&self) -> bool;
    /// When the client is told that its request took too long, if that is known.
    fn deadline(&self) -> Option<Instant> {
        None
    }
    /// Has `call` called once, when the request is cancelled, on whichever thread notices; at once if it is already. No
    /// lock of the sink is held then: `call` may use the sink. It is dropped uncalled when the answer is complete. A
    /// later one takes the place of an earlier one.
    fn on_cancel(&self, call: OnCancel);
}

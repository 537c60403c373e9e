//! Answers that a thread of the pool need not report at once: those of the quick handlers that it runs, as it reports
//! many together.
//!
//! A thread holds only the answer to the request whose handler it runs. What that handler answers to other requests,
//! and what other threads answer to its own, is reported at once. When a handler lasts, the lookout of the pool sets
//! `late` and reports what was held before; later answers are reported here. Both look after they have written, so one
//! of them sees the other.

use exchange::{Answer, Sink};
use std::cell::{Cell, OnceCell};
use std::sync::atomic::{fence, AtomicBool, Ordering};
use std::sync::Arc;

thread_local! {
    static LATE: OnceCell<Arc<AtomicBool>> = const { OnceCell::new() };
    /// address of the sink whose answer may be held; compared, never used
    static HELD: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// This thread runs handlers of the pool; it is told by `late` that one lasts.
pub fn on_this_thread(late: Arc<AtomicBool>) {
    LATE.with(|cell| {
        // once for each thread
        let _ = cell.set(late);
    });
}

/// While it lives, this thread holds what it answers through the sink.
pub struct Held;

/// See [`Held`].
pub fn answers_of(sink: &Arc<dyn Sink>) -> Held {
    HELD.set(Arc::as_ptr(sink).cast());
    Held
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.set(std::ptr::null());
    }
}

/// Answers. `false` when the answer is no longer taken.
pub fn answer(sink: &Arc<dyn Sink>, answer: Answer) -> bool {
    if HELD.get() != Arc::as_ptr(sink).cast() {
        return sink.answer(answer);
    }
    let taken = sink.answer_held(answer);
    fence(Ordering::SeqCst);
    if LATE.with(|late| late.get().is_some_and(|late| late.load(Ordering::SeqCst))) {
        sink.notify();
    }
    taken
}

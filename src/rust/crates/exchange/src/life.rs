//! The life of an answer: the stage of a request whose handler answers later, and the function to call when the answer
//! is no longer wanted. All sinks go through it in the same way.
//!
//! ```text
//! Waiting ─start▶ Running ─answer▶ Over
//!    │               └─begin▶ Streaming ─end▶ Over
//!    └─its handler is never to run─────▶ Over
//! ```
//! It can be cancelled at any time, which leaves the stage as it is: the running handler still has to end. Functions of
//! handlers are returned, for the caller to call or drop without the lock that guards the life: they may use the sink.

/// What a handler wants called when its request is cancelled.
pub type OnCancel = Box<dyn FnOnce() + Send>;

/// One that is not to be called any more; to be dropped without a lock.
#[must_use = "it may use the sink when it is dropped: not under the sink's lock"]
pub struct Uncalled(#[allow(dead_code)] Option<OnCancel>);

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// for a thread
    Waiting,
    /// its handler does, or will answer later
    Running,
    /// the response has begun
    Streaming,
    /// nothing more is to come of the handler
    Over,
}

/// See the module.
pub struct Life {
    stage: Stage,
    is_cancelled: bool,
    on_cancel: Option<OnCancel>,
}

impl Life {
    /// Of a request whose handler has begun, or waits for a thread.
    pub fn new(has_begun: bool) -> Self {
        let stage = if has_begun { Stage::Running } else { Stage::Waiting };
        Life { stage, is_cancelled: false, on_cancel: None }
    }

    /// Where it stands.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Its handler begins. `false` when it did not wait for that.
    pub fn start(&mut self) -> bool {
        self.moves(Stage::Waiting, Stage::Running)
    }

    /// A streamed response begins. `false` when it cannot, or is no longer wanted.
    pub fn begin(&mut self) -> bool {
        !self.is_cancelled && self.moves(Stage::Running, Stage::Streaming)
    }

    /// It is over, from this stage on. `None` when it is at another.
    pub fn end(&mut self, from: Stage) -> Option<Uncalled> {
        self.moves(from, Stage::Over).then(|| Uncalled(self.on_cancel.take()))
    }

    /// The answer is no longer wanted. Returns the function to call.
    #[must_use]
    pub fn cancel(&mut self) -> Option<OnCancel> {
        self.is_cancelled = true;
        self.on_cancel.take()
    }

    /// Has this called when it is cancelled, instead of what was to be called before.
    ///
    /// # Errors
    /// It is cancelled already: this is to be called now.
    pub fn on_cancel(&mut self, call: OnCancel) -> Result<Uncalled, OnCancel> {
        match (self.stage, self.is_cancelled) {
            (Stage::Over, _) => Ok(Uncalled(Some(call))),
            (_, true) => Err(call),
            (_, false) => Ok(Uncalled(self.on_cancel.replace(call))),
        }
    }

    fn moves(&mut self, from: Stage, to: Stage) -> bool {
        let is_there = self.stage == from;
        if is_there {
            self.stage = to;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    fn counter() -> (Arc<AtomicUsize>, OnCancel) {
        let calls = Arc::new(AtomicUsize::new(0));
        let call = calls.clone();
        let count = move || {
            call.fetch_add(1, Ordering::Relaxed);
        };
        (calls, Box::new(count))
    }

    #[test]
    fn each_move_is_made_once_and_in_order() {
        let mut life = Life::new(false);
        assert!(!life.begin() && life.end(Stage::Running).is_none(), "it has not started");
        assert!(life.start() && !life.start());
        assert!(life.begin() && !life.begin());
        assert!(life.end(Stage::Running).is_none(), "it streams");
        assert!(life.end(Stage::Streaming).is_some() && life.end(Stage::Streaming).is_none());
        assert_eq!(life.stage(), Stage::Over);
    }

    #[test]
    fn what_is_cancelled_begins_no_stream_and_comes_to_its_end() {
        let mut life = Life::new(true);
        assert!(life.cancel().is_none());
        assert!(!life.begin());
        assert!(life.end(Stage::Running).is_some());
    }

    #[test]
    fn the_last_function_is_called_once_and_only_while_there_is_no_answer() {
        let (calls, first) = counter();
        let (others, second) = counter();
        let mut life = Life::new(true);
        assert!(life.on_cancel(first).is_ok() && life.on_cancel(second).is_ok());
        life.cancel().expect("the second")();
        assert!(life.cancel().is_none());
        let late = life.on_cancel(counter().1);
        assert!(late.is_err(), "it is cancelled: to be called at once");
        assert_eq!((calls.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (0, 1));
        assert!(life.end(Stage::Running).is_some());
        assert!(life.on_cancel(counter().1).is_ok(), "it is over: never called");
        assert!(life.cancel().is_none());
    }
}

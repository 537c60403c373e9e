//! The function that a handler wants called when its answer is no longer wanted.
//!
//! Idle -> armed (`set`) -> running (`fire`, once in a request's life) -> idle. `set` waits while an earlier function
//! runs in another thread, so that its caller may then free what that function uses.

use crate::abi::Callback;
use crate::{guard, turn};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// A function and its argument.
#[derive(Clone, Copy)]
pub struct Call(pub Callback, pub *mut c_void);

// SAFETY: the code that registers it promises that it may be called on any thread.
unsafe impl Send for Call {}

/// See the module.
#[derive(Default)]
pub struct Cancel {
    state: Mutex<State>,
    /// the running one has returned
    returned: Condvar,
    /// as `State::fired`, for a look without the lock
    fired: AtomicBool,
}

#[derive(Default)]
struct State {
    armed: Option<Call>,
    running: Option<ThreadId>,
    fired: bool,
}

impl Cancel {
    fn state(&self) -> MutexGuard<'_, State> {
        // nothing panics while holding it
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request is known to be cancelled here.
    pub fn has_fired(&self) -> bool {
        self.fired.load(Ordering::Acquire)
    }

    /// Registers a function, or none; calls it at once when the request is cancelled already. What it did wrong is
    /// returned.
    pub fn set(&self, call: Option<Call>) -> Result<(), String> {
        let me = std::thread::current().id();
        let mut state = self.state();
        while state.running.is_some_and(|thread| thread != me) {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.armed = call;
        // one that registers another from within is not called by itself again
        if state.fired && state.running.is_none() {
            self.run(state)
        } else {
            Ok(())
        }
    }

    /// The request is cancelled. What the function did wrong is returned.
    pub fn fire(&self) -> Result<(), String> {
        let mut state = self.state();
        state.fired = true;
        self.fired.store(true, Ordering::Release);
        self.run(state)
    }

    fn run(&self, mut state: MutexGuard<'_, State>) -> Result<(), String> {
        let Some(Call(function, arg)) = state.armed.take() else { return Ok(()) };
        state.running = Some(std::thread::current().id());
        drop(state);
        let outcome = {
            let _turn = turn::must_not_wait();
            // SAFETY: the code that registered it promised so; it is called once, as it is not armed any more.
            unsafe { guard::callback(function, arg) }
        };
        self.state().running = None;
        self.returned.notify_all();
        outcome
    }
}

//! Which task to wake for something, if any waits for it.

use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// See the module.
#[derive(Debug, Default)]
pub struct Wakeup(Mutex<Option<Waker>>);

impl Wakeup {
    /// From now on this task is woken.
    pub fn set(&self, waker: &Waker) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !slot.as_ref().is_some_and(|w| w.will_wake(waker)) {
            *slot = Some(waker.clone());
        }
    }

    /// Wakes it.
    pub fn wake(&self) {
        if let Some(waker) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake_by_ref();
        }
    }
}

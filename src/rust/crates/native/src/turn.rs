//! Whether this thread must not wait: it is an I/O thread that is calling a handler or a function of `on_cancel()`.

use std::cell::Cell;

thread_local! {
    static MUST_NOT_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, this thread must not wait.
pub struct Turn {
    before: bool,
}

/// See [`Turn`].
pub fn must_not_wait() -> Turn {
    Turn { before: MUST_NOT_WAIT.replace(true) }
}

/// Whether this thread may.
pub fn may_wait() -> bool {
    !MUST_NOT_WAIT.get()
}

impl Drop for Turn {
    fn drop(&mut self) {
        MUST_NOT_WAIT.set(self.before);
    }
}

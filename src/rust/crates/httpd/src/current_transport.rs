//! The transport of the task that runs.
//!
//! A request's body is received by the future that answers it, and HTTP/2's library reads and writes by itself, while
//! the transport is the connection's: so the connection lends it for as long as it polls one of them.

use crate::transport::Transport;
use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Option<Box<Transport>>> = const { Cell::new(None) };
}

/// Runs `f` with the transport as the current one.
pub fn lend<T>(io: &mut Option<Box<Transport>>, f: impl FnOnce() -> T) -> T {
    /// Gives the transport back, also when a panic goes through.
    struct Back<'a>(&'a mut Option<Box<Transport>>);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            *self.0 = CURRENT.take();
        }
    }
    CURRENT.set(io.take());
    let _back = Back(io);
    f()
}

/// Runs `f` on the current line. `None` outside of [`lend`].
pub fn borrow<T>(f: impl FnOnce(&mut Transport) -> T) -> Option<T> {
    let mut io = CURRENT.take()?;
    let result = f(&mut io);
    CURRENT.set(Some(io));
    Some(result)
}

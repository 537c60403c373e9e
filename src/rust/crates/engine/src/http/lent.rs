//! The line of the task that runs.
//!
//! A request's body is received by the future that answers it, and HTTP/2's library reads and writes by itself, while the line is
//! the connection's: so the connection lends it for as long as it polls one of them.

use super::line::Line;
use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<Option<Box<Line>>> = const { Cell::new(None) };
}

/// Runs `f` with the line as the current one.
pub fn lend<T>(line: &mut Option<Box<Line>>, f: impl FnOnce() -> T) -> T {
    /// Gives the line back, also when a panic goes through.
    struct Back<'a>(&'a mut Option<Box<Line>>);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            *self.0 = CURRENT.take();
        }
    }
    CURRENT.set(line.take());
    let _back = Back(line);
    f()
}

/// Runs `f` on the current line. `None` outside of [`lend`].
pub fn borrow<T>(f: impl FnOnce(&mut Line) -> T) -> Option<T> {
    let mut line = CURRENT.take()?;
    let result = f(&mut line);
    CURRENT.set(Some(line));
    Some(result)
}

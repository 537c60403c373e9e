//! Threads that get no signals: handlers of signals are R's, and run in R's thread only.

use std::mem::MaybeUninit;

/// Runs `start`, which starts a thread, with all signals blocked: the thread inherits that, from its first instruction.
pub fn blocked<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: the first call initialises `all`, the second reads it and initialises `before`; they cannot fail with
    // these arguments.
    let before = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    };
    let started = start();
    // SAFETY: `before` is the mask that this thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    started
}

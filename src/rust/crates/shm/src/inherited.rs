//! Descriptors that a process is started with beside the three standard ones: from number 3 on, as sd_listen_fds(3) has
//! it.

use rustix::io::{fcntl_getfd, fcntl_setfd, FdFlags};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The first after the standard ones.
const FIRST: RawFd = 3;

/// Takes `count` descriptors, from 3 on, from the process that has started this one. Programs started from now on do
/// not inherit them.
///
/// # Errors
/// When one is not there, or is one that this process has opened, or has taken before: a text that says which.
pub fn take_inherited(count: usize) -> Result<Vec<OwnedFd>, String> {
    let numbers = (FIRST..).take(count);
    numbers.map(|number| take(number).map_err(|e| format!("there is no descriptor {number}: {e}"))).collect()
}

fn take(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: any number will do to ask whether it is open, and for no more than that.
    let there = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = fcntl_getfd(there)?;
    if flags.contains(FdFlags::CLOEXEC) {
        return Err(io::Error::other("the one of this number was opened by this process"));
    }
    fcntl_setfd(there, flags | FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and nothing in this process owns it: what the process opens is closed when a program is
    // executed (CLOEXEC), which this one was not a moment ago, and is from now on.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

//! The descriptor that a process is started with beside the three standard ones: number 3, as sd_listen_fds(3) has it.

use rustix::io::{fcntl_getfd, fcntl_setfd, FdFlags};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The first after the standard ones.
const FIRST: RawFd = 3;

/// Takes descriptor 3 from whoever has started this process. Programs that are started from now on do not inherit it.
///
/// # Errors
/// When there is none, or it is one that this process has opened, or has taken before.
pub fn take_inherited() -> io::Result<OwnedFd> {
    // SAFETY: any number will do to ask whether it is open, and for no more than that.
    let there = unsafe { BorrowedFd::borrow_raw(FIRST) };
    let flags = fcntl_getfd(there)?;
    if flags.contains(FdFlags::CLOEXEC) {
        return Err(io::Error::other("descriptor 3 was opened by this process"));
    }
    fcntl_setfd(there, flags | FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and nothing in this process owns it: what the process opens is closed when a program is
    // executed (CLOEXEC), which this one was not a moment ago, and is from now on.
    Ok(unsafe { OwnedFd::from_raw_fd(FIRST) })
}

//! Wakes a thread that sleeps on descriptors, from other threads and processes.

use rustix::event::{eventfd, EventfdFlags};
use rustix::io::{read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::Wake;

/// A descriptor that is readable when it has sounded since it was last drained.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// A silent one.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Alarm(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The same one, of its descriptor, which another process gave.
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Alarm(fd)
    }

    /// Ends the sleep, or the next one.
    pub fn sound(&self) {
        // the only error is a full counter, and then it sounds already
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }

    /// Silent again.
    pub fn drain(&self) {
        // an error only means that it was silent
        let _ = read(&self.0, &mut [0u8; 8]);
    }
}

/// As the waker of a queue for async readers, which is read without a runtime.
impl Wake for Alarm {
    fn wake(self: std::sync::Arc<Self>) {
        self.sound();
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

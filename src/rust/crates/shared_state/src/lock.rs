//! The lock of a table: one process at a time. The system takes it back from a process that ends, however it ends.
//!
//! It is a record lock of fcntl(2), which belongs to the process: forks do not inherit it, and the wait for it costs no
//! processor. The descriptor is never closed, as that would give the lock up. Threads of a process have a mutex before
//! it.

use rustix::fs::{fcntl_lock, FlockOperation};
use rustix::io::Errno;
use shm::Segment;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of one table, in this process.
#[derive(Debug, Default)]
pub struct Lock(Mutex<()>);

/// Held until it is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    segment: &'a Segment,
    _thread: MutexGuard<'a, ()>,
}

impl Lock {
    /// Waits for it.
    ///
    /// # Errors
    /// When the system has no more locks.
    pub fn hold<'a>(&'a self, segment: &'a Segment) -> io::Result<Held<'a>> {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match fcntl_lock(segment, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Held { segment, _thread: thread }),
                // a signal: R has noted it, and acts on it when this is done
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // it is held, and to give it up needs nothing
        let _ = fcntl_lock(self.segment, FlockOperation::Unlock);
    }
}

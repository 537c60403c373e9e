//! Lets a bell end the sleep of an async runtime: the I/O threads sleep in their runtime, not on the descriptor.

use crate::Bell;
use std::io;
use std::sync::Arc;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// A bell that the current runtime watches, until dropped.
#[derive(Debug)]
pub struct Watched(#[allow(dead_code)] AsyncFd<Arc<Bell>>);

impl Watched {
    /// Has the current runtime wake up whenever the bell is rung. The descriptor is never read: each ring is an edge.
    ///
    /// # Errors
    /// When the descriptor cannot be registered.
    pub fn new(bell: Arc<Bell>) -> io::Result<Self> {
        // SAFETY: the bell owns its descriptor, never changes it, and lives as long as the `AsyncFd` that holds it.
        let watched = unsafe { AsyncFd::register_with_interest(bell, Interest::READABLE) };
        Ok(Watched(watched.map_err(io::Error::from)?))
    }
}

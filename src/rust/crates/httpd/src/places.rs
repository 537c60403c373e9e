//! Places of which each client has a share, by its address: connections, and handshakes that are under way.
//! `admission::Crowd` counts them.

use crate::client::RemoteAddress;
use admission::Crowd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug)]
pub(crate) struct Places(Mutex<Crowd>);

impl Places {
    /// At most `most` for each client.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Places(Mutex::new(Crowd::new(u32::try_from(most).unwrap_or(u32::MAX)))))
    }

    /// One for the client of this address; `None` when it has as many as it may.
    pub fn take(self: &Arc<Self>, address: &RemoteAddress) -> Option<Place> {
        let client = address.client();
        self.crowd().enter(client).then(|| Place { of: self.clone(), client })
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that a client has, until dropped.
#[derive(Debug)]
pub(crate) struct Place {
    of: Arc<Places>,
    client: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.crowd().leave(self.client);
    }
}

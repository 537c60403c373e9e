//! Bytes on their way to clients, of many connections together. What is held counts from when it is made until the last
//! who has it lets go of it: once, however many are to get it.

use bytes::Bytes;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

/// How many there are. Clones count the same.
#[derive(Debug, Default, Clone)]
pub struct Unread(Arc<AtomicUsize>);

impl Unread {
    /// What something costs beside its bytes: many empty ones are not for free.
    pub const OVERHEAD: usize = 64;

    /// The same bytes, which count until they are dropped.
    pub fn hold(&self, bytes: Bytes) -> Bytes {
        self.0.fetch_add(bytes.len() + Unread::OVERHEAD, Relaxed);
        Bytes::from_owner(Held { bytes, of: self.0.clone() })
    }

    /// All that count now.
    pub fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }
}

struct Held {
    bytes: Bytes,
    of: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes.len() + Unread::OVERHEAD, Relaxed);
    }
}

//! Bytes on their way to clients, of many connections together. Held bytes count from when they are made until the last
//! holder drops them: once, however many clients are to get them.

use bytes::Bytes;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use wire::stream::{FIRST, WINDOW};

/// Bytes of streamed bodies that may wait for all clients together, or have been promised room: as many as of responses
/// that are whole.
const MOST_OF_STREAMS: usize = 64 << 20;
/// A stream gets this part of what is left of them, so that there is always some left for the next one.
const PART: usize = 16;

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

    /// Room for what is still to come, which counts as if it were here. None at first.
    pub fn promise(&self) -> Promised {
        Promised { bytes: 0, of: self.clone() }
    }

    /// All that count now.
    pub fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// What one of many streams that count here may have ahead of its client: the less, the more all of them have, and
    /// never so little that it could not go on.
    pub fn window(&self) -> usize {
        (MOST_OF_STREAMS.saturating_sub(self.bytes()) / PART).clamp(FIRST, WINDOW)
    }
}

/// See [`Unread::promise`]. Counts until it is dropped.
#[derive(Debug)]
pub struct Promised {
    bytes: usize,
    of: Unread,
}

impl Promised {
    /// What is promised now.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Promises so much instead.
    pub fn set(&mut self, bytes: usize) {
        self.of.0.fetch_add(bytes, Relaxed);
        self.of.0.fetch_sub(std::mem::replace(&mut self.bytes, bytes), Relaxed);
    }
}

impl Drop for Promised {
    fn drop(&mut self) {
        self.set(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_shrink_as_streams_have_more_ahead_and_grow_again() {
        let all = Unread::default();
        let mut streams: Vec<_> = (0..10_000).map(|_| all.promise()).collect();
        streams[0].set(all.window());
        assert_eq!((all.bytes(), all.window()), (WINDOW, WINDOW));
        for stream in &mut streams {
            stream.set(all.window());
        }
        assert_eq!(all.window(), FIRST);
        assert!(all.bytes() <= MOST_OF_STREAMS + streams.len() * FIRST, "{}", all.bytes());
        streams.clear();
        assert_eq!((all.bytes(), all.window()), (0, WINDOW));
    }
}

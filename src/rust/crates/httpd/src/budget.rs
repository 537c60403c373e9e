//! What all connections together may hold beyond their sockets: open files, and in memory long header sections,
//! bodies that are not complete and long responses that are not taken.
//!
//! Each holder has a guard, which gives back what it holds when it is dropped. When half of a resource is in use it is
//! scarce: then clients that let the server wait get less time (`timeouts`), so that stalled clients make room for
//! others. Neighbours: `server` (connections, which share the descriptors), `body` and the service (which ask).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use tokio::sync::Notify;

/// Bytes of incomplete bodies that are kept in memory, of all requests together; what comes beyond that goes to disk.
/// Enough for 500 bodies of the usual `spool_above` at a time, little enough for the smallest machine.
const MAX_BODIES: u64 = 64 << 20;
/// Bytes of header sections beyond [`SHORT_HEAD`], of all requests that are being received or are under way; a client
/// that sends more is told to retry later. Cookies and tokens of 10 kB fit in for 10,000 requests at a time.
const MAX_HEADS: u64 = 64 << 20;
/// A header section of up to this many bytes does not count; most are that short.
pub const SHORT_HEAD: usize = 4 << 10;
/// Bytes of long responses that are kept in memory until their clients have taken them, of all requests together; what
/// comes beyond that goes to disk, so that workers can go on making responses for clients that do not read.
const MAX_RESPONSES: u64 = 64 << 20;

/// Bytes of WebSocket messages that are incomplete, or wait for a handler, of all connections together; a client that
/// needs more is told to retry later.
const MAX_MESSAGES: u64 = 64 << 20;

/// Bytes that decoders of packed bodies have to remember, of all requests together; a client whose body needs more is
/// told to retry later. Gzip needs 32 kB for each, which do not count, zstd up to 8 MB.
const MAX_WINDOWS: u64 = 64 << 20;

/// See the module.
pub struct Budget {
    /// descriptors that connections and files share
    descriptors: usize,
    max_files: usize,
    files: AtomicUsize,
    heads: AtomicU64,
    bodies: AtomicU64,
    responses: AtomicU64,
    messages: AtomicU64,
    windows: AtomicU64,
    /// rung when a connection or a file closes that stood in a new connection's way
    pub one_freed: Notify,
}

impl Budget {
    /// For a process with this many descriptors for connections and files. Files get at most half of them, or all that
    /// `max_connections` leaves: open files never keep all connections out.
    pub fn new(descriptors: usize, max_connections: usize) -> Arc<Self> {
        let max_files = descriptors.saturating_sub(max_connections).max(descriptors / 2);
        let files = AtomicUsize::new(0);
        let [heads, bodies, responses, messages, windows] = [const { AtomicU64::new(0) }; 5];
        Arc::new(Budget {
            descriptors,
            max_files,
            files,
            heads,
            bodies,
            responses,
            messages,
            windows,
            one_freed: Notify::new(),
        })
    }

    /// Connections that fit beside the files that are open.
    pub fn connections(&self) -> usize {
        self.descriptors.saturating_sub(self.files.load(Relaxed))
    }

    /// A place for an open file; `None` when there is none left.
    pub fn file(self: &Arc<Self>) -> Option<FilePlace> {
        let one_more = |files| (files < self.max_files).then_some(files + 1);
        self.files.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        Some(FilePlace(self.clone()))
    }

    /// Room in memory for a long header section.
    pub fn head(self: &Arc<Self>) -> BodyRoom {
        BodyRoom { budget: self.clone(), of: Self::heads, bytes: 0 }
    }

    /// Room in memory for a body that is still to come.
    pub fn body(self: &Arc<Self>) -> BodyRoom {
        BodyRoom { budget: self.clone(), of: Self::bodies, bytes: 0 }
    }

    /// Room in memory for a response that is still to be taken.
    pub fn response(self: &Arc<Self>) -> BodyRoom {
        BodyRoom { budget: self.clone(), of: Self::responses, bytes: 0 }
    }

    /// Room in memory for messages of a WebSocket.
    pub fn messages(self: &Arc<Self>) -> BodyRoom {
        BodyRoom { budget: self.clone(), of: Self::of_messages, bytes: 0 }
    }

    /// Room in memory for what a decoder has to remember.
    pub fn window(self: &Arc<Self>) -> BodyRoom {
        BodyRoom { budget: self.clone(), of: Self::windows, bytes: 0 }
    }

    fn windows(&self) -> (&AtomicU64, u64) {
        (&self.windows, MAX_WINDOWS)
    }

    fn of_messages(&self) -> (&AtomicU64, u64) {
        (&self.messages, MAX_MESSAGES)
    }

    fn heads(&self) -> (&AtomicU64, u64) {
        (&self.heads, MAX_HEADS)
    }

    fn bodies(&self) -> (&AtomicU64, u64) {
        (&self.bodies, MAX_BODIES)
    }

    fn responses(&self) -> (&AtomicU64, u64) {
        (&self.responses, MAX_RESPONSES)
    }

    /// Files that are open, and bytes of bodies and responses.
    #[cfg(any(feature = "fuzzing", test))]
    pub(crate) fn in_use(&self) -> (usize, u64, u64) {
        (self.files.load(Relaxed), self.bodies.load(Relaxed), self.responses.load(Relaxed))
    }

    /// Whether clients that stall take what others need.
    pub fn is_scarce(&self) -> bool {
        let is_half_full = |(taken, most): (&AtomicU64, u64)| 2 * taken.load(Relaxed) > most;
        2 * self.files.load(Relaxed) > self.max_files
            || [self.heads(), self.bodies(), self.responses(), self.of_messages(), self.windows()]
                .into_iter()
                .any(is_half_full)
    }
}

/// The place of an open file, free again when this is dropped.
pub struct FilePlace(Arc<Budget>);

impl Drop for FilePlace {
    fn drop(&mut self) {
        self.0.files.fetch_sub(1, Relaxed);
        self.0.one_freed.notify_one();
    }
}

/// What a body takes of the memory for incomplete ones, or for those that are not taken, free again when this is
/// dropped.
pub struct BodyRoom {
    budget: Arc<Budget>,
    /// what is taken of it by all, and how much there is
    of: fn(&Budget) -> (&AtomicU64, u64),
    bytes: u64,
}

impl BodyRoom {
    /// Takes room for this many more bytes. `false` when there is none.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let (taken, most) = (self.of)(&self.budget);
        let more = |taken: u64| taken.checked_add(bytes).filter(|all| *all <= most);
        let fits = taken.fetch_update(Relaxed, Relaxed, more).is_ok();
        self.bytes += if fits { bytes } else { 0 };
        fits
    }
}

impl BodyRoom {
    /// Takes room for this many bytes in all, or gives back the excess. `false` when there is none: then it keeps what
    /// it had.
    pub fn fit(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if bytes >= self.bytes {
            return bytes == self.bytes || self.grow((bytes - self.bytes) as usize);
        }
        (self.of)(&self.budget).0.fetch_sub(self.bytes - bytes, Relaxed);
        self.bytes = bytes;
        true
    }
}

impl std::fmt::Debug for BodyRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyRoom").field("bytes", &self.bytes).finish()
    }
}

impl Drop for BodyRoom {
    fn drop(&mut self) {
        (self.of)(&self.budget).0.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_leave_half_of_the_descriptors_to_connections() {
        let budget = Budget::new(10, 10);
        let mut places: Vec<_> = std::iter::from_fn(|| budget.file()).collect();
        assert_eq!((places.len(), budget.connections(), budget.is_scarce()), (5, 5, true));
        places.truncate(2);
        assert_eq!((budget.connections(), budget.is_scarce()), (8, false));
        assert_eq!(std::iter::from_fn(|| budget.file()).map(std::mem::forget).count(), 3);
        // where few connections are allowed, files may have what is left
        let budget = Budget::new(100, 10);
        assert_eq!(std::iter::from_fn(|| budget.file()).map(std::mem::forget).count(), 90);
    }

    #[test]
    fn bodies_get_what_is_left_of_the_memory() {
        let budget = Budget::new(10, 10);
        let (mut first, mut second) = (budget.body(), budget.body());
        assert!(first.grow(MAX_BODIES as usize / 2) && !budget.is_scarce());
        assert!(second.grow(MAX_BODIES as usize / 2) && budget.is_scarce());
        assert!(!second.grow(1) && !first.grow(usize::MAX));
        drop(first);
        assert!(second.grow(1) && budget.is_scarce());
        drop(second);
        assert!(!budget.is_scarce());
    }

    #[test]
    fn long_heads_take_room_and_give_it_back() {
        let budget = Budget::new(10, 10);
        let (mut first, mut second) = (budget.head(), budget.head());
        assert!(first.fit(MAX_HEADS as usize - 10) && second.fit(10) && budget.is_scarce());
        assert!(!second.fit(11) && second.fit(10));
        drop(first);
        assert!(!budget.is_scarce() && second.fit(11));
    }

    #[test]
    fn messages_take_what_they_need_and_no_more() {
        let budget = Budget::new(10, 10);
        let (mut first, mut second) = (budget.messages(), budget.messages());
        assert!(first.fit(MAX_MESSAGES as usize) && !second.fit(1) && budget.is_scarce());
        assert!(first.fit(10) && !budget.is_scarce() && second.fit(MAX_MESSAGES as usize - 10));
        assert!(!first.fit(11) && first.fit(10) && first.fit(0) && second.fit(MAX_MESSAGES as usize));
        drop(second);
        assert_eq!(budget.messages.load(Relaxed), 0);
    }
}

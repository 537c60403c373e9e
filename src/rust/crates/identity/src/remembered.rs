//! What was found to be valid, so that it need not be checked again: hashes of passwords take tens of milliseconds,
//! signatures tens of microseconds. Neither passwords nor tokens are kept, but a keyed hash of each; the key is random,
//! and no other process has it. The number of entries is limited.

use aws_lc_rs::digest::{digest, SHA256};
use aws_lc_rs::rand;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The keyed hash of something.
pub type Trace = [u8; 32];

/// With a few I/O threads, hardly ever two want the same lock.
const SHARDS: usize = 16;

/// See the module.
pub struct Remembered<T> {
    key: [u8; 32],
    shards: [Mutex<HashMap<Trace, T, BuildHasherDefault<First>>>; SHARDS],
    /// how many a shard has room for
    room: usize,
}

impl<T> fmt::Debug for Remembered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered").finish_non_exhaustive()
    }
}

/// Keyed hashes are as good as random: their first bytes will do.
#[derive(Default)]
struct First(u64);

impl Hasher for First {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // of an array the length comes as well, which says nothing
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*first);
        }
    }

    fn write_usize(&mut self, _: usize) {}
}

impl<T: Clone> Remembered<T> {
    /// With room for about `most` entries.
    ///
    /// # Panics
    /// When the system has no random bytes to give.
    pub fn new(most: usize) -> Self {
        let mut key = [0; 32];
        rand::fill(&mut key).expect("the system gives random bytes");
        Remembered { key, shards: Default::default(), room: most.div_ceil(SHARDS) }
    }

    /// The hash of these parts, where no other parts have the same.
    pub fn trace(&self, parts: &[&[u8]]) -> Trace {
        // A hash of what begins with the key, in one call: what an HMAC has beyond that is for hashes that are shown,
        // and a request would wait for it.
        let mut keyed = Vec::with_capacity(self.key.len() + parts.iter().map(|part| 8 + part.len()).sum::<usize>());
        keyed.extend_from_slice(&self.key);
        for part in parts {
            keyed.extend_from_slice(&(part.len() as u64).to_le_bytes());
            keyed.extend_from_slice(part);
        }
        let mut trace = [0; 32];
        trace.copy_from_slice(digest(&SHA256, &keyed).as_ref());
        trace
    }

    /// What is known of it.
    pub fn get(&self, trace: &Trace) -> Option<T> {
        self.shard(trace).get(trace).cloned()
    }

    /// From now on this is known of it. What has gone by `is_over` goes first when there is no room, and then any.
    pub fn put(&self, trace: Trace, what: T, is_over: impl Fn(&T) -> bool) {
        let mut shard = self.shard(&trace);
        if shard.len() >= self.room && !shard.contains_key(&trace) {
            shard.retain(|_, one| !is_over(one));
            if shard.len() >= self.room {
                if let Some(any) = shard.keys().next().copied() {
                    shard.remove(&any);
                }
            }
        }
        shard.insert(trace, what);
    }

    fn shard(&self, trace: &Trace) -> MutexGuard<'_, HashMap<Trace, T, BuildHasherDefault<First>>> {
        // by the last byte, as a map goes by the first ones; nothing panics while holding the lock
        self.shards[usize::from(trace[31]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_what_it_was_told_and_no_more_than_it_has_room_for() {
        let known = Remembered::<u64>::new(160);
        let trace = |n: u64| known.trace(&[&n.to_le_bytes()]);
        for n in 0..10_000 {
            known.put(trace(n), n, |_| false);
            assert_eq!(known.get(&trace(n)), Some(n));
        }
        let kept: usize = known.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert_eq!(kept, 160);
        // those that are over make room
        known.put(trace(10_001), 10_001, |n| *n < 10_000);
        assert_eq!(known.get(&trace(10_001)), Some(10_001));
    }

    #[test]
    fn no_two_have_one_trace() {
        let (one, other) = (Remembered::<()>::new(1), Remembered::<()>::new(1));
        assert_ne!(one.trace(&[b"a", b"bc"]), one.trace(&[b"ab", b"c"]));
        assert_ne!(one.trace(&[b"a"]), other.trace(&[b"a"]));
        assert_eq!(one.trace(&[b"a", b"b"]), one.trace(&[b"a", b"b"]));
    }
}

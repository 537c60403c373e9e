//! Refuses requests whose strings were built to collide in R's string cache.
//!
//! R keeps every string once, in a global hash table (`R_StringHash`, `mkCharLenCE` in `envir.c`), with an unseeded
//! hash, `h = h * 33 + byte` from 5381, and chains for equal buckets. Strings made to share a bucket make the
//! interning of n strings take n^2 comparisons: a 1 MB body stalls R for seconds. So before any client text becomes
//! an R string, the same hash is counted here, where it costs about a nanosecond a byte.
//!
//! The table starts with 2^16 buckets and doubles only when most buckets are in use, which colliding strings never
//! achieve: so it is the low 16 bits that must be spread. Random strings reach a few dozen per bucket at a million
//! strings. Strings that are equal share one entry and never count twice.
//!
//! Not for R symbols (environments and argument names): client text must never become one at all.

use std::collections::{HashMap, HashSet};
use std::ffi::c_char;
use std::ops::ControlFlow;

use crate::error::{FieldError, FieldErrorKind};

/// Buckets of R's table when it is smallest.
const BUCKETS: usize = 1 << 16;

/// Counts strings per bucket. Keep one and use it again: it owns a table of 256 KB, allocated when first needed.
pub struct CollisionGuard {
    max_collisions: usize,
    counts: Vec<u32>,
}

impl CollisionGuard {
    /// A guard that allows `max_collisions` different strings of one request in one bucket.
    pub fn new(max_collisions: usize) -> Self {
        CollisionGuard { max_collisions, counts: Vec::new() }
    }

    /// Checks the strings of a list; the iterator is walked up to three times.
    ///
    /// # Errors
    /// `Collisions` (status 400) when more than `max_collisions` different strings share a bucket.
    pub fn check<'a>(&mut self, strings: impl Iterator<Item = &'a [u8]> + Clone) -> Result<(), FieldError> {
        self.check_walk(|visit| strings.clone().try_for_each(visit))
    }

    /// Checks the strings of a tree: `walk` calls its argument with every string, in any order, and returns at once
    /// with `Break` when the call does. It is called up to three times and must visit the same strings each time.
    ///
    /// # Errors
    /// As [`CollisionGuard::check`].
    pub fn check_walk<'a>(
        &mut self,
        walk: impl Fn(&mut dyn FnMut(&'a [u8]) -> ControlFlow<()>) -> ControlFlow<()>,
    ) -> Result<(), FieldError> {
        // Fewer strings than the limit cannot exceed it, and that is nearly every request: no hashing.
        let mut left = self.max_collisions;
        let few = walk(&mut |_| match left.checked_sub(1) {
            Some(fewer) => {
                left = fewer;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        });
        if few.is_continue() {
            return Ok(());
        }

        self.counts.clear();
        self.counts.resize(BUCKETS, 0);
        let mut most = 0;
        // a walk that is never broken off returns `Continue`
        let _ = walk(&mut |string| {
            let count = &mut self.counts[bucket(string)];
            *count = count.saturating_add(1);
            most = most.max(*count);
            ControlFlow::Continue(())
        });
        if most as usize <= self.max_collisions {
            return Ok(());
        }

        // Full buckets may hold one string many times: count the different ones. std's hash is seeded.
        let mut different: HashMap<usize, HashSet<&[u8]>> = HashMap::new();
        let flooded = walk(&mut |string| {
            let bucket = bucket(string);
            if self.counts[bucket] as usize > self.max_collisions {
                let strings = different.entry(bucket).or_default();
                strings.insert(string);
                if strings.len() > self.max_collisions {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if flooded.is_continue() {
            return Ok(());
        }
        Err(FieldError::new(
            FieldErrorKind::Collisions,
            format!("more than {} different strings collide in R's string cache", self.max_collisions),
        ))
    }
}

/// The bucket of a string in R's table when it is smallest. Bytes are added as C's `char`, signed or not as on
/// this platform, with unsigned 32-bit wrap-around, as R does.
fn bucket(string: &[u8]) -> usize {
    let hash = string.iter().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(*byte as c_char as u32));
    hash as usize & (BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(strings: &[Vec<u8>]) -> Result<(), FieldError> {
        CollisionGuard::new(1000).check(strings.iter().map(Vec::as_slice))
    }

    /// "Ab" and "BA" have one hash, so all 2^blocks strings of that many of them have one.
    fn colliding(blocks: u32) -> Vec<Vec<u8>> {
        let block = |which| if which { &b"Ab"[..] } else { b"BA" };
        (0..1_u32 << blocks)
            .map(|bits| (0..blocks).flat_map(|i| block(bits >> i & 1 == 0)).copied().collect())
            .collect()
    }

    /// Small reproducible numbers (xorshift), enough to spread test strings.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(seed), |x| {
            let x = x ^ (x << 13);
            let x = x ^ (x >> 7);
            Some(x ^ (x << 17))
        })
    }

    #[test]
    fn the_hash_is_that_of_r() {
        assert_eq!(bucket(b""), 5381);
        assert_eq!(bucket(b"Ab"), bucket(b"BA"));
        assert_eq!(bucket(b"a"), (5381 * 33 + 97) & 0xffff);
        // R shows the same on x86-64: strings of "AD" and "E\xc0" collide there, which unsigned bytes would not
        if c_char::MIN != 0 {
            assert_eq!(bucket(b"AD"), bucket(b"E\xc0"));
            assert_eq!(bucket(b"\xff"), (5381 * 33 - 1) & 0xffff);
        }
    }

    #[test]
    fn colliding_strings_are_refused() {
        let strings = colliding(15);
        assert!(strings.iter().all(|string| bucket(string) == bucket(&strings[0])));
        let error = check(&strings).unwrap_err();
        assert_eq!((error.kind(), error.status()), (FieldErrorKind::Collisions, 400));
    }

    #[test]
    fn collisions_of_the_low_bits_alone_are_refused() {
        // four digits to the base of 33 after any text move its hash by any amount below 2^16
        let aimed = |i: u32| {
            let text = format!("{i:x}");
            let distance = 77_usize.wrapping_sub(bucket(format!("{text}@@@@").as_bytes())) & (BUCKETS - 1);
            let digits = [3, 2, 1, 0].map(|place| b'@' + (distance / 33_usize.pow(place) % 33) as u8);
            [text.as_bytes(), &digits].concat()
        };
        let strings: Vec<_> = (0..1001).map(aimed).collect();
        assert!(strings.iter().all(|string| bucket(string) == 77));
        assert!(check(&strings).is_err());
        assert!(check(&strings[..1000]).is_ok());
    }

    #[test]
    fn a_flood_hidden_among_others_is_refused() {
        let mut strings: Vec<_> = numbers(5).take(100_000).map(|n| format!("{n:x}").into_bytes()).collect();
        strings.extend(colliding(11));
        assert!(check(&strings).is_err());
    }

    #[test]
    fn random_strings_pass() {
        let strings: Vec<_> = numbers(7).take(1_000_000).map(|n| format!("{n:x}").into_bytes()).collect();
        check(&strings).unwrap();
    }

    #[test]
    fn equal_strings_pass() {
        check(&vec![b"the same".to_vec(); 1_000_000]).unwrap();
    }

    #[test]
    fn a_guard_starts_afresh_each_time() {
        let strings = colliding(10);
        let mut guard = CollisionGuard::new(1000);
        for _ in 0..3 {
            guard.check(strings[..1000].iter().map(Vec::as_slice)).unwrap();
            guard.check(strings.iter().map(Vec::as_slice)).unwrap_err();
        }
    }

    proptest! {
        /// The verdict is that of counting exactly, on strings that collide and repeat often.
        #[test]
        fn the_verdict_is_exact(strings in proptest::collection::vec("(Ab|BA|C){0,3}", 0..60), limit in 0..6_usize) {
            let mut buckets: HashMap<usize, HashSet<&str>> = HashMap::new();
            for string in &strings {
                buckets.entry(bucket(string.as_bytes())).or_default().insert(string);
            }
            let flooded = buckets.values().any(|different| different.len() > limit);
            let verdict = CollisionGuard::new(limit).check(strings.iter().map(|string| string.as_bytes()));
            prop_assert_eq!(verdict.is_err(), flooded);
        }
    }
}

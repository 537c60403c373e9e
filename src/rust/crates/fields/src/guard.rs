//! Keeps strings that were built to collide in R's string cache from costing more than others do.
//!
//! R keeps every string once, in a global hash table (`R_StringHash`, `mkCharLenCE` in `envir.c`), with an unseeded
//! hash, `h = h * 33 + byte` from 5381, and chains for equal buckets. Strings made to share a bucket make each look-up
//! walk past all others: n of them take n^2 comparisons, in one request or spread over many, for they stay in the
//! table until R collects garbage. So every string of a client is counted here before R makes it:
//!
//! - Strings of one request that share buckets as no chance makes them are refused: [`CollisionGuard::check`].
//! - Strings that only collide with those of other requests are no request's fault. The time that it takes to make
//!   them is added up, and when it is as much as collecting garbage takes, R should collect, which empties the chains:
//!   [`CollisionGuard::wants_collection`].
//!
//! The table starts with 2^16 buckets and doubles only when most buckets are in use, which colliding strings never
//! achieve: so it is the low 16 bits that are counted. docs/decisions/0016-floods-of-the-string-cache.md has the
//! reasons and the figures.
//!
//! Not for R symbols (environments and argument names): client text must never become one at all.

use std::ffi::c_char;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::time::Duration;

use crate::error::{FieldError, FieldErrorKind};

/// Buckets of R's table when it is smallest.
const BUCKETS: usize = 1 << 16;

/// Strings of one request that may share a bucket without counting as collisions: random ones do by twos, and in some
/// scripts (Kana, Cyrillic) single letters do.
const FREE: u16 = 2;

/// Strings collide when R walks past more than this many others for each of them.
const STEPS: usize = 8;

/// Everything is forgotten after this many different strings: up to here, random strings do not fill the buckets of the
/// smallest table, so its size need not be known.
const WINDOW: usize = BUCKETS;

/// What a collection is taken to cost before one was measured, and the least that it ever is: it keeps an
/// unbelievably short one from being repeated for nothing.
const COLLECTION: Duration = Duration::from_micros(500);

/// What visits a string; it asks for no more with `Break`.
pub type Visit<'v> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'v;

/// Strings that were made since the last collection, by bucket. One for each process, as R's cache is.
pub struct CollisionGuard {
    /// empty until the first string comes; zeroes until touched, so that memory is taken as buckets are
    buckets: Vec<Bucket>,
    /// for [`bucket::MARKS`]: secret, so that no client can build strings that pass for one
    marks: ahash::RandomState,
    /// number of the request, and of the first one whose strings still count
    request: u32,
    since: u32,
    /// different strings of all requests that count
    made: usize,
    /// different strings of this request, and how many others of its own these met in their buckets beyond [`FREE`]
    strings: usize,
    excess: usize,
    /// strings of the last check, and steps past others that R takes for them
    checked: usize,
    steps: usize,
    /// what making strings that collide has taken since the last collection, and what a collection takes
    walked: Duration,
    collection: Duration,
}

/// One bucket: the fields are the constants of [`bucket`].
type Bucket = [u16; 16];

/// Places in a [`Bucket`].
mod bucket {
    /// the request that was here last, in two halves
    pub const REQUEST: [usize; 2] = [0, 1];
    /// different strings of all requests
    pub const ALL: usize = 2;
    /// different strings of that request
    pub const OWN: usize = 3;
    /// bit i: mark i belongs to that request
    pub const MET: usize = 4;
    /// marks of the different strings; of too many the newest ones
    pub const MARKS: std::ops::Range<usize> = 5..16;
}

impl Default for CollisionGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl CollisionGuard {
    /// A guard that has seen nothing.
    pub fn new() -> Self {
        let random = || RandomState::new().hash_one(0);
        CollisionGuard {
            buckets: Vec::new(),
            marks: ahash::RandomState::with_seeds(random(), random(), random(), random()),
            request: 1,
            since: 1,
            made: 0,
            strings: 0,
            excess: 0,
            checked: 0,
            steps: 0,
            walked: Duration::ZERO,
            collection: COLLECTION,
        }
    }

    /// The strings that follow are those of another request.
    pub fn begin(&mut self) {
        if self.strings > 0 {
            self.next_request();
            (self.strings, self.excess) = (0, 0);
        }
    }

    fn next_request(&mut self) {
        self.request = self.request.checked_add(1).unwrap_or_else(|| {
            self.buckets = Vec::new();
            self.since = 1;
            1
        });
    }

    fn forget(&mut self) {
        self.next_request();
        self.since = self.request;
        self.made = 0;
    }

    /// Counts the strings that `walk` visits, which R is about to make; `walk` returns at once with `Break` when a
    /// visit does.
    ///
    /// # Errors
    /// `Collisions` (status 400) when more than `max_collisions` different strings of this request share a bucket, or
    /// fewer in many buckets, in a way that chance does not bring about. None of the strings is to be made then.
    pub fn check(
        &mut self,
        max_collisions: usize,
        walk: impl FnOnce(&mut Visit) -> ControlFlow<()>,
    ) -> Result<(), FieldError> {
        let beyond = max_collisions.saturating_sub(usize::from(FREE));
        let allowed = beyond.saturating_mul(beyond + 1) / 2;
        (self.checked, self.steps) = (0, 0);
        let _ = walk(&mut |string| {
            self.count(string);
            ControlFlow::Continue(())
        });
        if self.excess <= allowed.saturating_add(self.strings.saturating_sub(2)) {
            return Ok(());
        }
        // the next strings are judged by themselves, even if they are the same ones again
        self.next_request();
        (self.strings, self.excess) = (0, 0);
        Err(FieldError::new(
            FieldErrorKind::Collisions,
            "too many different strings of the request collide in R's string cache",
        ))
    }

    fn count(&mut self, string: &[u8]) {
        if self.buckets.is_empty() {
            self.buckets = vec![[0; 16]; BUCKETS];
        }
        if self.made == WINDOW {
            self.forget();
        }
        let mark = self.marks.hash_one(string) as u16;
        let bucket = &mut self.buckets[bucket_of(string)];
        let request = [self.request as u16, (self.request >> 16) as u16];
        let [low, high] = bucket::REQUEST.map(|half| bucket[half]);
        if [low, high] != request {
            if u32::from(high) << 16 | u32::from(low) < self.since {
                bucket[bucket::ALL] = 0;
            }
            (bucket[bucket::REQUEST[0]], bucket[bucket::REQUEST[1]]) = (request[0], request[1]);
            (bucket[bucket::OWN], bucket[bucket::MET]) = (0, 0);
        }
        let all = bucket[bucket::ALL];
        let most = bucket::MARKS.len();
        let known = usize::from(all).min(most);
        let place = bucket[bucket::MARKS][..known].iter().position(|known| *known == mark);
        let (place, others) = match place {
            Some(place) => (place, all - 1),
            None => {
                let place = usize::from(all) % most;
                bucket[bucket::MARKS.start + place] = mark;
                bucket[bucket::MET] &= !(1 << place);
                bucket[bucket::ALL] = all.saturating_add(1);
                self.made += 1;
                (place, all)
            }
        };
        self.checked += 1;
        self.steps += usize::from(others);
        if bucket[bucket::MET] & 1 << place == 0 {
            bucket[bucket::MET] |= 1 << place;
            self.strings += 1;
            self.excess += usize::from((bucket[bucket::OWN] + 1).saturating_sub(FREE));
            bucket[bucket::OWN] = bucket[bucket::OWN].saturating_add(1);
        }
    }

    /// Whether the time it takes to make the strings of the last check is to be told: R walks more than it makes.
    pub fn collides(&self) -> bool {
        self.steps > STEPS * self.checked
    }

    /// They were made, which took so long.
    pub fn walked(&mut self, took: Duration) {
        self.walked += took;
    }

    /// Whether strings that collide have taken as long as a collection. Ask after a check and before its strings are
    /// made.
    pub fn wants_collection(&self) -> bool {
        self.walked > self.collection
    }

    /// R has collected garbage, which took this long. Every hundredth collection takes far longer, which says nothing
    /// about the next.
    pub fn collected(&mut self, took: Duration) {
        self.forget();
        self.walked = Duration::ZERO;
        self.collection = ((3 * self.collection + took.min(2 * self.collection)) / 4).max(COLLECTION);
    }
}

/// The bucket of a string in R's table when it is smallest. Bytes are added as C's `char`, signed or not as on
/// this platform, with unsigned 32-bit wrap-around, as R does. Eight at once, which wait for nothing but each other.
pub fn bucket_of(string: &[u8]) -> usize {
    const POWERS: [u32; 9] = {
        let mut powers = [1; 9];
        let mut i = 1;
        while i < 9 {
            powers[i] = 33_u32.wrapping_mul(powers[i - 1]);
            i += 1;
        }
        powers
    };
    let add = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add(*byte as c_char as u32);
    let mut chunks = string.chunks_exact(8);
    let hash = chunks.by_ref().fold(5381_u32, |hash, chunk| {
        let added = chunk.iter().zip(POWERS.iter().rev().skip(1));
        let added =
            added.fold(0_u32, |sum, (byte, power)| sum.wrapping_add((*byte as c_char as u32).wrapping_mul(*power)));
        hash.wrapping_mul(POWERS[8]).wrapping_add(added)
    });
    chunks.remainder().iter().fold(hash, add) as usize & (BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The default of the setting.
    const MAX: usize = 2;

    fn check(guard: &mut CollisionGuard, strings: &[Vec<u8>]) -> Result<(), FieldError> {
        guard.begin();
        guard.check(MAX, |visit| strings.iter().try_for_each(|string| visit(string)))
    }

    fn refused(strings: &[Vec<u8>]) -> bool {
        check(&mut CollisionGuard::new(), strings).is_err()
    }

    /// "Ab" and "BA" have one hash, so all 2^blocks strings of that many of them have one.
    fn colliding(blocks: u32) -> Vec<Vec<u8>> {
        let block = |which| if which { &b"Ab"[..] } else { b"BA" };
        (0..1_u32 << blocks)
            .map(|bits| (0..blocks).flat_map(|i| block(bits >> i & 1 == 0)).copied().collect())
            .collect()
    }

    /// The string with this text in front that falls into `bucket`: four digits to the base of 33 after any text move
    /// its hash by any amount below 2^16.
    fn aimed(text: &str, bucket: usize) -> Vec<u8> {
        let distance = bucket.wrapping_sub(bucket_of(format!("{text}@@@@").as_bytes())) & (BUCKETS - 1);
        let digits = [3, 2, 1, 0].map(|place| b'@' + (distance / 33_usize.pow(place) % 33) as u8);
        [text.as_bytes(), &digits].concat()
    }

    /// Small reproducible numbers (xorshift), enough to spread test strings.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(seed), |x| {
            let x = x ^ (x << 13);
            let x = x ^ (x >> 7);
            Some(x ^ (x << 17))
        })
    }

    fn random(seed: u64, n: usize) -> Vec<Vec<u8>> {
        numbers(seed).take(n).map(|n| format!("{n:x}").into_bytes()).collect()
    }

    #[test]
    fn the_hash_is_that_of_r() {
        assert_eq!(bucket_of(b""), 5381);
        assert_eq!(bucket_of(b"Ab"), bucket_of(b"BA"));
        assert_eq!(bucket_of(b"a"), (5381 * 33 + 97) & 0xffff);
        // R shows the same on x86-64: strings of "AD" and "E\xc0" collide there, which unsigned bytes would not
        if c_char::MIN != 0 {
            assert_eq!(bucket_of(b"AD"), bucket_of(b"E\xc0"));
            assert_eq!(bucket_of(b"\xff"), (5381 * 33 - 1) & 0xffff);
        }
    }

    #[test]
    fn colliding_strings_are_refused_again_and_again() {
        let strings = colliding(4);
        assert!(strings.iter().all(|string| bucket_of(string) == bucket_of(&strings[0])));
        let mut guard = CollisionGuard::new();
        for _ in 0..3 {
            let error = check(&mut guard, &strings).unwrap_err();
            assert_eq!((error.kind(), error.status()), (FieldErrorKind::Collisions, 400));
            check(&mut guard, &strings[..3]).unwrap();
        }
    }

    #[test]
    fn after_a_refusal_a_request_is_judged_anew() {
        let mut guard = CollisionGuard::new();
        let strings = colliding(6);
        let mut field =
            |strings: &[Vec<u8>]| guard.check(MAX, |visit| strings.iter().try_for_each(|string| visit(string)));
        for _ in 0..3 {
            field(&strings).unwrap_err();
            field(&random(3, 30)).unwrap();
        }
    }

    #[test]
    fn collisions_of_the_low_bits_alone_are_refused() {
        let strings: Vec<_> = (0..20).map(|i| aimed(&format!("{i:x}"), 77)).collect();
        assert!(strings.iter().all(|string| bucket_of(string) == 77));
        assert!(refused(&strings));
    }

    #[test]
    fn short_chains_in_many_buckets_are_refused() {
        let strings =
            |chain: usize| -> Vec<_> { (0..5000_usize).map(|i| aimed(&format!("{i:x}"), i / chain * 13)).collect() };
        assert!(refused(&strings(5)));
        assert!(!refused(&strings(3)));
    }

    #[test]
    fn a_flood_hidden_among_others_is_refused() {
        let mut strings = random(5, 100_000);
        strings.extend(colliding(11));
        assert!(refused(&strings));
    }

    #[test]
    fn a_flood_in_several_fields_of_a_request_is_refused() {
        let mut guard = CollisionGuard::new();
        let strings = colliding(6);
        let field = |guard: &mut CollisionGuard, i: usize| {
            guard.check(MAX, |visit| strings[4 * i..][..4].iter().try_for_each(|string| visit(string)))
        };
        assert!((0..10).any(|i| field(&mut guard, i).is_err()));
    }

    #[test]
    fn strings_of_every_day_pass() {
        let words = |made: &dyn Fn(u64) -> String| -> Vec<_> { (0..100_000).map(|i| made(i).into_bytes()).collect() };
        let kana = |i: u64| char::from_u32(0x3041 + (i % 180) as u32).unwrap();
        let cyrillic = |i: u64| char::from_u32(0x410 + (i % 64) as u32).unwrap();
        let mixed = |i: u64| char::from(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[(i % 52) as usize]);
        let han = |i: u64| char::from_u32(0x4e00 + (i % 3500) as u32).unwrap();
        let day = |i: u64| format!("2026-{:02}-{:02}", i / 31 % 12 + 1, i % 31 + 1);
        let made: [&dyn Fn(u64) -> String; 14] = [
            &|i| i.to_string(),
            &|i| format!("id-{i:06}"),
            &|i| format!("user{i}@example.com"),
            &|i| format!("{:.2}", i as f64 / 7.0),
            &|i| format!("{}T{:02}:{:02}:{:02}Z", day(i / 3600), i / 3600 % 24, i / 60 % 60, i % 60),
            &|i| format!("10.{}.{}.{}", i >> 16, i >> 8 & 255, i & 255),
            &|i| format!("{:032x}", u128::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)),
            &|i| format!("https://example.com/a/{}/b/{}", i / 100, i % 100),
            &|i| format!("{},{}", i % 360, i / 360),
            &|i| format!("{}", kana(i)),
            &|i| format!("{}{}", kana(i), kana(i / 180)),
            &|i| format!("{}{}{}", cyrillic(i), cyrillic(i / 64), cyrillic(i / 64 / 64)),
            &|i| format!("{}{}{}", mixed(i), mixed(i / 52), mixed(i / 52 / 52)),
            &|i| format!("{}{}", han(i), han(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)),
        ];
        for (which, made) in made.iter().enumerate() {
            let strings = words(made);
            for n in [10, 100, 1000, 10_000, 100_000] {
                for from in [0, 33_333, 77_777].into_iter().filter(|from| from + n <= strings.len()) {
                    assert!(!refused(&strings[from..from + n]), "{which}: {n} from {from}");
                }
            }
        }
    }

    #[test]
    fn random_and_equal_strings_pass_and_do_not_collide() {
        let mut guard = CollisionGuard::new();
        check(&mut guard, &random(7, 1_000_000)).unwrap();
        assert!(!guard.collides());
        check(&mut guard, &vec![b"the same".to_vec(); 1_000_000]).unwrap();
        assert!(!guard.collides());
        let few = random(9, 50);
        for _ in 0..100_000 {
            check(&mut guard, &few).unwrap();
            assert!(!guard.collides());
        }
    }

    #[test]
    fn strings_of_several_requests_collide_until_a_collection() {
        let strings = colliding(14);
        let mut guard = CollisionGuard::new();
        let mut until = |strings: &[Vec<u8>]| {
            let first = strings.iter().position(|string| {
                check(&mut guard, std::slice::from_ref(string)).unwrap();
                guard.collides()
            });
            guard.collected(Duration::ZERO);
            first.unwrap()
        };
        let first = until(&strings);
        assert!((4..20).contains(&first), "{first}");
        // the same strings again: what was collected is made again
        assert_eq!(until(&strings), first);
        // a few that collide do not count among many that do not, for which R takes longer
        let many = random(11, 10_000);
        for one in &strings[..2 * first] {
            check(&mut guard, &[std::slice::from_ref(one), &many].concat()).unwrap();
            assert!(!guard.collides());
        }
    }

    #[test]
    fn a_collection_is_wanted_when_walking_takes_as_long() {
        let mut guard = CollisionGuard::new();
        guard.walked(COLLECTION);
        assert!(!guard.wants_collection());
        guard.walked(Duration::from_micros(1));
        assert!(guard.wants_collection());
        guard.collected(Duration::from_micros(1));
        assert!(!guard.wants_collection());
        // they take longer in a large process
        for _ in 0..100 {
            guard.collected(10 * COLLECTION);
        }
        guard.walked(9 * COLLECTION);
        assert!(!guard.wants_collection());
        // one long one says little
        guard.collected(1000 * COLLECTION);
        guard.walked(20 * COLLECTION);
        assert!(guard.wants_collection());
    }

    proptest! {
        /// Eight bytes at once give what one by one gives.
        #[test]
        fn the_bucket_is_exact(string in proptest::collection::vec(any::<u8>(), 0..40)) {
            let hash = string.iter().fold(5381_u32, |h, b| h.wrapping_mul(33).wrapping_add(*b as c_char as u32));
            prop_assert_eq!(bucket_of(&string), hash as usize & 0xffff);
        }

        /// The verdict on one bucket is that of counting, for any order and any repeats.
        #[test]
        fn the_verdict_is_exact(
            which in proptest::collection::vec(0..10_usize, 0..60),
            max in 0..12_usize,
        ) {
            let all = colliding(4);
            let mut different = which.clone();
            different.sort_unstable();
            different.dedup();
            let n = different.len();
            let sum = |n: usize| n.saturating_sub(2) * (n.saturating_sub(2) + 1) / 2;
            // two strings that share a mark count as one: of ten, one guard in 1500 takes two for the same
            let marks = |guard: &CollisionGuard| -> HashSet<u16> {
                all[..10].iter().map(|string| guard.marks.hash_one(&string[..]) as u16).collect()
            };
            let mut guard = std::iter::repeat_with(CollisionGuard::new).find(|guard| marks(guard).len() == 10).unwrap();
            let verdict = guard.check(max, |visit| which.iter().try_for_each(|i| visit(&all[*i])));
            prop_assert_eq!(verdict.is_err(), sum(n) > sum(max) + n.saturating_sub(2));
        }
    }
}

//! How many requests may pass in a time: three ways to count, each a pure function of what was counted so far and the
//! time. Not for keeping the counts of many clients (`buckets`), nor for locks: the engine has those.
//!
//! All three count in whole numbers, in parts of a request: one request is as many parts as the window has ms. So no
//! rounding adds up, and the same requests at the same times always get the same answers.

mod buckets;

pub use buckets::Buckets;

use serde::{Deserialize, Serialize};

/// Most requests of a rate, and the longest window, in ms (a year): their product, and a few of it, fit 64 bits.
pub const MOST: u64 = 100_000_000;
/// See [`MOST`].
pub const LONGEST: u64 = 31_536_000_000;

/// How requests are counted.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// those of this window, and of the one before as large a part as still lies within the last `window`
    SlidingWindow,
    /// those of this window, which began with its first request
    FixedWindow,
    /// a bucket of `capacity` tokens that fills up within `window`
    TokenBucket,
}

/// A rate limit: `capacity` requests per `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    algorithm: Algorithm,
    /// requests
    capacity: u64,
    /// ms
    window: u64,
}

/// What was counted so far. The default is nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bucket {
    /// when the window began, or when tokens were last counted, in ms
    since: u64,
    /// requests of this window; of a token bucket, the parts of requests that are missing in it
    current: u64,
    /// requests of the window before
    previous: u64,
}

/// How a client stands after a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// whole requests that may follow now
    pub remaining: u64,
    /// ms until the window ends, or the bucket is full
    pub reset: u64,
}

/// Refused: how the client stands, and when the same request would pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// how the client stands
    pub standing: Standing,
    /// ms from now
    pub retry: u64,
}

impl Rate {
    /// `capacity` requests in `window` ms.
    ///
    /// # Errors
    /// A text that says which of them is out of bounds.
    pub fn new(algorithm: Algorithm, capacity: u64, window: u64) -> Result<Self, String> {
        if !(1..=MOST).contains(&capacity) {
            return Err(format!("capacity must be in 1..{MOST}, not {capacity}"));
        }
        if !(1..=LONGEST).contains(&window) {
            return Err(format!("window must be in 1..{LONGEST} ms, not {window}"));
        }
        Ok(Rate { algorithm, capacity, window })
    }

    /// What a bucket comes to when a request of this `cost` (at most the capacity) passes at `now`, and how its client
    /// stands then.
    ///
    /// # Errors
    /// When it may not pass. The bucket stays what it was.
    pub fn take(&self, bucket: Bucket, now: u64, cost: u64) -> Result<(Bucket, Standing), Refused> {
        let mut bucket = self.at(bucket, now);
        let cost = cost.min(self.capacity);
        if self.used(&bucket, now) + cost * self.window > self.all() {
            return Err(Refused { standing: self.standing(&bucket, now), retry: self.retry(&bucket, now, cost) });
        }
        bucket.current += self.counted(cost);
        Ok((bucket, self.standing(&bucket, now)))
    }

    /// What a bucket comes to at `now` when a request of this `cost` is not to count after all. It was taken before: in
    /// the same window, unless tokens are counted. A bucket of which nothing is used stays so.
    pub fn give_back(&self, bucket: Bucket, now: u64, cost: u64) -> Bucket {
        let mut bucket = self.at(bucket, now);
        bucket.current = bucket.current.saturating_sub(self.counted(cost.min(self.capacity)));
        bucket
    }

    /// How a client stands at `now` whose request is not counted.
    pub fn look(&self, bucket: Bucket, now: u64) -> Standing {
        self.standing(&self.at(bucket, now), now)
    }

    /// How much of a bucket is used at `now`, in parts of a request: 0 for one that is as good as new.
    pub fn usage(&self, bucket: Bucket, now: u64) -> u64 {
        self.used(&self.at(bucket, now), now)
    }

    /// What a bucket counts for a request of this cost.
    fn counted(&self, cost: u64) -> u64 {
        match self.algorithm {
            Algorithm::TokenBucket => cost * self.window,
            _ => cost,
        }
    }

    /// The capacity, in parts of a request.
    fn all(&self) -> u64 {
        self.capacity * self.window
    }

    /// The bucket as it is at `now`: windows that are over have become the one before, tokens have come.
    fn at(&self, mut bucket: Bucket, now: u64) -> Bucket {
        let passed = now.saturating_sub(bucket.since);
        match self.algorithm {
            Algorithm::TokenBucket => {
                // longer than the window is long enough for all of them
                let came = passed.min(self.window) * self.capacity;
                bucket.current = bucket.current.saturating_sub(came);
                bucket.since = bucket.since.max(now);
            }
            Algorithm::FixedWindow => {
                if bucket.current == 0 || passed >= self.window {
                    bucket = Bucket { since: now, ..Bucket::default() };
                }
            }
            Algorithm::SlidingWindow => {
                if passed >= self.window {
                    let previous = if passed < 2 * self.window { bucket.current } else { 0 };
                    bucket = Bucket { since: bucket.since + self.window, current: 0, previous };
                }
                if bucket.current == 0 && bucket.previous == 0 {
                    bucket.since = now;
                }
            }
        }
        bucket
    }

    /// ms of the window that have passed, in a bucket of `now`.
    fn elapsed(&self, bucket: &Bucket, now: u64) -> u64 {
        now.saturating_sub(bucket.since).min(self.window)
    }

    fn used(&self, bucket: &Bucket, now: u64) -> u64 {
        match self.algorithm {
            Algorithm::TokenBucket => bucket.current,
            Algorithm::FixedWindow => bucket.current * self.window,
            Algorithm::SlidingWindow => {
                bucket.current * self.window + bucket.previous * (self.window - self.elapsed(bucket, now))
            }
        }
    }

    fn standing(&self, bucket: &Bucket, now: u64) -> Standing {
        let used = self.used(bucket, now);
        let reset = match self.algorithm {
            Algorithm::TokenBucket => used.div_ceil(self.capacity),
            _ => self.window - self.elapsed(bucket, now),
        };
        Standing { remaining: self.all().saturating_sub(used) / self.window, reset }
    }

    /// When a request that may not pass would, if nothing else came.
    fn retry(&self, bucket: &Bucket, now: u64, cost: u64) -> u64 {
        let left = self.window - self.elapsed(bucket, now);
        let room = self.capacity - cost;
        match self.algorithm {
            Algorithm::TokenBucket => (bucket.current - room * self.window).div_ceil(self.capacity),
            Algorithm::FixedWindow => left,
            // enough of the window before slides out
            Algorithm::SlidingWindow if bucket.current <= room => {
                left - (room - bucket.current) * self.window / bucket.previous
            }
            // this window has to become the one before, and then enough of it slides out
            Algorithm::SlidingWindow => left + self.window - room * self.window / bucket.current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(algorithm: Algorithm, capacity: u64, window: u64) -> Rate {
        Rate::new(algorithm, capacity, window).unwrap()
    }

    /// One letter for each request: `.` passes, `x` does not.
    fn passes(rate: Rate, times: &[u64]) -> String {
        let mut bucket = Bucket::default();
        let mut one = |now: &u64| match rate.take(bucket, *now, 1) {
            Ok((taken, _)) => {
                bucket = taken;
                '.'
            }
            Err(_) => 'x',
        };
        times.iter().map(&mut one).collect()
    }

    #[test]
    fn a_capacity_of_one_admits_one() {
        for algorithm in [Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket] {
            assert_eq!(passes(rate(algorithm, 1, 1000), &[5, 5, 1004, 2500, 2501]), ".xx.x", "{algorithm:?}");
        }
    }

    #[test]
    fn a_fixed_window_begins_with_its_first_request() {
        assert_eq!(passes(rate(Algorithm::FixedWindow, 2, 100), &[50, 149, 149, 150, 249, 249, 250]), "..x..x.");
    }

    #[test]
    fn a_sliding_window_lets_in_what_has_slid_out() {
        // at 150 half of the two of the window before count
        assert_eq!(passes(rate(Algorithm::SlidingWindow, 2, 100), &[50, 60, 149, 199, 200, 200]), "..xx.x");
    }

    #[test]
    fn tokens_come_one_by_one() {
        assert_eq!(passes(rate(Algorithm::TokenBucket, 4, 100), &[1, 1, 1, 1, 1, 25, 26, 26, 51]), "....xx.x.");
    }

    #[test]
    fn the_largest_rate_does_not_overflow() {
        for algorithm in [Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket] {
            let rate = rate(algorithm, MOST, LONGEST);
            let (bucket, standing) = rate.take(Bucket::default(), 1, MOST).unwrap();
            assert_eq!(standing.remaining, 0, "{algorithm:?}");
            let half = rate.take(bucket, LONGEST / 2, MOST).unwrap_err();
            assert!(rate.take(bucket, LONGEST / 2 + half.retry, MOST).is_ok(), "{algorithm:?}");
            let (bucket, _) = rate.take(bucket, LONGEST + 1, MOST / 2).unwrap_or((bucket, standing));
            assert!(rate.take(bucket, LONGEST + 2, MOST).is_err(), "{algorithm:?}");
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        assert!(Rate::new(Algorithm::FixedWindow, 0, 1)
            .unwrap_err()
            .starts_with("capacity must be in 1..100000000, not 0"));
        assert!(Rate::new(Algorithm::FixedWindow, 1, LONGEST + 1).unwrap_err().starts_with("window must be"));
    }
}

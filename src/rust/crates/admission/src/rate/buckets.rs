//! The buckets of many keys, in memory that does not grow. One thread at a time.
//!
//! The table has rows of [`WAYS`] places; a key has its place in one row. In a full row, a new key replaces the least
//! used bucket, and of those the oldest. So a client that sends ever new keys pushes out other new keys, which count
//! for little, and never a key whose capacity is used up while its row has a less used one: to evict such a key, the
//! client has to use up all keys of the table, as it cannot know the key's row.

use super::{Bucket, Rate};

/// Places of a row: the whole of it is looked at, in four lines of the cache.
const WAYS: usize = 8;

/// A place, free when its key is 0.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    key: u64,
    bucket: Bucket,
}

/// See the module.
#[derive(Debug)]
pub struct Buckets {
    /// a power of two
    rows: Vec<[Place; WAYS]>,
}

impl Buckets {
    /// For at least `keys` keys.
    pub fn new(keys: usize) -> Self {
        Buckets { rows: vec![[Place::default(); WAYS]; keys.div_ceil(WAYS).next_power_of_two()] }
    }

    /// The row of a key: its lower bits, which are as good as random.
    fn row(&self, key: u64) -> usize {
        key as usize & (self.rows.len() - 1)
    }

    /// The bucket of a key. Keys are hashes, with a secret that clients do not know.
    pub fn get(&self, key: u64) -> Bucket {
        let key = some(key);
        self.rows[self.row(key)].iter().find(|place| place.key == key).map_or(Bucket::default(), |place| place.bucket)
    }

    /// The bucket of a key is this one now, and by this rate at this time others are used more or less.
    pub fn put(&mut self, key: u64, bucket: Bucket, rate: &Rate, now: u64) {
        let key = some(key);
        let row = self.row(key);
        let row = &mut self.rows[row];
        let known = row.iter().position(|place| place.key == key || place.key == 0);
        let at = known.unwrap_or_else(|| {
            let least = |at: &usize| (rate.usage(row[*at].bucket, now), row[*at].bucket.since);
            (0..WAYS).min_by_key(least).unwrap_or(0)
        });
        row[at] = Place { key, bucket };
    }
}

/// A key that is not 0.
fn some(key: u64) -> u64 {
    // one bit that says nothing of the row
    key | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::*;

    #[test]
    fn a_key_that_is_used_up_outlasts_any_number_of_new_ones() {
        for algorithm in [Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket] {
            let rate = Rate::new(algorithm, 5, 60_000).unwrap();
            let mut buckets = Buckets::new(64);
            let mut take = |key: u64, now: u64| {
                let (bucket, _) = rate.take(buckets.get(key), now, 1).ok()?;
                buckets.put(key, bucket, &rate, now);
                Some(())
            };
            let victim = 8;
            assert!((0..5).all(|_| take(victim, 1000).is_some()) && take(victim, 1000).is_none());
            for key in 1000..100_000 {
                take(key, 1001);
            }
            assert!(take(victim, 1002).is_none(), "{algorithm:?}: it was forgotten");
        }
    }

    #[test]
    fn a_full_row_forgets_what_is_used_least_then_the_oldest() {
        let rate = Rate::new(Algorithm::FixedWindow, 10, 1000).unwrap();
        let mut buckets = Buckets::new(WAYS);
        let bucket = |cost, at| rate.take(Bucket::default(), at, cost).unwrap().0;
        for key in 0..WAYS as u64 {
            buckets.put(key, bucket(if key == 3 || key == 5 { 2 } else { 3 }, 100 - key), &rate, 100);
        }
        buckets.put(100, bucket(1, 100), &rate, 100);
        assert_eq!(buckets.get(5), Bucket::default());
        assert_eq!(buckets.get(3), bucket(2, 97));
        // what is over is as good as new
        buckets.put(101, bucket(1, 1094), &rate, 1094);
        assert_eq!(buckets.get(7), Bucket::default());
        assert_eq!(buckets.get(100), bucket(1, 100));
    }

    #[test]
    fn a_million_keys_take_no_more_memory_than_a_few() {
        let buckets = Buckets::new(1 << 16);
        assert_eq!(buckets.rows.len() * size_of::<[Place; WAYS]>(), 2 << 20);
        assert_eq!(Buckets::new(1).rows.len(), 1);
    }
}

//! Where the requests of limits are counted: in the memory of this server, shared by its I/O threads. So a limit holds
//! for all workers together. [`Store`] is what another place, shared by several machines, would have to do.
//! What a count comes to is `admission::rate`'s to say; which requests count for what, `limits`.

use admission::rate::{Buckets, Rate, Refused, Standing};
use httpd::Apart;
use smallvec::{smallvec, SmallVec};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a request costs by one limit.
#[derive(Debug, Clone, Copy)]
pub struct Charge {
    /// number of the limit in its store
    pub limit: usize,
    pub rate: Rate,
    /// whose count it is
    pub key: u64,
    pub cost: u64,
}

/// How a client stands by each limit, in the order of the charges; where one refuses, nothing was counted.
pub type Standings = SmallVec<[Result<Standing, Refused>; 2]>;

/// A place for counts.
pub trait Store: Send + Sync + fmt::Debug {
    /// Counts a request by all of these limits, or by none when one of them refuses it. `now` is in ms.
    fn admit(&self, charges: &[Charge], now: u64) -> Standings;

    /// Takes back a charge that was admitted, within its window.
    fn give_back(&self, charge: &Charge, now: u64);
}

/// The keys that a limit can tell apart. More of them share what is there: see `admission::rate::Buckets`.
const KEYS: usize = 1 << 16;

/// Places for a limit whose keys are its routes.
const ROUTES: usize = 1 << 10;

/// Locks of a table: with a few I/O threads, hardly ever two want the same.
const SHARDS: usize = 64;

/// The counts of one limit, which outlive the generation of the app that it was registered by.
pub struct Table {
    /// tables are locked in the order of these, so that no two requests wait for each other
    order: u64,
    shards: Box<[Apart<Mutex<Buckets>>]>,
    /// with a secret that clients do not know
    hasher: RandomState,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("order", &self.order).finish_non_exhaustive()
    }
}

impl Table {
    /// For clients that are told apart by a key, or for routes only.
    pub fn new(of_clients: bool) -> Self {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let (keys, shards) = if of_clients { (KEYS, SHARDS) } else { (ROUTES, 1) };
        Table {
            // a number that no other has: it orders no memory
            order: TABLES.fetch_add(1, Relaxed),
            shards: (0..shards).map(|_| Apart(Mutex::new(Buckets::new(keys / shards)))).collect(),
            hasher: RandomState::new(),
        }
    }

    /// The key of anything.
    pub fn key(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    fn lock(&self, key: u64) -> MutexGuard<'_, Buckets> {
        // the lower bits select the row in a shard; no code panics while holding this lock
        let shard = (key >> 40) as usize % self.shards.len();
        self.shards[shard].0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counts of some limits of this server.
#[derive(Debug, Default)]
pub struct Memory(Vec<Arc<Table>>);

impl Memory {
    /// With these tables, one for each limit.
    pub fn new(tables: Vec<Arc<Table>>) -> Self {
        Memory(tables)
    }

    /// The table of a limit.
    pub fn table(&self, limit: usize) -> &Arc<Table> {
        &self.0[limit]
    }

    /// Counts a request by one limit alone: nothing has to be put in order, or looked at twice.
    fn take(&self, Charge { limit, rate, key, cost }: &Charge, now: u64) -> Result<Standing, Refused> {
        let mut buckets = self.0[*limit].lock(*key);
        let (bucket, standing) = rate.take(buckets.get(*key), now, *cost)?;
        buckets.put(*key, bucket, rate, now);
        Ok(standing)
    }
}

impl Store for Memory {
    fn admit(&self, charges: &[Charge], now: u64) -> Standings {
        if let [charge] = charges {
            return smallvec![self.take(charge, now)];
        }
        let mut order: SmallVec<[usize; 4]> = (0..charges.len()).collect();
        order.sort_unstable_by_key(|&at| self.0[charges[at].limit].order);
        let mut locked: SmallVec<[_; 4]> =
            order.iter().map(|&at| self.0[charges[at].limit].lock(charges[at].key)).collect();
        let taken: SmallVec<[_; 4]> = order
            .iter()
            .zip(&locked)
            .map(|(&at, buckets)| {
                let Charge { rate, key, cost, .. } = charges[at];
                rate.take(buckets.get(key), now, cost)
            })
            .collect();
        let passes = taken.iter().all(Result::is_ok);
        let mut standings: Standings = SmallVec::from_elem(Ok(Standing::default()), charges.len());
        for ((&at, buckets), taken) in order.iter().zip(&mut locked).zip(taken) {
            let Charge { rate, key, .. } = &charges[at];
            standings[at] = taken.map(|(bucket, standing)| {
                if !passes {
                    return rate.look(buckets.get(*key), now);
                }
                buckets.put(*key, bucket, rate, now);
                standing
            });
        }
        standings
    }

    fn give_back(&self, Charge { limit, rate, key, cost }: &Charge, now: u64) {
        let mut buckets = self.0[*limit].lock(*key);
        let bucket = rate.give_back(buckets.get(*key), now, *cost);
        buckets.put(*key, bucket, rate, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use admission::rate::Algorithm;
    use std::thread;

    fn rate(capacity: u64) -> Rate {
        Rate::new(Algorithm::FixedWindow, capacity, 60_000).unwrap()
    }

    fn memory(tables: usize) -> Memory {
        Memory::new((0..tables).map(|_| Arc::new(Table::new(true))).collect())
    }

    fn passes(memory: &Memory, charges: &[(usize, u64, u64)]) -> bool {
        let charges: Vec<_> = charges
            .iter()
            .map(|&(limit, capacity, key)| Charge { limit, rate: rate(capacity), key, cost: 1 })
            .collect();
        memory.admit(&charges, 1000).iter().all(Result::is_ok)
    }

    #[test]
    fn a_request_counts_by_all_limits_or_by_none() {
        let memory = memory(2);
        let wide = (0, 4, 7);
        let narrow = (1, 1, 7);
        assert!(passes(&memory, &[narrow, wide]));
        // the narrow one refuses these, wherever it stands, and the wide one does not count them
        assert!(!passes(&memory, &[wide, narrow]) && !passes(&memory, &[narrow, wide]));
        for left in [true, true, true, false] {
            assert_eq!(passes(&memory, &[wide]), left);
        }
    }

    #[test]
    fn a_charge_is_given_back_to_its_own_bucket() {
        let memory = memory(2);
        let all = [(0, 1, 1), (0, 1, 2), (1, 1, 1)];
        assert_eq!(all.map(|charge| passes(&memory, &[charge])), [true; 3]);
        memory.give_back(&Charge { limit: 0, rate: rate(1), key: 1, cost: 1 }, 1000);
        assert_eq!(all.map(|charge| passes(&memory, &[charge])), [true, false, false]);
        assert_eq!(all.map(|charge| passes(&memory, &[charge])), [false; 3]);
    }

    #[test]
    fn standings_are_in_the_order_of_charges() {
        let memory = memory(2);
        let charge = |limit, capacity| Charge { limit, rate: rate(capacity), key: 1, cost: 1 };
        let standings = memory.admit(&[charge(1, 5), charge(0, 9)], 1);
        assert_eq!(standings.iter().map(|s| s.unwrap().remaining).collect::<Vec<_>>(), [4, 8]);
        memory.admit(&[Charge { cost: 5, ..charge(1, 9) }], 1);
        let standings = memory.admit(&[charge(0, 9), charge(1, 5)], 1);
        assert_eq!(standings[0].unwrap().remaining, 8, "it was not counted");
        assert!(standings[1].is_err());
    }

    #[test]
    fn threads_that_lock_the_same_limits_in_any_order_count_right() {
        let memory = memory(3);
        let memory = &memory;
        let passed: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|n| {
                    scope.spawn(move || {
                        let mut charges = [(0, 500, 1), (1, 400, 1), (2, 300, 1)];
                        charges.rotate_left(n % 3);
                        (0..200).filter(|_| passes(memory, &charges)).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(passed, 300);
        // what the last one refused, the others did not count
        assert!((0..100).all(|_| passes(memory, &[(1, 400, 1)])) && !passes(memory, &[(1, 400, 1)]));
    }

    #[test]
    fn keys_are_apart_and_secret() {
        let memory = memory(1);
        for key in 0..100 {
            assert!(passes(&memory, &[(0, 1, memory.table(0).key(key))]));
            assert!(!passes(&memory, &[(0, 1, memory.table(0).key(key))]));
        }
        assert_ne!(Table::new(true).key(1), Table::new(true).key(1));
    }
}

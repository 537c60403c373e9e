//! The pools of workers that the app that serves has: one for all requests that name no other, and those that its
//! routes name. How many workers there are in each, and which of them go.
//!
//! A worker has the number of its pool, which is that of its generation's app: those of earlier generations may have
//! others, and are none of these. Neighbours: `recycling`, which decides for one pool; `turnover`, what follows.

use crate::policy::Load;
use crate::recycling::Recycling;
use crate::PoolOptions;
use std::time::Instant;

/// The pool of requests that name none.
pub const MAIN: u8 = 0;

/// One of them.
#[derive(Debug)]
pub struct OnePool {
    /// by which routes name it; empty for [`MAIN`]
    pub name: String,
    /// how many workers there are
    pub options: PoolOptions,
    /// which of them go
    pub recycling: Recycling,
    /// what its workers do, where their number follows from that
    pub load: Load,
}

impl OnePool {
    /// With at most `most` workers for requests.
    pub fn new(name: &str, options: PoolOptions, most: usize, now: Instant) -> Self {
        let recycling = Recycling::new(&options, most, now);
        OnePool { name: name.to_owned(), options, recycling, load: Load::default() }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Pools(Vec<OnePool>);

impl Pools {
    /// Of an app that is not known yet.
    pub fn new(main: OnePool) -> Self {
        Pools(vec![main])
    }

    /// Those of another app: the first stays.
    pub fn replace(&mut self, named: impl IntoIterator<Item = OnePool>) {
        self.0.truncate(1);
        self.0.extend(named);
    }

    /// The pool of requests that name none.
    pub fn main(&self) -> &OnePool {
        &self.0[usize::from(MAIN)]
    }

    /// The same, to change it.
    pub fn main_mut(&mut self) -> &mut OnePool {
        &mut self.0[usize::from(MAIN)]
    }

    /// The pool of this number.
    pub fn get(&self, pool: u8) -> Option<&OnePool> {
        self.0.get(usize::from(pool))
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, pool: u8) -> Option<&mut OnePool> {
        self.0.get_mut(usize::from(pool))
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<(u8, &OnePool)> {
        self.iter().find(|(_, pool)| pool.name == name)
    }

    /// All of them, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &OnePool)> {
        (0..).zip(&self.0)
    }

    /// Their numbers.
    pub fn numbers(&self) -> std::ops::Range<u8> {
        0..self.0.len() as u8
    }

    /// Whether this worker is being replaced: it does not count any more.
    pub fn is_replaced(&self, worker: u32) -> bool {
        self.0.iter().any(|pool| pool.recycling.is_replaced(worker))
    }

    /// Whether this worker is neither being replaced nor about to be.
    pub fn lasts(&self, worker: u32) -> bool {
        self.0.iter().all(|pool| pool.recycling.lasts(worker))
    }

    /// This worker goes, or is gone, for whatever reason.
    pub fn forget(&mut self, worker: u32) {
        self.0.iter_mut().for_each(|pool| pool.recycling.forget(worker));
    }

    /// Whether there are to be no workers in any.
    pub fn rest(&self) -> bool {
        self.0.iter().all(|pool| pool.recycling.target() == 0)
    }

    /// When the clock must be looked at next.
    pub fn due(&self) -> Option<Instant> {
        self.0.iter().filter_map(|pool| pool.recycling.due()).min()
    }
}

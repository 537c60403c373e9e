//! How many workers there are, how long each lives, and how they start. The names are those of the arguments in R.

use serde::Deserialize;

/// Times in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolOptions {
    /// fewest workers
    pub n_min: usize,
    /// most workers; one more for a moment, when a worker is replaced
    pub n_max: usize,
    /// how often workers are looked for that nobody needs
    pub check_unused: f64,
    /// how long a worker may be unused before it is retired
    pub max_age: f64,
    /// a worker is replaced after about so many requests, 10 % more or less so that not all go at once; 0 for never
    pub max_requests: u64,
    /// a worker is replaced when its resident memory, in bytes, exceeds this; 0 for never
    pub max_rss: u64,
    /// a worker is replaced after this time; 0 for never
    pub max_lifetime: f64,
    /// longest time from the start of a process until it can serve
    pub start_timeout: f64,
    /// how long requests in flight, and then workers, are waited for when something ends
    pub graceful_timeout: f64,
    /// how workers come about
    pub start: Start,
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions {
            n_min: 1,
            n_max: 3,
            check_unused: 10.0,
            max_age: 300.0,
            max_requests: 0,
            max_rss: 0,
            max_lifetime: 0.0,
            start_timeout: 60.0,
            graceful_timeout: 30.0,
            start: Start::Fork,
        }
    }
}

/// How workers come about.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// forked from a zygote that has loaded the app
    #[default]
    Fork,
    /// each a fresh R process that loads the app itself
    Spawn,
}

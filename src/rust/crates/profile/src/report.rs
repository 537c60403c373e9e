//! What a worker reports, as R/worker-inspection.R writes it.

use serde::{Deserialize, Serialize};

/// Samples of R's stack in one worker.
#[derive(Debug, Deserialize)]
pub(crate) struct Stacks {
    /// seconds of CPU time between two samples
    pub interval: f64,
    /// how long samples were taken, by the clock on the wall
    pub seconds: f64,
    /// source files by number, from 1 on
    pub files: Vec<String>,
    /// lines of R's profiler
    pub stacks: Vec<String>,
    /// how often each was there
    pub counts: Vec<u64>,
    /// samples whose stacks had no room
    pub left_out: u64,
    /// routes that were asked meanwhile
    pub routes: Vec<String>,
    /// how often
    pub requests: Vec<u64>,
    /// seconds that their handlers ran, by the clock on the wall
    pub spent: Vec<f64>,
}

/// The largest objects of one worker.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Sizes {
    /// objects that were found
    pub objects: u64,
    /// bytes of them all
    pub total: f64,
    /// whether all was looked at within the time
    pub whole: bool,
    /// the largest ones: their variables
    pub name: Vec<String>,
    /// where these are
    pub r#where: Vec<String>,
    /// of R
    pub class: Vec<String>,
    /// their sizes
    pub bytes: Vec<f64>,
}

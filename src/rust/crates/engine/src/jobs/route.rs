//! What a route has to do with jobs.

use crate::config::{JobConfig, JobPart};
use ::jobs::Rules;

/// See the module.
pub struct JobRoute {
    pub part: JobPart,
    /// the method and path that accept them
    pub kind: String,
    pub rules: Rules,
    /// most that run at once
    pub at_once: usize,
    pub priority: i32,
    /// how often there is one by itself, in ms
    pub every: Option<u64>,
}

impl JobRoute {
    pub fn new(config: &JobConfig) -> Self {
        let ms = |seconds: f64| (seconds * 1000.0) as u64;
        JobRoute {
            part: config.part,
            kind: config.kind.clone(),
            rules: Rules { retries: config.retries as u32, backoff: ms(config.backoff), keep: ms(config.keep) },
            at_once: config.at_once.map_or(usize::MAX, |most| most as usize),
            priority: config.priority as i32,
            every: config.every.map(ms).filter(|every| *every > 0),
        }
    }
}

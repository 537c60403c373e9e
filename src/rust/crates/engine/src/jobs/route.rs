//! What a route has to do with jobs.

use super::schedule::Schedule;
use crate::config::{JobConfig, JobPart};
use crate::edge::auth::config::SchemeConfig;
use crate::edge::policies::{PolicyConfig, RuleConfig};
use ::jobs::Rules;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::HeaderName;
use std::sync::Arc;

/// See the module.
pub struct JobRoute {
    pub part: JobPart,
    /// the method and path that accept them
    pub kind: String,
    pub rules: Rules,
    /// most that run at once
    pub at_once: usize,
    pub priority: i32,
    /// when there is one by itself
    pub schedule: Option<Arc<Schedule>>,
    /// fields by which clients authenticate: they are not kept on a disk, what they proved is, as `req$auth`
    pub secrets: Arc<[HeaderName]>,
}

/// The names of the fields by which clients of an app authenticate.
pub fn secrets(policies: &[PolicyConfig]) -> Arc<[HeaderName]> {
    let keys = policies.iter().filter_map(|policy| match &policy.rule {
        RuleConfig::Auth(auth) => match &auth.by {
            SchemeConfig::Key(key) => HeaderName::from_bytes(key.header.as_bytes()).ok(),
            _ => None,
        },
        _ => None,
    });
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].into_iter().chain(keys).collect()
}

impl JobRoute {
    /// # Errors
    /// A text that names the kind, and what is wrong with its schedule.
    pub fn new(config: &JobConfig, secrets: &Arc<[HeaderName]>) -> Result<Self, String> {
        let ms = |seconds: f64| (seconds * 1000.0) as u64;
        // a kind has several routes, and one schedule
        let schedule = match config.part {
            JobPart::Accept => {
                Schedule::new(config).map_err(|why| format!("the schedule of {}: {why}", config.kind))?
            }
            JobPart::Show | JobPart::Result | JobPart::Cancel => None,
        };
        Ok(JobRoute {
            part: config.part,
            kind: config.kind.clone(),
            rules: Rules { retries: config.retries as u32, backoff: ms(config.backoff), keep: ms(config.keep) },
            at_once: config.at_once.map_or(usize::MAX, |most| most as usize),
            priority: config.priority as i32,
            schedule: schedule.map(Arc::new),
            secrets: secrets.clone(),
        })
    }
}

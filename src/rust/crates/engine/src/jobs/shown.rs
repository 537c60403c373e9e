//! A job as it is told of: to its client, and to whoever runs the server.

use crate::respond::unstored;
use crate::view::View;
use ::jobs::{Job, State};
use http::header::RETRY_AFTER;
use http::StatusCode;
use httpd::Response;
use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};

/// How a job is. Times are in RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobLine {
    /// 32 hexadecimal digits
    pub id: String,
    /// the name of its state
    pub state: String,
    /// the method and path that accept such jobs; empty for clients, who know them
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// how many attempts at it have begun
    pub attempt: u32,
    /// when it was accepted
    pub created: String,
    /// when its next attempt may begin, if that is not yet
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    /// when its latest attempt began
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// when it was over
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// what the attempt that runs has said of itself
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<JobProgress>,
    /// why its latest attempt came to nothing
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
    /// how much is done
    pub done: f64,
    /// of how much
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// what is being done
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<Job> for JobLine {
    fn from(job: Job) -> Self {
        let progress = job.progress;
        JobLine {
            id: job.id.to_string(),
            state: job.state.name().to_owned(),
            kind: job.kind,
            attempt: job.attempt,
            created: time(job.created),
            due: (job.state == State::Scheduled).then(|| time(job.due)),
            began: job.began.map(time),
            ended: job.ended.map(time),
            progress: progress.map(|p| JobProgress { done: p.done, total: p.total, message: p.message }),
            error: job.error,
        }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    job: JobLine,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
}

fn time(ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms)).to_string()
}

/// The job at this place.
pub fn job(status: StatusCode, job: &Job, place: &str) -> Response {
    let mut response = unstored(status, "application/json", text(job, place));
    if !job.state.is_over() {
        response.fields.set(&RETRY_AFTER, "1");
    }
    response
}

/// The same, as JSON.
pub fn text(job: &Job, place: &str) -> String {
    let shown = Shown {
        job: JobLine { kind: String::new(), ..job.clone().into() },
        url: place,
        result: (job.state == State::Done).then(|| format!("{place}/result")),
    };
    // of a map without keys that are none, so that it is never an error
    sonic_rs::to_string(&shown).unwrap_or_default()
}

/// Why there is no result of a job.
pub fn why_none(job: &Job) -> String {
    match (job.state, &job.error) {
        (State::Cancelled, _) => "the job was cancelled".to_owned(),
        (State::Failed, why) => format!("the job has failed: {}", why.as_deref().unwrap_or_default()),
        _ => "the job is not over".to_owned(),
    }
}

/// What a key that the app gives begins with in the store: no client's begins with a line feed.
const OWN: &str = "\n\n";

/// A key that the app has given, as it is in the store.
pub fn own_key(given: &str) -> String {
    format!("{OWN}{given}")
}

/// A key of the store as the app has given it, if it has.
pub fn given_key(key: &str) -> Option<&str> {
    key.strip_prefix(OWN)
}

/// The path that a request asked for, as its client would ask for it again.
pub fn place_below(view: &View<'_, '_>) -> String {
    let target = view.head.target();
    let path = target.split('?').next().unwrap_or_default();
    format!("{}{}", view.base_path, path.trim_end_matches('/'))
}

/// The same of the job whose page `below` is.
pub fn place_of(view: &View<'_, '_>, below: &str) -> String {
    let path = place_below(view);
    path.strip_suffix(below).map(str::to_owned).unwrap_or(path)
}

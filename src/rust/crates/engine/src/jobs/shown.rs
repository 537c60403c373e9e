//! A job as its client is shown it.

use crate::respond::unstored;
use crate::view::View;
use ::jobs::Job;
use http::header::RETRY_AFTER;
use http::StatusCode;
use httpd::Response;
use serde::Serialize;
use std::time::{Duration, UNIX_EPOCH};

#[derive(Serialize)]
struct Shown<'a> {
    id: String,
    state: &'static str,
    attempt: u32,
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
}

#[derive(Serialize)]
struct Progress<'a> {
    done: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
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
    let progress = job.progress.as_ref();
    let shown = Shown {
        id: job.id.to_string(),
        state: job.state.name(),
        attempt: job.attempt,
        created: time(job.created),
        due: (job.state == ::jobs::State::Scheduled).then(|| time(job.due)),
        began: job.began.map(time),
        ended: job.ended.map(time),
        progress: progress.map(|p| Progress { done: p.done, total: p.total, message: p.message.as_deref() }),
        error: job.error.as_deref(),
        url: place,
        result: (job.state == ::jobs::State::Done).then(|| format!("{place}/result")),
    };
    // of a map without keys that are none, so that it is never an error
    sonic_rs::to_string(&shown).unwrap_or_default()
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

//! What clients ask of a job: how it is, what has come of it, that it ends.

use super::asked::Asked;
use super::{events, nothing, shown, Answering, JobRoute, Jobs};
use crate::view::View;
use ::jobs::{Cancelled, State};
use exchange::RequestView as _;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use httpd::{Body, Failure, Response, ResponseFields};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{timeout_at, Instant};

/// Longest that a client may wait for the end of a job, in seconds.
const LONGEST_WAIT: u64 = 60;

/// How it is. A client that would rather wait for its end may say so, `Prefer: wait=30` (RFC 7240), or that it would
/// have events, `Accept: text/event-stream`.
pub fn show(jobs: Arc<Jobs>, job: &JobRoute, view: &View<'_, '_>) -> Answering {
    let until = view.header(b"prefer").and_then(wait).map(|seconds| Instant::now() + seconds);
    let events = events::wanted(view.header(b"accept"), view.header(b"last-event-id"));
    let asked = Asked::new(jobs, job, view, "");
    Box::pin(async move {
        let (mut job, mut listener) = asked.follow().await?;
        if let Some(wanted) = events {
            return Ok(events::answer(asked, (job, listener), &wanted));
        }
        if let Some(until) = until {
            while !job.state.is_over() && timeout_at(until, listener.changed()).await == Ok(true) {
                job = asked.find().await?;
            }
        }
        Ok(shown::job(StatusCode::OK, &job, asked.place()))
    })
}

/// How long a client would wait, of the field `Prefer`.
fn wait(field: &[u8]) -> Option<Duration> {
    let field = std::str::from_utf8(field).ok()?;
    let seconds = field.split([',', ';']).find_map(|part| part.trim().strip_prefix("wait=")?.parse().ok());
    seconds.map(|seconds: u64| Duration::from_secs(seconds.min(LONGEST_WAIT)))
}

/// What has come of it: as its handler has answered; before the end, how it is.
pub fn result(jobs: Arc<Jobs>, job: &JobRoute, view: &View<'_, '_>) -> Answering {
    let asked = Asked::new(jobs, job, view, "/result");
    Box::pin(async move {
        let job = asked.find().await?;
        if !job.state.is_over() {
            return Ok(shown::job(StatusCode::ACCEPTED, &job, asked.place()));
        }
        if job.state != State::Done {
            return Err(Failure::new(StatusCode::CONFLICT, shown::why_none(&job)));
        }
        let outcome = asked.jobs.ask(move |store| store.result(job.id)).await?.ok_or_else(nothing)?;
        let mut fields = ResponseFields::default();
        if let Some(content_type) = &outcome.content_type {
            fields.set(&CONTENT_TYPE, content_type);
        }
        fields.set(&CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let status = StatusCode::from_u16(outcome.status).unwrap_or(StatusCode::OK);
        Ok(Response::new(status, fields, Body::bytes(outcome.body)))
    })
}

/// It ends; one that is over is forgotten.
pub fn cancel(jobs: Arc<Jobs>, job: &JobRoute, view: &View<'_, '_>) -> Answering {
    let keep = job.rules.keep;
    let asked = Asked::new(jobs, job, view, "");
    Box::pin(async move {
        let id = asked.find().await?.id;
        let cancelled = asked.jobs.cancel(id, keep).await.map_err(|e| asked.jobs.failed(&e))?;
        let left = asked.jobs.ask(move |store| match cancelled {
            Some(Cancelled::Over(_)) => store.remove(id).map(|_| None),
            _ => store.find(id),
        });
        Ok(match left.await? {
            Some(job) => shown::job(StatusCode::OK, &job, asked.place()),
            None => Response::new(StatusCode::NO_CONTENT, ResponseFields::default(), Body::empty()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_say_how_long_they_would_wait() {
        let seconds = |field: &[u8]| wait(field).map(|wait| wait.as_secs());
        assert_eq!(seconds(b"wait=5"), Some(5));
        assert_eq!(seconds(b"respond-async, wait=10"), Some(10));
        assert_eq!(seconds(b"wait=100000"), Some(LONGEST_WAIT));
        for other in [&b""[..], b"wait", b"wait=", b"wait=-1", b"wait=soon", b"await=5", b"\xff"] {
            assert_eq!(seconds(other), None, "{other:?}");
        }
    }
}

//! A job is accepted: 202, once it is written down, with the place to ask for it.

use super::{nothing, shown, Answering, JobRoute, Jobs};
use crate::view::View;
use ::jobs::{now, Accepted, NewJob};
use exchange::RequestView as _;
use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use httpd::{Failure, Received};
use serde::Deserialize;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use wire::BodyRef;

/// What a client that asks again sends again: see draft-ietf-httpapi-idempotency-key-header.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest key, in bytes.
const LONGEST_KEY: usize = 255;

/// See the module.
pub fn answer(jobs: Arc<Jobs>, job: &JobRoute, view: &View<'_, '_>) -> Answering {
    let key = match key(view) {
        Ok(key) => key,
        Err(failure) => return Box::pin(async move { Err(failure) }),
    };
    let (inline, long) = match view.body {
        Received::Spooled(path, _) => (BodyRef::Inline(&[]), Some(path.to_path_buf())),
        Received::Empty | Received::Memory(_) => (view.body(), None),
    };
    let mut request = Vec::new();
    view.encode_without(&job.secrets, inline, &mut request);
    let new = NewJob { kind: job.kind.clone(), request, body: None, key, priority: job.priority, due: None };
    let place = shown::place_below(view);
    Box::pin(accept(jobs, new, long, place))
}

/// What names the job, if its client has said so, among those of the same client.
fn key(view: &View<'_, '_>) -> Result<Option<String>, Failure> {
    let Some(key) = view.header(IDEMPOTENCY_KEY.as_str().as_bytes()) else { return Ok(None) };
    let text = std::str::from_utf8(key).ok().filter(|key| !key.is_empty() && key.len() <= LONGEST_KEY);
    let wrong = || format!("`Idempotency-Key` must be text of 1 to {LONGEST_KEY} bytes");
    let text = text.ok_or_else(|| Failure::new(StatusCode::BAD_REQUEST, wrong()))?;
    // a line feed is in no field, so that no other client's key is the same
    Ok(Some(format!("{}\n{text}", user(view.auth))))
}

/// The name of an authenticated client, which stays the same when its token is a new one; empty without a name.
fn user(auth: &[u8]) -> String {
    let named = sonic_rs::from_slice::<Named>(auth).ok();
    named.and_then(|named| named.user).unwrap_or_default()
}

#[derive(Deserialize)]
struct Named {
    user: Option<String>,
}

async fn accept(jobs: Arc<Jobs>, mut new: NewJob, long: Option<PathBuf>, place: String) -> super::Responded {
    if let Some(path) = long {
        let read = tokio::task::spawn_blocking(move || fs::read(path)).await;
        let read = read.map_err(std::io::Error::other).and_then(|read| read);
        let failed = |e| Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the body cannot be kept").because(e);
        new.body = Some(read.map_err(failed)?);
    }
    let kept = jobs.ask(move |store| {
        Ok(match store.accept(&new, now())? {
            Accepted::New(id) | Accepted::Existing(id) => Ok(store.find(id)?),
            Accepted::Full(full) => Err(full),
        })
    });
    match kept.await? {
        Ok(job) => {
            // it was there in the same transaction
            let job = job.ok_or_else(nothing)?;
            jobs.changed(job.id);
            let place = format!("{place}/{}", job.id);
            let mut response = shown::job(StatusCode::ACCEPTED, &job, &place);
            response.fields.set(&LOCATION, &place);
            Ok(response)
        }
        Err(full) => {
            let (why, setting, most) = jobs.said(full);
            let failure = Failure::new(StatusCode::SERVICE_UNAVAILABLE, why);
            Err(failure.over(setting, most).with(&RETRY_AFTER, "10"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_apart_by_their_names() {
        assert_eq!(user(br#"{"scheme":"jwt","user":"ann","claims":{"exp":1}}"#), "ann");
        for none in [&b""[..], b"{}", br#"{"user":null}"#, b"[1]"] {
            assert_eq!(user(none), "", "{none:?}");
        }
    }
}

//! Phase 7, where `keep_failed` is on: a request that its handler has failed is kept, to be played again. What is not
//! known any more by then was noted when it was handed over (`run`).
//!
//! Runs: it is kept when its answer is 500, 502 or 504.

use super::state::{Asked, State};
use crate::context::Context;
use crate::failed::{FailedRequest, FailedRequests, Kept};
use http::header::CONTENT_TYPE;
use http::StatusCode;
use httpd::Failure;
use identity::Who;
use std::time::UNIX_EPOCH;

/// Keeps a request whose answer has this status, if a handler had it and that has failed. `failure`: why there was no
/// other answer.
pub fn keep(state: &State, status: StatusCode, failure: Option<&Failure>, context: &Context) {
    let Some(failed) = &context.failed else { return };
    let Some(asked) = state.take_asked() else { return };
    let has_failed = [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::BAD_GATEWAY, StatusCode::GATEWAY_TIMEOUT];
    if has_failed.contains(&status) {
        let since = asked.since;
        let request = request(state, asked, status, failure, failed, context);
        failed.keep(Kept { id: state.id, since, request });
    }
}

fn request(
    state: &State,
    asked: Asked,
    status: StatusCode,
    failure: Option<&Failure>,
    failed: &FailedRequests,
    context: &Context,
) -> FailedRequest {
    let (head, redact) = (&state.head, &failed.redact);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let content_type = head.fields.get(&CONTENT_TYPE).map(text).unwrap_or_default();
    let longest = failed.longest_body();
    let body = match asked.body {
        Some(body) if body.len() as u64 <= longest => {
            redact.body(&content_type, &body).map_err(|why| format!("it is not kept: {why}"))
        }
        Some(_) => Err(format!("longer than {longest} bytes, a quarter of `keep_failed_size`")),
        None => Err("longer than `spool_above`".to_owned()),
    };
    // a text that is no JSON is none of ours
    let json = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(|text| redact.json(text));
    let route = asked.route.map(|number| context.pool().pattern(asked.generation, number)).unwrap_or_default();
    let request = FailedRequest {
        id: format!("{:016x}", state.id),
        at: asked.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
        seconds: asked.since.elapsed().as_secs_f64(),
        method: head.method.as_str().to_owned(),
        target: redact.target(head.target()),
        base_path: head.base_path().to_owned(),
        fields: head.fields.iter().map(|(name, value)| (text(name), redact.field(&text(name), value))).collect(),
        body_size: asked.body_size,
        body_missing: body.as_ref().err().cloned(),
        route,
        status: status.as_u16(),
        error: failure.map(Failure::for_log).unwrap_or_default(),
        generation: asked.generation,
        auth: state.who().map(Who::json).and_then(json),
        session: asked.session.as_deref().and_then(json),
        ..FailedRequest::default()
    };
    request.with_body(body.unwrap_or_default())
}

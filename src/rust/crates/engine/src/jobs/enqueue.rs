//! Jobs that the app asks for itself, from a handler or from the session that serves: the request is made here.
//! Policies are for clients, and are not asked; types hold.

use super::{shown, wanted};
use crate::app::App;
use crate::context::Context;
use crate::edge::types::Looked;
use ::jobs::{now, Accepted, JobId, NewJob};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::Request;
use httpd::{Failure, Head, Received};
use router::{Match, Method, Params};
use serde::Deserialize;
use std::sync::Arc;
use wire::command::Answer;
use wire::{BodyRef, RequestHead};

/// Longer bodies, in bytes, are kept beside their requests, as those of clients are: workers get them in a file.
const LONG: usize = 64 * 1024;

/// How a job is to be run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct How {
    /// of its body
    content_type: Option<String>,
    /// names it, among those of the app
    key: Option<String>,
    /// when it may begin, in ms since 1970
    due: Option<f64>,
    priority: Option<f64>,
    /// whom it is for, as `wire` has it
    auth: Option<String>,
}

/// Has `then` told the answer of [`wire::command::Command::Enqueue`], for the job that `job` describes.
pub fn enqueue(context: &Context, target: &str, job: &[u8], then: impl FnOnce(Answer) + Send + 'static) {
    let (target, job) = (target.to_owned(), Bytes::copy_from_slice(job));
    let act = move |context: Arc<Context>| async move { accept(&context, &target, &job).await };
    wanted::want(context, act, |accepted| {
        then(Answer(vec![match accepted {
            Ok(id) => (1, id.to_string().into_bytes()),
            Err(why) => (0, why.into_bytes()),
        }]));
    });
}

async fn accept(context: &Context, target: &str, job: &Bytes) -> Result<JobId, String> {
    let end = job.iter().position(|&byte| byte == b'\n').unwrap_or(job.len());
    let how: How = sonic_rs::from_slice(&job[..end]).map_err(|e| e.to_string())?;
    let app = context.pool().app(0);
    let new = request(&app, target, how, job.slice(job.len().min(end + 1)..)).await?;
    let jobs = &context.jobs;
    match jobs.ask(move |store| store.accept(&new, now())).await.map_err(|failure| failure.detail)? {
        Accepted::New(id) => {
            jobs.changed(id);
            Ok(id)
        }
        Accepted::Existing(id) => Ok(id),
        Accepted::Full(full) => {
            let (why, setting, most) = jobs.said(full);
            Err(format!("{why}: {setting} is {most}"))
        }
    }
}

/// The job, as if a client had sent this.
async fn request(app: &App, target: &str, how: How, body: Bytes) -> Result<NewJob, String> {
    let wrong = || format!("{target:?} is no path, with its query if it has one, as clients send it");
    if !target.starts_with('/') {
        return Err(wrong());
    }
    let fields = how.content_type.iter().map(|text| (CONTENT_TYPE, text));
    let request = fields.fold(Request::post(target), |request, (name, text)| request.header(name, text));
    let head = Head::from_http2(&request.body(()).map_err(|_| wrong())?.into_parts().0);
    let mut params = Params::new();
    let routers = [&app.private_jobs, &app.router];
    let route = routers.into_iter().find_map(|router| match router.find(Method::Post, head.path(), &mut params) {
        Match::Found { target, .. } => app.accepts_jobs(target).map(|job| (target, job)),
        _ => None,
    });
    let (number, job) =
        route.ok_or_else(|| format!("no jobs are accepted at {}: dr_job() has them be", head.path()))?;
    if let Some(types) = app.types(number) {
        let received = if body.is_empty() { Received::Empty } else { Received::Memory(body.clone()) };
        let said = |failure: Failure| failure.detail;
        match types.judge(&head, &params, &received, app.bounds).map_err(said)? {
            Looked::Fits => {}
            Looked::Later(looking) => looking.outcome().await.map_err(said)?,
        }
    }
    let path = router::decode(head.path()).map_err(|_| wrong())?;
    let is_long = body.len() > LONG;
    let inline = BodyRef::Inline(if is_long { &[] } else { &body });
    let (method, target) = (&b"POST"[..], head.target().as_bytes());
    let auth = how.auth.as_deref().unwrap_or_default().as_bytes();
    let made = RequestHead { method, target, path: path.as_bytes(), body: inline, auth, ..RequestHead::default() };
    let params: Vec<_> = params.iter().map(|param| param.as_bytes()).collect();
    let mut request = Vec::new();
    made.encode(&params, || head.fields.iter(), &mut request);
    Ok(NewJob {
        kind: job.kind.clone(),
        request,
        body: is_long.then(|| body.to_vec()),
        key: how.key.as_deref().map(shown::own_key),
        priority: how.priority.map_or(job.priority, |priority| priority as i32),
        due: how.due.map(|due| due as u64),
    })
}

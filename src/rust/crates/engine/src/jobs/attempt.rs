//! One attempt at a job: the request that was accepted is made again, for the worker that is free.

use super::outcome::{end_of, Ended};
use super::{JobRoute, Jobs};
use crate::app::App;
use crate::context::Context;
use ::jobs::{now, Attempt, End, JobId, Kept, Progress, Rules, State};
use dispatch::{Origin, Outcome, Submission};
use observe::Level;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::Duration;
use tempfile::{NamedTempFile, TempPath};
use tokio::sync::oneshot;
use wire::{BodyRef, Notice, Request, RequestHead};

/// Between two times that an end is written which could not be: twice as long each time, between these.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// An attempt that ends with its server, or when its job is cancelled, before it has come to an end.
struct Unfinished {
    jobs: Arc<Jobs>,
    id: JobId,
    attempt: u32,
    /// it has come to an end, or no end of it counts
    is_over: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let (id, attempt) = (self.id, self.attempt);
        drop(self.jobs.left(id, attempt));
        if let Some(desk) = self.jobs.desk.get().filter(|_| !self.is_over) {
            let back = End::Back { delay: 0 };
            let rules = Rules { retries: 0, backoff: 0, keep: 0 };
            drop(desk.ask(move |store| store.end(id, attempt, &back, &rules, now())));
        }
        self.jobs.changed(id);
    }
}

/// See the module.
pub async fn run(context: Arc<Context>, attempt: Attempt, cancelled: oneshot::Receiver<()>) {
    let jobs = context.jobs.clone();
    let mut unfinished = Unfinished { jobs: jobs.clone(), id: attempt.id, attempt: attempt.attempt, is_over: false };
    // the same for all of it: in another app the number may be another route
    let app = context.app();
    let Some((route, job)) = app.kinds_of_jobs().find(|(_, job)| job.kind == attempt.kind) else { return };
    let asked = Request::decode(&attempt.request);
    let name = name_of(&attempt, asked.as_ref().ok());
    let made = async {
        match asked {
            Ok(mut request) => {
                (request.head.id, request.head.route) = (name, route);
                make(&context, &app, &attempt, &request).await
            }
            Err(e) => Ended::broken(&format!("its request cannot be read: {e}")),
        }
    };
    let Ended { end, why } = tokio::select! {
        ended = made => ended,
        _ = cancelled => {
            unfinished.is_over = true;
            return;
        }
    };
    // a server that ends takes its workers along, in the end
    let is_over = matches!(end, End::Lost { .. }) && jobs.ends.load(Relaxed);
    let end = if is_over { End::Back { delay: 0 } } else { end };
    settle(&jobs, job, &attempt, name, end, &why).await;
    unfinished.is_over = true;
}

/// Has the store know the end, and says in the log what is not as it should be.
async fn settle(jobs: &Jobs, job: &JobRoute, attempt: &Attempt, name: u64, end: End, why: &str) {
    let number = attempt.attempt;
    let is_back = matches!(end, End::Back { .. });
    // by the id, what the handler has written is found
    let name = format!("id={name:016x} the job {} of {}", attempt.id, attempt.kind);
    let Some(kept) = keep(jobs, attempt, end, job.rules, &name).await else { return };
    if let (Kept::As(state), false) = (kept, is_back) {
        jobs.attempt_ended(&attempt.kind, state);
    }
    match kept {
        Kept::As(State::Failed) => jobs.log.line(Level::Error, &format!("{name} has failed: {why}")),
        Kept::As(State::Waiting | State::Scheduled) if !is_back => {
            jobs.log.line(Level::Warn, &format!("{name} is tried again: attempt {number}: {why}"));
        }
        Kept::As(_) | Kept::Stale => {}
    }
}

/// Writes the end, for as long as it takes: what was computed is not lost because a disk is full for a while. `None`
/// where there is no store.
async fn keep(jobs: &Jobs, attempt: &Attempt, end: End, rules: Rules, name: &str) -> Option<Kept> {
    let desk = jobs.desk.get()?;
    let (id, number, end) = (attempt.id, attempt.attempt, Arc::new(end));
    let mut pause = SHORTEST_PAUSE;
    loop {
        let end = end.clone();
        match desk.ask(move |store| store.end(id, number, &end, &rules, now())).await {
            Ok(kept) => return Some(kept),
            Err(e) => {
                let why = format!("{name}: its end cannot be written, which is tried again: {e}");
                jobs.log.line(Level::Error, &why);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// Has a worker run the request.
async fn make(context: &Context, app: &App, attempt: &Attempt, request: &Request<'_>) -> Ended {
    let body = match body_of(&context.jobs, attempt).await {
        Ok(body) => body,
        Err(e) => return Ended::back(&format!("its body could not be written: {e}")),
    };
    let mut message = Vec::new();
    let job = format!("{{\"id\":\"{}\",\"attempt\":{}}}", attempt.id, attempt.attempt);
    let long = body.as_ref().map(|(path, len)| BodyRef::Spooled { path: path.as_os_str().as_bytes(), len: *len });
    let RequestHead { id, route, body: short, .. } = request.head;
    let head = RequestHead { job: job.as_bytes(), body: long.unwrap_or(short), ..request.head };
    let params: Vec<_> = request.params().collect();
    head.encode(&params, || request.headers(), &mut message);
    let mut kind = DefaultHasher::new();
    attempt.kind.hash(&mut kind);
    // jobs of a kind take turns with clients, as one of them
    let from = Origin { client: kind.finish(), connection: 0 };
    let submission = Submission {
        request: id,
        timeout: app.target(route).timeout,
        times_handler: true,
        ends_with_client: true,
        takes_notices: true,
        ..Submission::of_server(from, app.generation, app.target(route).pool, route)
    };
    let Some(mut ticket) = context.queue.submit(submission, |out| out.extend_from_slice(&message)) else {
        return Ended::back("the queue is full");
    };
    drop(message);
    httpd::watch_closely();
    loop {
        match (&mut ticket).await {
            Outcome::Notice(notice) => note(&context.jobs, attempt, &notice),
            outcome => return end_of(outcome).await,
        }
    }
}

/// Keeps what an attempt says of how far it is.
fn note(jobs: &Jobs, attempt: &Attempt, notice: &[u8]) {
    let (Ok(Notice::Progress(said)), Some(desk)) = (Notice::decode(notice), jobs.desk.get()) else { return };
    let message = std::str::from_utf8(said.message).ok().filter(|message| !message.is_empty());
    let (id, number) = (attempt.id, attempt.attempt);
    let progress = Progress {
        done: if said.done.is_finite() { said.done } else { 0.0 },
        total: Some(said.total).filter(|total| total.is_finite()),
        message: message.map(str::to_owned),
    };
    drop(desk.ask(move |store| store.progress(id, number, progress.clone())));
    jobs.changes.say(id);
}

/// A long body, in a file for the worker.
async fn body_of(jobs: &Jobs, attempt: &Attempt) -> io::Result<Option<(TempPath, u64)>> {
    let Some(body) = attempt.body.clone() else { return Ok(None) };
    let folder = jobs.folder.clone();
    let written = tokio::task::spawn_blocking(move || {
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(&body)?;
        Ok(Some((file.into_temp_path(), body.len() as u64)))
    });
    written.await.map_err(io::Error::other)?
}

/// What the log calls an attempt: as the request that has asked for the job or, where that was no client's, as the job.
fn name_of(attempt: &Attempt, asked: Option<&Request<'_>>) -> u64 {
    asked.map(|asked| asked.head.id).filter(|id| *id != 0).unwrap_or_else(|| attempt.id.first_half())
}

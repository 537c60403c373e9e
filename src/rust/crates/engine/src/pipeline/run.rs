//! Phase 6: the handler runs.
//!
//! Runs: a C handler of this process, on this thread or on one of a pool · or the queue, and a worker.

use super::policies;
use super::response::{answered, internal, of_itself, replied, settled, too_late};
use super::route::{Route, NOT_FOUND_ROUTE};
use super::state::{Asked, State};
use super::Responded;
use crate::context::Context;
use crate::jobs;
use crate::natives::{gave, packed, pending, Natives, Pending, Place, Settled, INLINE};
use crate::presence::Start;
use crate::respond::{from_head, from_reply};
use crate::view::View;
use crate::websockets::{self, Begun, Opening, WebSocketRoute, Whose};
use ::http::StatusCode;
use bytes::Bytes;
use dispatch::{Origin, Outcome, Owner, Runs, Submission, Ticket};
use exchange::{now, RequestView as _};
use httpd::{watch_closely, EarlyHints, Failure, Received};
use identity::Who;
use observe::metrics::Refusal;
use observe::Level;
use router::Params;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use wire::Notice;

/// What came of a request so far.
pub enum Step {
    Answer(Responded),
    /// it has been handed over
    Wait(Waiting),
}

/// What it waits for.
pub enum Waiting {
    /// a C handler of this process; one of the pool takes a place in its queue
    Native(Pending, Option<Place>),
    /// the queue, or a worker
    Worker(Ticket),
    /// the same, with the word whether a client gets its WebSocket
    Socket(Box<Opening>),
    /// the store of jobs
    Job(jobs::Answering),
    /// the app, which is to be started: then the request is routed again
    Start(Start),
}

/// Has the handler of the route answer, now or later. While it does, clients are told of the links that the route has.
pub fn begin(state: &State, route: &Route<'_>, params: &Params<'_>, body: &Received, context: &Arc<Context>) -> Step {
    let step = hand_over(state, route, params, body, context);
    if route.target.has_hints {
        if let Some(hints) = route.app.hints(route.number) {
            // not for an answer that is here, nor again for a request that was routed again
            let is_first = state.links.set(hints.clone()).is_ok();
            if is_first && matches!(step, Step::Wait(_)) {
                state.hint(hints.clone());
            }
        }
    }
    step
}

/// To a C handler of this process, or a worker.
fn hand_over(state: &State, route: &Route<'_>, params: &Params<'_>, body: &Received, context: &Arc<Context>) -> Step {
    if !context.pool().presence().is_here() {
        return Step::Wait(Waiting::Start(context.pool().start()));
    }
    let session = policies::session(state);
    let replays = context.replays.as_ref();
    let session = replays.map_or(session, |replay| replay.session.clone().map(String::into_bytes));
    let view = View {
        id: state.id,
        route: route.number,
        head: &state.head,
        client: state.client(),
        https: state.is_https(),
        is_named: state.given_id().is_some(),
        tls: state.connection().tls().map_or(&[], |agreed| &agreed.text),
        path: &route.path,
        base_path: replays.map_or(state.head.base_path(), |replay| &replay.base_path),
        params,
        terms: state.terms().map_or(&[], |terms| terms),
        body,
        auth: match replays {
            Some(replay) => replay.auth.as_deref().unwrap_or_default().as_bytes(),
            None => state.who().map_or(&[], Who::json),
        },
        session: session.as_deref().unwrap_or_default(),
    };
    if let Some(websocket) = &route.websocket {
        return open(state, websocket, route, &view, context);
    }
    if route.target.is_job {
        if let Some(job) = route.app.job(route.number) {
            return Step::Wait(Waiting::Job(context.jobs.answer(job, &view)));
        }
    }
    if context.failed.is_some() {
        state.asked(asked(route, body, session.as_deref()));
    }
    match (route.target.runs, &route.app.natives) {
        (Runs::Inline, Some(natives)) => call(state, natives, route, &view, context),
        (Runs::Pool, Some(natives)) => submit(state, natives, route, &view, context),
        _ => ask_worker(state, route, &view, context),
    }
}

/// What is to be kept of a request, should it fail.
fn asked(route: &Route<'_>, body: &Received, session: Option<&[u8]>) -> Asked {
    let here = match body {
        Received::Empty => Some(Bytes::new()),
        Received::Memory(bytes) => Some(bytes.clone()),
        Received::Spooled(..) => None,
    };
    Asked {
        body: here,
        body_size: body.len(),
        session: session.map(<[u8]>::to_vec),
        route: Some(route.number).filter(|number| *number != NOT_FOUND_ROUTE),
        generation: route.app.generation,
        since: Instant::now(),
        at: SystemTime::now(),
    }
}

/// What came of it; `None` when the app that routed the request is not served any more.
pub async fn outcome(state: &State, waiting: Waiting, context: &Context) -> Option<Responded> {
    let outcome = match waiting {
        Waiting::Native(pending, _place) => return Some(settled(state, pending.outcome().await, context)),
        Waiting::Job(answer) => return Some(answer.await),
        Waiting::Start(start) => return start.await.err().map(Err),
        Waiting::Worker(mut ticket) => word(state, &mut ticket).await,
        Waiting::Socket(opening) => match opening.outcome().await {
            Ok(made) => return Some(made.map_err(|why| internal(state, context, why))),
            Err(outcome) => outcome,
        },
    };
    said(state, outcome, context)
}

/// The last word about a request. What its handler says for its client before that is passed on.
pub async fn word(state: &State, ticket: &mut Ticket) -> Outcome {
    loop {
        match (&mut *ticket).await {
            Outcome::Notice(message) => {
                // R has judged the links, and a worker that is corrupted is not believed
                if let Ok(Notice::Links(links)) = Notice::decode(&message) {
                    let _ = EarlyHints::new(wire::links(links)).map(|hints| state.hint(Arc::new(hints)));
                }
            }
            outcome => return outcome,
        }
    }
}

/// What the queue, or a worker, says in the end; `None` as for [`outcome`].
pub fn said(state: &State, outcome: Outcome, context: &Context) -> Option<Responded> {
    Some(match outcome {
        Outcome::Reply(message, spooled, pid) => {
            state.answered_by(pid);
            state.ran(wire::Reply::peek(&message).0);
            replied(state, from_reply(message, spooled, &state.head.method, &state.head.fields), context)
        }
        Outcome::Stream(head, reader) => {
            state.ran(wire::Reply::peek(&head).0);
            state.streams();
            replied(state, from_head(&head, reader), context)
        }
        Outcome::Late(late, pid) => Err(in_worker(too_late(late), pid)),
        Outcome::OfItself(pid) => Err(in_worker(of_itself(), Some(pid))),
        Outcome::Full => Err(queue_is_full(context)),
        Outcome::Ending => {
            let failure = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending");
            Err(failure.counts_as(Refusal::Ending))
        }
        Outcome::WorkerDied(pid) => {
            let why = "the worker ended before it had answered";
            Err(in_worker(Failure::new(StatusCode::BAD_GATEWAY, why), pid))
        }
        // a notice is never the last word
        Outcome::Stale | Outcome::Notice(_) => return None,
    })
}

/// The same, and the log names the worker process, as its own lines do.
fn in_worker(failure: Failure, pid: Option<i32>) -> Failure {
    let Some(pid) = pid else { return failure };
    let comma = if failure.because.is_empty() { "" } else { ", " };
    let why = format!("{}{comma}worker {pid}", failure.because);
    failure.because(why)
}

/// Calls a C handler here and now.
fn call(state: &State, natives: &Natives, route: &Route<'_>, view: &View<'_, '_>, context: &Context) -> Step {
    let mut later = None;
    let began = now();
    let since = state.watch.as_ref().map(|_| Instant::now());
    let answer = natives.handlers.run(route.target.handler, view, &mut || {
        let (pending, sink) = pending(None, route.target.timeout, state.terms().cloned());
        later = Some(pending);
        sink
    });
    if let Some(took) = natives.blocked(began, now()) {
        let why = format!("an inline handler took {took} ms: all connections of its thread waited for it");
        state.log(Level::Warn, StatusCode::OK, &why);
    }
    if let (Some(since), Some(_)) = (since, &answer) {
        state.ran(since.elapsed().as_micros().try_into().unwrap_or(u32::MAX));
    }
    match (answer, later) {
        (Some(answer), _) => {
            let answer = packed(answer, state.terms().map(|terms| &terms[..]), INLINE);
            Step::Answer(answered(state, answer, context))
        }
        (None, Some(pending)) => Step::Wait(Waiting::Native(pending, None)),
        (None, None) => Step::Answer(settled(state, Settled::Lost, context)),
    }
}

/// Has a thread of the pool call a C handler.
fn submit(state: &State, natives: &Natives, route: &Route<'_>, view: &View<'_, '_>, context: &Context) -> Step {
    let Some(place) = natives.place() else { return Step::Answer(Err(queue_is_full(context))) };
    let mut message = natives.handlers.buffer();
    view.encode(&mut message);
    let (pending, sink) = pending(Some(route.app.queue_timeout), route.target.timeout, state.terms().cloned());
    natives.handlers.submit(route.target.handler, message, Instant::now(), sink);
    gave(&natives.handlers);
    Step::Wait(Waiting::Native(pending, Some(place)))
}

/// Has a client have its WebSocket, or asks R whether it may.
fn open(
    state: &State,
    websocket: &Arc<WebSocketRoute>,
    route: &Route<'_>,
    view: &View<'_, '_>,
    context: &Arc<Context>,
) -> Step {
    let from = Whose { connection: state.connection().clone(), forwarded: state.forwarded().cloned() };
    let preferred = if websocket.is_kept() { preferred(state, route) } else { None };
    match websockets::begin(view, from, websocket, (route.app.generation, preferred), context) {
        Ok(Begun::Open(made)) => Step::Answer(made.map_err(|why| internal(state, context, why))),
        Ok(Begun::Refused(answer)) => Step::Answer(answered(state, answer, context)),
        Ok(Begun::Asked(opening)) => Step::Wait(Waiting::Socket(opening)),
        Ok(Begun::Full) => Step::Answer(Err(queue_is_full(context))),
        Err(failure) => Step::Answer(Err(failure)),
    }
}

/// The worker that has had the client's requests so far, by its cookie. It is asked once: should it have gone, the
/// request is routed again, and goes to any.
fn preferred(state: &State, route: &Route<'_>) -> Option<Owner> {
    let affinity = route.app.affinity.as_ref()?;
    state.prefers(|| affinity.named(&state.head)).map(Owner::Process)
}

/// Queues the request for a worker.
fn ask_worker(state: &State, route: &Route<'_>, view: &View<'_, '_>, context: &Context) -> Step {
    // connections and visitors are the workers' that have no pool of their own
    let owner = if route.target.runs == Runs::R && route.target.pool == 0 {
        context.websockets.owner_of(&route.path, route.app.generation).or_else(|| preferred(state, route))
    } else {
        None
    };
    let submission = Submission {
        request: state.id,
        from: Origin {
            client: state.client().address.client(),
            connection: Arc::as_ptr(state.connection()).addr() as u64,
        },
        generation: route.app.generation,
        pool: route.target.pool,
        route: route.number,
        runs: route.target.runs,
        timeout: route.target.timeout,
        times_handler: false,
        ends_with_client: route.target.ends_with_client(&state.head.method),
        takes_notices: true,
        counts: true,
        peer: state.connection().local_peer().filter(|_| state.forwarded().is_none()),
        opens: None,
        batch: route.target.batch,
        owner,
    };
    match context.queue.submit(submission, |out| view.encode(out)) {
        Some(ticket) => {
            watch_closely();
            Step::Wait(Waiting::Worker(ticket))
        }
        None => Step::Answer(Err(queue_is_full(context))),
    }
}

fn queue_is_full(context: &Context) -> Failure {
    let max_queue = context.health.max_queue();
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "request queue is full")
        .over("max_queue", max_queue)
        .counts_as(Refusal::QueueFull)
}

//! The order of a request: the one folder that knows it. Each phase is a file, which says what runs in it.
//!
//! ```text
//! head ─▶ internal ─▶ route ─▶ policies ─▶ cached ─▶ body ─▶ types ─▶ run ─▶ response ─▶ end
//! ```
//! A phase may answer; then `response` comes next, where policies add their fields. Every request reaches `end` exactly
//! once, whether it is answered, refused or left by its client. What ends before `run` never meets R.

mod body;
mod cached;
mod end;
mod failed;
mod head;
mod internal;
mod policies;
mod response;
mod route;
mod run;
mod state;
mod types;

pub use end::refused;
pub use route::NOT_FOUND_ROUTE;

use crate::context::Context;
use crate::edge::auth::Question;
use crate::edge::cache::Making;
use ::http::StatusCode;
use cached::Looked;
use httpd::{admit, too_large, Answering, Connection, Failure, Head, Incoming, Received, Response};
use observe::metrics as counted;
use route::{Route, Routed};
use router::Params;
use run::{Step, Waiting};
use state::State;
use std::sync::Arc;

/// What a request comes to: a response, or why there is none.
type Responded = Result<Response, Failure>;

/// Answers a request, with the app that `choose` says. What needs not to wait is done when this returns, and costs no
/// task's state.
pub fn handle<'c>(
    mut head: Head,
    mut body: Incoming,
    connection: Arc<Connection>,
    choose: impl FnOnce(&Head, &Connection) -> &'c Arc<Context>,
) -> Answering {
    let admitted = admit(&mut head, &connection);
    let context = choose(&head, &connection);
    let mut state = State::new(head, connection, context);
    let begun = match admitted.and_then(|()| begin(&state, &body, context)) {
        Ok(Begun::Answered(response)) if cached::packs(&state, &response) => {
            Ok(Begun::Open(Rest::Answered(Box::new(response))))
        }
        begun => begun,
    };
    let answer = match begun {
        Ok(Begun::Open(mut rest)) => {
            let context = context.clone();
            return Answering::Later(Box::pin(async move {
                if let Rest::Waiting(Waiting::Worker(ticket)) = &mut rest {
                    match run::said(&state, run::word(&state, ticket).await, &context) {
                        Some(Ok(response)) if cached::packs(&state, &response) => {
                            rest = Rest::Answered(Box::new(response));
                        }
                        Some(answer) => return response::finish(&mut state, answer, body, &context),
                        None => rest = Rest::Again,
                    }
                }
                // in a box of its own: the one around it, which every request for a worker needs, costs little to
                // allocate and to move, being small
                let answer = Box::pin(answer(&mut state, rest, &mut body, &context)).await;
                response::finish(&mut state, answer, body, &context)
            }));
        }
        Ok(Begun::Answered(response)) => Ok(response),
        Err(failure) => Err(failure),
    };
    Answering::Now(Some(response::finish(&mut state, answer, body, context)))
}

/// How far a request got without waiting for anything.
enum Begun {
    Answered(Response),
    Open(Rest),
}

/// What a request waits for.
enum Rest {
    /// it has been handed over
    Waiting(Waiting),
    /// another request is being answered that wants the same
    Cached(Box<(cached::Waiting, Route<'static>, Params<'static>)>),
    /// its body is to be received for this route, which is in a box: most requests do without, and each has to carry
    /// the space
    Routed(Box<(Route<'static>, Params<'static>)>),
    /// its client is being authenticated
    Asked(Question),
    /// the app that routed it is not served any more
    Again,
    /// this is its answer, which is to be packed
    Answered(Box<Response>),
}

fn begin(state: &State, body: &Incoming, context: &Arc<Context>) -> Result<Begun, Failure> {
    if let Some(response) = head::check(state, context)? {
        return Ok(Begun::Answered(response));
    }
    if let Some(answer) = internal::answer(state, context) {
        state.goes_to(counted::Route::SERVER);
        return answer.map(|answer| match answer {
            internal::Answer::Now(response) => Begun::Answered(response),
            internal::Answer::Later(answer) => Begun::Open(Rest::Waiting(Waiting::Job(answer))),
        });
    }
    if let Some(response) = context.development.as_ref().and_then(|development| development.answer(&state.head)) {
        return Ok(Begun::Answered(response));
    }
    if !state.is_inside {
        return Err(Failure::new(StatusCode::NOT_FOUND, ""));
    }
    if let Some(redirect) = context.base_path.redirect(&state.head) {
        return Ok(Begun::Answered(redirect));
    }
    if !context.pool().presence().is_here() && !context.is_known() {
        return Ok(Begun::Open(Rest::Waiting(Waiting::Start(context.pool().start()))));
    }
    let mut params = Params::new();
    let route = match route::find(state, &mut params, context)? {
        Routed::Answer(response) => return Ok(Begun::Answered(response)),
        Routed::Ask(question) => return Ok(Begun::Open(Rest::Asked(question))),
        Routed::To(route) => route,
    };
    match cached::begin(state, &route) {
        Looked::Answer(answer) => return answer.map(Begun::Answered),
        Looked::Stale(response, making) => {
            if let Some(making) = making {
                refresh(State::unawaited(state), making, route.into_owned(params), context.clone());
            }
            return Ok(Begun::Answered(response));
        }
        Looked::Wait(waiting) => {
            let (route, params) = *route.into_owned(params);
            return Ok(Begun::Open(Rest::Cached(Box::new((waiting, route, params)))));
        }
        Looked::GoOn => {}
    }
    let Some(received) = body.here().filter(|_| state.decoding().is_none()) else {
        return Ok(Begun::Open(Rest::Routed(route.into_owned(params))));
    };
    if received.len() > route.target.max_body {
        return Err(too_large(route.target.max_body));
    }
    if types::judge(state, &route, &params, received)?.is_some() {
        // bodies that come with their head are not long; should one be, it is looked at there
        return Ok(Begun::Open(Rest::Routed(route.into_owned(params))));
    }
    Ok(match run::begin(state, &route, &params, received, context) {
        Step::Answer(answer) => Begun::Answered(answer?),
        Step::Wait(waiting) => Begun::Open(Rest::Waiting(waiting)),
    })
}

/// Has the handler make a new response in the background, beside a stale one.
fn refresh(
    mut state: State,
    making: Box<Making>,
    routed: Box<(Route<'static>, Params<'static>)>,
    context: Arc<Context>,
) {
    let _ = state.making.set(making);
    tokio::spawn(async move {
        let mut body = Incoming::Here(Received::Empty);
        let answer = Box::pin(answer(&mut state, Rest::Routed(routed), &mut body, &context)).await;
        drop(response::finish(&mut state, answer, body, &context));
    });
}

/// The rest of the way, and its answer packed where a cache is to do that.
async fn answer(state: &mut State, rest: Rest, body: &mut Incoming, context: &Arc<Context>) -> Responded {
    let mut response = go_on(state, rest, body, context).await?;
    if cached::packs(state, &response) {
        cached::pack_new(state, &mut response).await;
    }
    Ok(response)
}

/// The rest of the way, from where it has begun. A request is routed again when the app that routed it is not served
/// any more, and after an authentication that took long.
async fn go_on(state: &mut State, rest: Rest, body: &mut Incoming, context: &Arc<Context>) -> Responded {
    let mut asked = None;
    let (mut routed, mut waiting) = match rest {
        Rest::Waiting(waiting) => (None, Some(waiting)),
        Rest::Cached(cached) => {
            let (waiting, route, params) = *cached;
            match cached::landed(state, waiting, &route).await {
                Looked::Answer(answer) => return answer,
                Looked::Stale(response, _) => return Ok(response),
                Looked::Wait(_) | Looked::GoOn => (Some(Box::new((route, params))), None),
            }
        }
        Rest::Routed(routed) => (Some(routed), None),
        Rest::Answered(response) => return Ok(*response),
        Rest::Again => (None, None),
        Rest::Asked(question) => {
            asked = Some(question);
            (None, None)
        }
    };
    let mut received = None;
    loop {
        if let Some(waiting) = waiting.take() {
            if let Some(answer) = run::outcome(state, waiting, context).await {
                return answer;
            }
        }
        let routed = match routed.take() {
            Some(routed) => routed,
            None => {
                match asked.take() {
                    Some(question) => state.has_heard(question.await),
                    // another generation of the app took over in the meantime, or has, and the dispatcher of this
                    // thread is still to hear of it
                    None => tokio::task::yield_now().await,
                }
                let mut params = Params::new();
                match route::find(state, &mut params, context)? {
                    Routed::Answer(response) => return Ok(response),
                    Routed::Ask(question) => {
                        asked = Some(question);
                        continue;
                    }
                    Routed::To(route) => route.into_owned(params),
                }
            }
        };
        let (route, params) = &*routed;
        let received = whole(&mut received, state, body, route.target.max_body).await?;
        if let Some(looking) = types::judge(state, route, params, received)? {
            looking.outcome().await?;
        }
        match run::begin(state, route, params, received, context) {
            Step::Answer(answer) => return answer,
            Step::Wait(others) => waiting = Some(others),
        }
    }
}

/// The body, which is received when that was not done before.
async fn whole<'r>(
    received: &'r mut Option<Received>,
    state: &mut State,
    body: &mut Incoming,
    max_body: u64,
) -> Result<&'r Received, Failure> {
    Ok(match received {
        Some(body) => body,
        // in a box of its own: the one around it, which most requests need, stays of a size that costs little to
        // allocate
        none => {
            let body = none.insert(Box::pin(body::receive(state, body, max_body)).await?);
            if state.decoding().is_some() {
                state.unpacked(body);
            }
            body
        }
    })
}

//! The order of a request: the one folder that knows it. Each phase is a file, which says what runs in it.
//!
//! ```text
//! head ─▶ route ─▶ body ─▶ run ─▶ response ─▶ end
//! ```
//! A phase may answer; then `response` comes next. Every request reaches `end` exactly once, be it answered, refused or
//! left by its client. What ends before `run` never meets R.

mod body;
mod end;
mod head;
mod response;
mod route;
mod run;
mod state;

pub use end::refused;
pub use route::NOT_FOUND_ROUTE;

use crate::context::Context;
use httpd::{Answering, Connection, Failure, Head, Incoming, Received, Response};
use route::{Route, Routed};
use router::Params;
use run::{Step, Waiting};
use state::State;
use std::sync::Arc;

/// What a request comes to: a response, or why there is none.
type Answer = Result<Response, Failure>;

/// Answers a request. What needs not to wait is done when this returns, and costs no task's state.
pub fn handle(head: Head, mut body: Incoming, connection: Arc<Connection>, context: &Arc<Context>) -> Answering {
    let mut state = State::new(head, connection, context);
    let answer = match begin(&state, &body, context) {
        Ok(Begun::Open(mut rest)) => {
            let context = context.clone();
            return Answering::Later(Box::pin(async move {
                if let Rest::Waiting(Waiting::Worker(ticket)) = &mut rest {
                    match run::said(&state, ticket.await, &context) {
                        Some(answer) => return response::finish(&mut state, answer, body, &context),
                        None => rest = Rest::Again,
                    }
                }
                // in a box of its own: the one around it, which every request for a worker needs, costs little to
                // allocate and to move, being small
                let answer = Box::pin(go_on(&state, rest, &mut body, &context)).await;
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
    /// others have it
    Waiting(Waiting),
    /// its body is to be received for this route, which is in a box: most requests do without, and each has to carry
    /// the space
    Routed(Box<(Route<'static>, Params<'static>)>),
    /// the app that routed it is not served any more
    Again,
}

fn begin(state: &State, body: &Incoming, context: &Arc<Context>) -> Result<Begun, Failure> {
    if let Some(response) = head::check(state, context)? {
        return Ok(Begun::Answered(response));
    }
    if let Some(response) = context.development.as_ref().and_then(|development| development.answer(&state.head)) {
        return Ok(Begun::Answered(response));
    }
    let mut params = Params::new();
    let route = match route::find(state, &mut params, context)? {
        Routed::Answer(response) => return Ok(Begun::Answered(response)),
        Routed::To(route) => route,
    };
    let Some(received) = body.here() else { return Ok(Begun::Open(Rest::Routed(route.into_owned(params)))) };
    Ok(match run::begin(state, &route, &params, received, context) {
        Step::Answer(answer) => Begun::Answered(answer?),
        Step::Wait(waiting) => Begun::Open(Rest::Waiting(waiting)),
    })
}

/// The rest of the way, from where it has begun. A request is routed again only when the app that routed it is not
/// served any more.
async fn go_on(state: &State, rest: Rest, body: &mut Incoming, context: &Arc<Context>) -> Answer {
    let (mut routed, mut waiting) = match rest {
        Rest::Waiting(waiting) => (None, Some(waiting)),
        Rest::Routed(routed) => (Some(routed), None),
        Rest::Again => (None, None),
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
                // another generation of the app took over in the meantime, or has, and the dispatcher of this thread is
                // still to hear of it
                tokio::task::yield_now().await;
                let mut params = Params::new();
                match route::find(state, &mut params, context)? {
                    Routed::Answer(response) => return Ok(response),
                    Routed::To(route) => route.into_owned(params),
                }
            }
        };
        let (route, params) = &*routed;
        match run::begin(state, route, params, whole(&mut received, state, body).await?, context) {
            Step::Answer(answer) => return answer,
            Step::Wait(others) => waiting = Some(others),
        }
    }
}

/// The body, which is received when that was not done before.
async fn whole<'r>(
    received: &'r mut Option<Received>,
    state: &State,
    body: &mut Incoming,
) -> Result<&'r Received, Failure> {
    Ok(match received {
        Some(body) => body,
        // in a box of its own: the one around it, which most requests need, stays of a size that costs little to
        // allocate
        none => none.insert(Box::pin(body::receive(state, body)).await?),
    })
}

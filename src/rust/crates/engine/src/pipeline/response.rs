//! Phase 7: what every response has in common, and how what handlers and workers say becomes one.
//!
//! Runs: links of the route · the cookie that names a worker · sessions are sealed · the cache keeps it · a place for
//! an open file · failures become responses, and lines of the log · failed requests are kept · fields of policies ·
//! bodies of `HEAD`, 204, 205 and 304 are left out.

use super::end::{refuses, Answered};
use super::failed;
use super::policies;
use super::state::State;
use super::Responded;
use crate::context::Context;
use crate::natives::Settled;
use crate::respond::{failure, from_answer, from_stream, Replied};
use ::http::header::{SET_COOKIE, STRICT_TRANSPORT_SECURITY};
use ::http::{Method, StatusCode};
use admission::Late;
use exchange::Answer;
use grammar::hex;
use httpd::{may_have_content, Body, End, Failure, Incoming, Response, Role, REQUEST_ID};
use observe::metrics::Refusal;
use observe::Level;

/// The response that the client gets.
pub fn finish(state: &mut State, mut answer: Responded, body: Incoming, context: &Context) -> Response {
    // before the cache sees it: its links are kept, and a response that sets a session is one client's
    if let Ok(response) = &mut answer {
        add_links(state, response);
        keep_worker(state, response, context);
        if let Err(why) = policies::keep_session(state, response) {
            answer = Err(internal(state, context, why));
        }
    }
    let answer = match state.making.take() {
        Some(making) => {
            // one that comes packed is kept for clients that accept its coding
            let answer = answer.map(|response| policies::vary(state, response));
            making.settle(&state.head, answer)
        }
        None => answer,
    };
    let mut reason = String::new();
    let mut is_failure = false;
    let mut failed = |f: Failure| {
        is_failure = true;
        if state.watch.is_some() {
            reason = f.for_log();
        }
        failed::keep(state, f.status, Some(&f), context);
        fail(state, &f, context)
    };
    // a response is large, and moved as seldom as can be
    let mut response = match answer {
        Ok(mut response) => match take_place(state, &mut response) {
            Ok(()) => response,
            Err(f) => failed(f),
        },
        Err(f) => failed(f),
    };
    failed::keep(state, response.status, None, context);
    policies::dress(state, is_failure, &mut response, context);
    if let Some(development) = &context.development {
        development.keep_new(&state.head.method, &state.head.fields, state.head.base_path(), &mut response);
    }
    if !may_have_content(response.status) && !response.body.is_websocket() {
        response.body = Body::empty();
    }
    if state.head.method == Method::HEAD {
        without_body(&mut response);
    }
    add_hsts(state, &mut response);
    if state.connection().role() == Role::App {
        state.connection().server().common.add_to(&mut response.fields);
        name(state, &mut response);
    }
    let (status, is_websocket) = (Some(response.status.as_u16()), response.body.is_websocket());
    let (open, ending) = state.answered(Answered { status, reason, is_websocket });
    // the request ends when its body has been handed over, not when its head is; and an HTTP/2 body that was not read
    // is given up only then, as before it the client might never see the answer
    response.body = response.body.keeping(open, body.into_unread());
    response.end = ending.map(|ending| ending as Box<dyn End>);
    response
}

/// The links that the route has, where the answer is what was asked for, or leads there. A client that has the response
/// already has its links (RFC 9110 section 15.4.5).
fn add_links(state: &State, response: &mut Response) {
    let Some(links) = state.links.get() else { return };
    let status = response.status;
    if (status.is_success() || status.is_redirection()) && status != StatusCode::NOT_MODIFIED {
        links.add_to(&mut response.fields);
    }
}

/// The client's next requests are for the worker that has answered this one, where the app wants that and there is a
/// choice.
fn keep_worker(state: &State, response: &mut Response, context: &Context) {
    let Some(pid) = state.strays_to().filter(|_| context.pool().has_choice()) else { return };
    let app = context.app_for(state.head.path());
    let Some(affinity) = app.affinity.as_ref() else { return };
    if let Some(cookie) = affinity.cookie(pid, state.is_https(), state.head.base_path()) {
        response.fields.add(&SET_COOKIE, cookie);
    }
}

/// Browsers are told to come by TLS only (RFC 6797), where that is wanted. In cleartext it would mean nothing.
fn add_hsts(state: &State, response: &mut Response) {
    let connection = state.connection();
    let wanted = connection.server().tls().and_then(|tls| tls.hsts()).filter(|_| state.is_https());
    if let (Some(value), None) = (wanted, response.fields.get(&STRICT_TRANSPORT_SECURITY)) {
        response.fields.set(&STRICT_TRANSPORT_SECURITY, value);
    }
}

/// The id of the request, from a proxy or else from this server, by which its log lines can be found.
fn name(state: &State, response: &mut Response) {
    if response.fields.get(&REQUEST_ID).is_none() {
        match state.given_id() {
            Some(given) => response.fields.add(&REQUEST_ID, given),
            None => response.fields.add(&REQUEST_ID, hex::digits(state.id)),
        }
    }
}

/// What it holds until its client has taken it counts.
fn take_place(state: &State, response: &mut Response) -> Result<(), Failure> {
    if state.head.method == Method::HEAD {
        return Ok(());
    }
    response.body.take_place(state.connection().server())
}

/// What the body's length would have been, without the body. A handler that knows it may leave the body out itself.
fn without_body(response: &mut Response) {
    let body = std::mem::replace(&mut response.body, Body::empty());
    if let Some(len) = body.len().filter(|len| *len > 0).or(response.fields.said_length) {
        response.fields.length = Some(len);
    }
}

fn fail(state: &State, f: &Failure, context: &Context) -> Response {
    refuses(f);
    match f.status {
        // 404 and 405 are everyday; what a worker fails with, it has logged with its reason
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::INTERNAL_SERVER_ERROR => {}
        status if status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE => {
            state.connection().server().log.of_client(|| state.line(status, &f.for_log()));
        }
        status => state.log(Level::Warn, status, &f.for_log()),
    }
    failure(f, &context.errors, &context.app().errors, &state.head.fields, state.id)
}

/// 500, with the reason in the log.
pub fn internal(state: &State, context: &Context, why: String) -> Failure {
    state.log(Level::Error, StatusCode::INTERNAL_SERVER_ERROR, &why);
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, if context.debug { why } else { String::new() })
}

/// What a C handler that answers later has said in the end.
pub fn settled(state: &State, outcome: Settled, context: &Context) -> Responded {
    match outcome {
        Settled::Answer(answer) => answered(state, answer, context),
        Settled::Stream(head, reader) => {
            state.streams();
            from_stream(head, reader).map_err(|why| internal(state, context, why))
        }
        Settled::Lost => Err(internal(state, context, "the C handler gave no answer".into())),
        Settled::Late(late) => Err(too_late(late)),
    }
}

/// What a C handler has said.
pub fn answered(state: &State, answer: Answer, context: &Context) -> Responded {
    match answer {
        Answer::Response(response) => {
            let response = from_answer(response.head, response.body).map_err(|why| internal(state, context, why))?;
            context.errors.note(&response);
            Ok(response)
        }
        Answer::Failure { status, detail, why } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            if !why.is_empty() {
                state.log(Level::Error, status, &why);
            }
            let detail = if context.debug && !why.is_empty() { why } else { detail };
            Err(Failure::new(status, detail).of_handler())
        }
    }
}

/// What a worker has said.
pub fn replied(state: &State, replied: Replied, context: &Context) -> Responded {
    match replied {
        Replied::Response(response) => {
            context.errors.note(&response);
            Ok(response)
        }
        Replied::Failure(failure) => Err(failure),
        Replied::Wrong(why) => Err(internal(state, context, why)),
    }
}

/// What took too long.
pub fn too_late(late: Late) -> Failure {
    match late {
        Late::Waiting(over) => {
            let failure = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "waited too long in the queue");
            failure.because(over).counts_as(Refusal::QueueTimeout)
        }
        Late::Running(over) => Failure::new(StatusCode::GATEWAY_TIMEOUT, "the handler took too long").because(over),
    }
}

/// What R waits for that would have to answer it.
pub fn of_itself() -> Failure {
    let why = "the R process that would answer has made this request, and waits for the response";
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, why)
        .because("make it from another process, or serve with more `workers`")
}

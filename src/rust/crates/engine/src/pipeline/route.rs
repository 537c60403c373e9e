//! Phase 2: where the request goes. A request is routed and its path decoded once.
//!
//! Runs: the router, and that of WebSockets · policies (phase 3), before anything answers · static files · what
//! documents the app · `OPTIONS`, 405 and 404.

use super::policies::{self, Judged};
use super::response::internal;
use super::state::State;
use crate::app::{App, Target};
use crate::context::Context;
use crate::edge::auth::Question;
use crate::edge::docs::{self, Description};
use crate::pool::Current;
use crate::respond::from_asset;
use crate::websockets::WebSocketRoute;
use ::http::header::ALLOW;
use ::http::{Method, StatusCode};
use httpd::{ws, Body, Failure, Response, ResponseFields};
use observe::metrics as counted;
use router::{Match, MethodSet, Params, PathError};
use std::borrow::Cow;
use std::sync::Arc;

/// The route of requests that no route takes, when the app has a handler for them.
pub const NOT_FOUND_ROUTE: u32 = u32::MAX;

/// The route of a request, in the app that routed it. Its params are kept beside it: they are large, and each request
/// has its route moved.
pub struct Route<'p> {
    pub app: Arc<Current>,
    pub number: u32,
    /// what is at its end
    pub target: Target,
    /// that is a WebSocket
    pub websocket: Option<Arc<WebSocketRoute>>,
    /// the path, decoded
    pub path: Cow<'p, str>,
}

impl Route<'_> {
    /// The same and its params, for a request that waits for its body.
    pub fn into_owned(self, params: Params<'_>) -> Box<(Route<'static>, Params<'static>)> {
        let Route { app, number, target, websocket, path } = self;
        let params = params.into_iter().map(|value| Cow::Owned(value.into_owned())).collect();
        Box::new((Route { app, number, target, websocket, path: Cow::Owned(path.into_owned()) }, params))
    }
}

/// Where a request goes.
pub enum Routed<'p> {
    /// to the handler of this route
    To(Route<'p>),
    /// nowhere: this is the answer
    Answer(Response),
    /// nowhere yet: authentication takes long
    Ask(Question),
}

/// Routes the request in the app that is served now. Its params go into `params`, which is empty.
pub fn find<'p>(state: &'p State, params: &mut Params<'p>, context: &Context) -> Result<Routed<'p>, Failure> {
    let (head, path) = (&state.head, state.head.path());
    let app = context.app_for(path);
    if !app.websockets.is_empty() && ws::is_wanted(head) {
        if let Some(websocket) = app.websockets.find(path, params).map_err(bad_path)?.cloned() {
            state.goes_to(app.target(websocket.number).counts_for);
            match policies::judge(state, &app, Some(websocket.number), params, context, |_| MethodSet::NONE)? {
                Judged::Passes => {}
                Judged::Answer(answer) => return Ok(Routed::Answer(answer)),
                Judged::Ask(question) => return Ok(Routed::Ask(question)),
            }
            let path = router::decode(path).map_err(bad_path)?;
            let (number, target) = (websocket.number, app.target(websocket.number));
            return Ok(Routed::To(Route { app, number, target, websocket: Some(websocket), path }));
        }
    }
    if head.method == Method::CONNECT {
        return Err(Failure::new(StatusCode::NOT_FOUND, ""));
    }
    let found = app.router.find(router::Method::from_name(head.method.as_str()), path, params);
    let taker = match found {
        Match::BadPath(e) => return Err(bad_path(e)),
        Match::Found { target, .. } => {
            state.goes_to(app.target(target).counts_for);
            Some(target)
        }
        _ => None,
    };
    match policies::judge(state, &app, taker, params, context, |app| methods_of(app, state, context))? {
        Judged::Passes => {}
        Judged::Answer(answer) => return Ok(Routed::Answer(answer)),
        Judged::Ask(question) => return Ok(Routed::Ask(question)),
    }
    let number = match found {
        Match::Found { target, .. } if !app.target(target).rest => target,
        other => match app.mounts.respond(&head.method, path, &head.fields) {
            Some(Ok(asset)) => {
                state.goes_to(counted::Route::FILES);
                return from_asset(asset).map(Routed::Answer);
            }
            Some(Err(e)) => return Err(internal(state, context, format!("a static file cannot be read: {e}"))),
            None => match other {
                Match::Found { .. } | Match::NotFound if description(&app, state, context).is_some() => {
                    state.goes_to(counted::Route::SERVER);
                    return documents(&app, state, context).map(Routed::Answer);
                }
                Match::Found { target, .. } => target,
                Match::MethodNotAllowed(set) if head.method == Method::OPTIONS => {
                    return Ok(Routed::Answer(options(set)));
                }
                _ if app.websockets.find(path, params).is_ok_and(|found| found.is_some()) => {
                    return Err(ws::wanting("there is a WebSocket here, and nothing else"));
                }
                Match::MethodNotAllowed(set) => return Err(not_allowed(set)),
                _ if app.has_not_found => {
                    state.goes_to(counted::Route::NOT_FOUND);
                    NOT_FOUND_ROUTE
                }
                _ => return Err(Failure::new(StatusCode::NOT_FOUND, "")),
            },
        },
    };
    let path = router::decode(path).map_err(bad_path)?;
    let target = app.target(number);
    Ok(Routed::To(Route { app, number, target, websocket: None, path }))
}

/// The description of the app, if the request is for it or for a page that shows it, and its client may get it.
fn description<'a>(app: &'a App, state: &State, context: &Context) -> Option<&'a Description> {
    let is_for = |_: &&Description| docs::has(state.head.path()) && context.docs.for_client(&state.head);
    app.description.as_ref().filter(is_for)
}

/// What documents the app, where there is a [`description`].
fn documents(app: &App, state: &State, context: &Context) -> Result<Response, Failure> {
    let methods = MethodSet::from(router::Method::Get).allowed();
    match (&state.head.method, description(app, state, context)) {
        (&Method::GET | &Method::HEAD, Some(known)) => Ok(context.docs.answer(known, &state.head, false)),
        (&Method::OPTIONS, Some(_)) => Ok(options(methods)),
        _ => Err(not_allowed(methods)),
    }
}

/// The methods that a path has, of routes, static files or the description; none where nothing is.
fn methods_of(app: &App, state: &State, context: &Context) -> MethodSet {
    let (head, path) = (&state.head, state.head.path());
    let of_files = || match app.mounts.respond(&Method::OPTIONS, path, &head.fields) {
        Some(Ok(response)) if response.status().is_success() => MethodSet::from(router::Method::Get).allowed(),
        _ => MethodSet::NONE,
    };
    match app.router.find(router::Method::Other, path, &mut Params::new()) {
        Match::Found { .. } => MethodSet::ANY,
        Match::MethodNotAllowed(set) => set | of_files(),
        _ if app.has_not_found => MethodSet::ANY,
        _ if description(app, state, context).is_some() => MethodSet::from(router::Method::Get).allowed(),
        _ => of_files(),
    }
}

/// `TRACE` shows a client's secrets to scripts, and `CONNECT` is for proxies: no route has them, not even one for any
/// method.
pub fn refused_method(app: &App, path: &str) -> Failure {
    match app.router.find(router::Method::Other, path, &mut Params::new()) {
        Match::MethodNotAllowed(set) => not_allowed(set),
        _ => not_allowed(MethodSet::ANY),
    }
}

/// The answer to `OPTIONS`.
pub fn options(set: MethodSet) -> Response {
    let mut fields = ResponseFields::of_server(None);
    fields.add(&ALLOW, set.to_string());
    Response::new(StatusCode::NO_CONTENT, fields, Body::empty())
}

fn bad_path(e: PathError) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, e.to_string())
}

fn not_allowed(set: MethodSet) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "").with(&ALLOW, set.to_string())
}

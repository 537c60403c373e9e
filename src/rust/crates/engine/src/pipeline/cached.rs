//! Phase 4, where a cache covers the request: whether what it wants is kept, or being made for another request. What
//! becomes of the response that it gets when it is not, `edge/cache/making.rs` has, before policies add their fields in
//! phase 7.
//!
//! Runs: a response that is kept, as it is or as 304 · waiting for that of another request.

use super::route::Route;
use super::state::State;
use super::Responded;
use crate::edge::cache::{said, Cache, Flight, Found, Joined, Key, Landed, Making, Variant, Waiter};
use ::http::{Method, StatusCode};
use cache::{look, Request, Standing};
use exchange::now;
use httpd::{Failure, Response};
use std::sync::Arc;
use std::time::Duration;

/// What came of looking.
pub enum Looked {
    /// this answers it
    Answer(Responded),
    /// the same, and a new one is to be made
    Stale(Response, Option<Box<Making>>),
    /// it waits for what comes of another request
    Wait(Waiting),
    /// its handler runs
    GoOn,
}

/// A request that waits for what comes of another one.
pub struct Waiting {
    waiter: Waiter,
    cache: Arc<Cache>,
    key: Key,
    request: Request,
}

/// Looks a request up that goes to the handler of this route.
pub fn begin(state: &State, route: &Route<'_>) -> Looked {
    if route.websocket.is_some() || state.making.get().is_some() {
        return Looked::GoOn;
    }
    let head = &state.head;
    let Some(cache) = route.app.policies.cache(Some(route.number), head.path()) else { return Looked::GoOn };
    let mut request = said(head, state.connection());
    // also by a field that no cache knows of
    request.has_credentials |= state.who().is_some();
    if look(&cache.rules, &request).is_err() {
        // of what changes something, all that matters is how it ends
        if !head.method.is_safe() {
            note(state, cache, cache.key(head, state.is_https()), request, None, None);
        }
        return Looked::GoOn;
    }
    find(state, cache, request)
}

fn find(state: &State, cache: &Arc<Cache>, request: Request) -> Looked {
    let (head, now) = (&state.head, now());
    let key = cache.key(head, state.is_https());
    let found = cache.store.find(&key, &head.fields, now);
    let mut stale = None;
    if let Found::Variant(variant) = &found {
        match variant.stands(&cache.rules, &request, now) {
            Standing::Fresh(left) => return Looked::Answer(Ok(variant.give(head, now, &format!("hit; ttl={left}")))),
            Standing::Stale(ago) => {
                let refresh = match cache.join(&key, &head.fields) {
                    Joined::First(flight) => {
                        Some(Box::new(Making { cache: cache.clone(), key, request, flight: Some(flight), stale: None }))
                    }
                    Joined::Waiting(_) => None,
                };
                return Looked::Stale(variant.give(head, now, &format!("hit; ttl=-{ago}")), refresh);
            }
            Standing::IfError(_) => stale = Some(variant.clone()),
            Standing::Useless => {}
        }
    }
    if cache.rules.obey_clients && request.control.only_if_cached {
        let detail = "the request wants what is cached only, and that is not";
        return Looked::Answer(Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, detail)));
    }
    // an answer to HEAD has nothing to keep; and of somebody known, most likely nothing may be kept
    let may_share = head.method == Method::GET && (!request.has_credentials || cache.rules.credentials);
    if !may_share || matches!(found, Found::Open) {
        note(state, cache, key, request, None, stale);
        return Looked::GoOn;
    }
    match cache.join(&key, &head.fields) {
        Joined::First(flight) => {
            note(state, cache, key, request, Some(flight), stale);
            Looked::GoOn
        }
        Joined::Waiting(waiter) => Looked::Wait(Waiting { waiter, cache: cache.clone(), key, request }),
    }
}

/// What its response is for is to be seen when there is one.
fn note(
    state: &State,
    cache: &Arc<Cache>,
    key: Key,
    request: Request,
    flight: Option<Flight>,
    stale: Option<Arc<Variant>>,
) {
    let _ = state.making.set(Box::new(Making { cache: cache.clone(), key, request, flight, stale }));
}

/// Waits for what comes of another request, no longer than for its own.
pub async fn landed(state: &State, waiting: Waiting, route: &Route<'_>) -> Looked {
    let longest = route.app.queue_timeout.saturating_add(route.target.timeout);
    match tokio::time::timeout(Duration::from_millis(longest), wait(state, waiting)).await {
        Ok(looked) => looked,
        Err(_) => Looked::Answer(Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, "the handler took too long").because(
            format_args!(
                "waited for the same request of another client: over `timeout` = {} s",
                longest as f64 / 1000.0
            ),
        ))),
    }
}

async fn wait(state: &State, mut waiting: Waiting) -> Looked {
    loop {
        let Waiting { waiter, cache, key, request } = waiting;
        match waiter.landed().await {
            Landed::Kept(variant) if variant.answers(&state.head.fields) => {
                return Looked::Answer(Ok(variant.give(&state.head, now(), "fwd=miss; collapsed")));
            }
            // kept for other header fields, or the other client has left: look this request up as if it had just come
            Landed::Kept(_) | Landed::Left => match find(state, &cache, request) {
                Looked::Wait(again) => waiting = again,
                looked => return looked,
            },
            Landed::Open => return Looked::GoOn,
            Landed::Failed => {
                let now = now();
                if let Found::Variant(variant) = cache.store.find(&key, &state.head.fields, now) {
                    if let Standing::IfError(ago) = variant.stands(&cache.rules, &request, now) {
                        let response = variant.give(&state.head, now, &format!("hit; ttl=-{ago}; detail=error"));
                        return Looked::Answer(Ok(response));
                    }
                }
                return Looked::GoOn;
            }
        }
    }
}

//! Phase 4, where a cache covers the request: whether what it wants is kept, or being made for another request. What
//! becomes of the response that it gets when it is not, `edge/cache/making.rs` has, before policies add their fields in
//! phase 7.
//!
//! Runs: a response that is kept, as it is or as 304 · waiting for that of another request, or until it is packed as
//! its client accepts it · packing a new response.

use super::route::Route;
use super::state::State;
use super::Responded;
use crate::edge::cache::packed::{self, Packed};
use crate::edge::cache::{said, Cache, Flight, Found, Joined, Key, Landed, Making, Variant, Waiter};
use ::http::{Method, StatusCode};
use cache::{look, Request, Standing};
use coding::Coding;
use exchange::now;
use httpd::{Body, Failure, Response};
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

/// A request that waits for what comes of another one, or until what is kept is packed.
pub struct Waiting {
    waiter: Waiter,
    /// it does for that: it takes what there is then
    packs: bool,
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
    let covered = state.covered.get();
    let cache = covered.and_then(|covered| covered.app.policies.cache(&covered.covering));
    let Some(cache) = cache else { return Looked::GoOn };
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
    find(state, cache, request, true)
}

/// `may_pack`: it may wait until what is kept is packed.
fn find(state: &State, cache: &Arc<Cache>, request: Request, may_pack: bool) -> Looked {
    let (head, now) = (&state.head, now());
    let key = cache.key(head, state.is_https());
    let found = cache.store.find(&key, &head.fields, now);
    let mut stale = None;
    if let Found::Variant(variant) = &found {
        match variant.stands(&cache.rules, &request, now) {
            Standing::Fresh(left) => {
                if let Some(waiter) = pack(state, cache, &key, variant).filter(|_| may_pack) {
                    return Looked::Wait(Waiting { waiter, packs: true, cache: cache.clone(), key, request });
                }
                return Looked::Answer(Ok(give(state, variant, now, &format!("hit; ttl={left}"))));
            }
            Standing::Stale(ago) => {
                let refresh = match cache.join(&key, &head.fields) {
                    Joined::First(flight) => {
                        let cache = cache.clone();
                        let flight = Some(flight);
                        Some(Box::new(Making { cache, key, request, flight, stale: None, packed: None }))
                    }
                    Joined::Waiting(_) => None,
                };
                return Looked::Stale(give(state, variant, now, &format!("hit; ttl=-{ago}")), refresh);
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
        Joined::Waiting(waiter) => Looked::Wait(Waiting { waiter, packs: false, cache: cache.clone(), key, request }),
    }
}

/// What is kept, as the client accepts it and it is here.
fn give(state: &State, variant: &Variant, now: u64, status: &str) -> Response {
    let accepted = state.wanted().map_or(&[][..], |wanted| &wanted.accepted);
    variant.give(&state.head, accepted, now, status)
}

/// Has what is kept packed in the coding that the client likes best, where that was not done before. What to wait for
/// then; not for brotli.
fn pack(state: &State, cache: &Arc<Cache>, key: &Key, variant: &Arc<Variant>) -> Option<Waiter> {
    let wanted = state.wanted()?;
    for coding in wanted.accepted.iter().copied() {
        match variant.codings.of(coding) {
            Packed::Is(_) => return None,
            Packed::Useless => {}
            Packed::NotYet if !wanted.allows(variant.status, &variant.fields, variant.body.len() as u64) => {
                return None
            }
            Packed::NotYet => {
                let waiter = cache.pack(key, variant, coding, wanted.level(coding));
                if coding != Coding::Brotli {
                    return waiter;
                }
            }
        }
    }
    None
}

/// Whether this answer to a request is packed by [`pack_new`].
pub fn packs(state: &State, response: &Response) -> bool {
    state.making.get().is_some_and(|making| making.packs()) && state.wanted().is_some() && response.body.is_own()
}

/// Packs the answer to a request that others wait for, or that may be given later: it is kept as it is, and packed.
pub async fn pack_new(state: &mut State, response: &mut Response) {
    let Some(wanted) = state.wanted() else { return };
    let Some((coding, level)) = wanted.whole() else { return };
    let len = response.body.len().unwrap_or(u64::MAX);
    if !wanted.allows(response.status, &response.fields, len) {
        return;
    }
    let Some(making) = state.making.get_mut() else { return };
    // what is too long to be kept is sent as it is, this once: for the next minute, workers pack it
    let Some(body) = response.body.read(making.cache.store.longest() as u64) else { return };
    response.body = Body::bytes(body.clone());
    if let Some(asked) = packed::ask(body, coding, level) {
        making.packed = asked.await.map(|packed| (coding, packed));
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
    let making = Making { cache: cache.clone(), key, request, flight, stale, packed: None };
    let _ = state.making.set(Box::new(making));
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
        let Waiting { waiter, packs, cache, key, request } = waiting;
        match waiter.landed().await {
            Landed::Kept(mut variant) if !packs && variant.answers(&state.head.fields) => {
                if let Some(waiter) = pack(state, &cache, &key, &variant) {
                    if let Landed::Kept(packed) = waiter.landed().await {
                        variant = packed;
                    }
                }
                return Looked::Answer(Ok(give(state, &variant, now(), "fwd=miss; collapsed")));
            }
            // it is packed; kept for other header fields; or the other client has left: look this request up as if it
            // had just come
            Landed::Kept(_) | Landed::Left => match find(state, &cache, request, !packs) {
                Looked::Wait(again) => waiting = again,
                looked => return looked,
            },
            Landed::Open => return Looked::GoOn,
            Landed::Failed => {
                let now = now();
                if let Found::Variant(variant) = cache.store.find(&key, &state.head.fields, now) {
                    if let Standing::IfError(ago) = variant.stands(&cache.rules, &request, now) {
                        let response = give(state, &variant, now, &format!("hit; ttl=-{ago}; detail=error"));
                        return Looked::Answer(Ok(response));
                    }
                }
                return Looked::GoOn;
            }
        }
    }
}

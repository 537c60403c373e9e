//! Phase 3: what the app's policies say of a request, when it is known where it goes and nothing of its body has been
//! read. And the fields that they add to its response, in phase 7, wherever that came from.
//!
//! Runs, in this order: the answer to a pre-flight · limits, all of them at once · the guard against requests of other
//! sites' pages · whether the body can be unpacked · the paths of logins, and authentication · limits by authenticated
//! client. Cheap checks come before costly ones: a limit by address bounds how many passwords a client may guess.

use super::state::{Counted, Covered, Passed, State};
use crate::app::App;
use crate::context::Context;
use crate::edge::auth::{Question, Verdict};
use crate::edge::counts::Standings;
use crate::edge::limits::{self, Asking, Limit};
use crate::edge::policies::{Covering, Policies};
use crate::edge::session::{Opened, Session};
use crate::edge::{cors, counts::Charge};
use crate::pool::Current;
use admission::rate::Refused;
use exchange::now;
use http::header::CONTENT_ENCODING;
use httpd::{ws, Failure, Response};
use router::{MethodSet, Params};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// What policies say of a request.
pub enum Judged {
    /// nothing against it
    Passes,
    /// it is answered
    Answer(Response),
    /// authentication takes long; the policies are asked again after it
    Ask(Question),
}

/// Judges a request that this route takes, if one does.
///
/// A request that is routed a second time, by another generation of the app, is not judged again.
///
/// # Errors
/// When it is refused.
pub fn judge(
    state: &State,
    app: &Arc<Current>,
    route: Option<u32>,
    params: &Params<'_>,
    context: &Context,
    methods: impl FnOnce(&App) -> MethodSet,
) -> Result<Judged, Failure> {
    let head = &state.head;
    let covered = match state.covered.get() {
        None if app.policies.is_empty() => return Ok(Judged::Passes),
        None => {
            if cors::is_preflight(head) {
                // what is asked is what other methods of the path may do: no matter what takes `OPTIONS`
                if let Some(cors) = app.policies.cors(&app.policies.covering(None, head.path())) {
                    return Ok(Judged::Answer(cors.preflight(head, methods(app))));
                }
            }
            None
        }
        Some(covered) if covered.passed.get().is_some() => return Ok(Judged::Passes),
        // the authentication has ended
        Some(covered) => Some(covered),
    };
    let (app, route) = covered.map_or((app, route), |covered| (&covered.app, covered.route));
    let policies = &app.policies;
    let mut asking = Asking { head, client: state.client(), route, params, who: None };
    let covered = match covered {
        Some(covered) => covered,
        None => {
            let covering = policies.covering(route, head.path());
            let (standings, refused) = charge(policies, &covering, &asking, false);
            // a page that is worked on gets a script from the server, which has to find its place in it
            let wanted = policies.compress(&covering).filter(|_| context.development.is_none());
            let asks_who = policies.auth(&covering).is_some();
            let wanted = wanted.and_then(|compress| compress.wanted(head, state.connection(), asks_who));
            let decompress = policies.decompress(&covering);
            let decoding = decompress.map_or(Ok(None), |decompress| decompress.judge(head));
            let covered = Covered {
                app: app.clone(),
                route,
                covering,
                standings,
                wanted,
                decoding: decoding.as_ref().map_or(None, |decoding| *decoding),
                passed: OnceLock::new(),
                renewal: OnceLock::new(),
            };
            let covered = state.covered.get_or_init(|| covered);
            if let Some(refused) = refused {
                return Err(refused);
            }
            // a handshake says by itself which pages may open a WebSocket
            if let Some(csrf) = policies.csrf(&covered.covering).filter(|_| !ws::is_wanted(head)) {
                csrf.judge(head)?;
            }
            decoding?;
            covered
        }
    };
    let heard = state.heard.get();
    let verdict = match (policies.login(head.path()), policies.auth(&covered.covering), heard) {
        (Some((login, place)), ..) => login.answer(place, head, state.is_https(), heard, seconds())?,
        (None, None, _) => Verdict::Passes(None),
        (None, Some(auth), Some(heard)) => Verdict::Passes(Some(auth.decide(heard)?)),
        (None, Some(auth), None) => auth.judge(head, state.client(), state.is_https(), seconds())?,
    };
    let who = match verdict {
        Verdict::Passes(who) => who,
        Verdict::Ask(question) => return Ok(Judged::Ask(question)),
        Verdict::Answer(answer) => return Ok(Judged::Answer(answer)),
    };
    asking.who = who.as_deref();
    let (standings, refused) = charge(policies, &covered.covering, &asking, true);
    let _ = covered.passed.set(Passed { who, standings });
    refused.map_or(Ok(Judged::Passes), Err)
}

/// Counts a request by those of the limits that need the authenticated client, or by all others. How the client stands,
/// and whether one of them refuses it.
fn charge(
    policies: &Policies,
    covering: &Covering,
    asking: &Asking<'_, '_>,
    by_who: bool,
) -> (Counted, Option<Failure>) {
    let charges = policies.limits(covering).filter(|limit| limit.needs_who() == by_who);
    let charges: SmallVec<[Charge; 2]> = charges.map(|limit| limit.charge(asking)).collect();
    if charges.is_empty() {
        return (Counted::new(), None);
    }
    let counted = policies.store().admit(&charges, now());
    let standings = charges
        .iter()
        .zip(&counted)
        .map(|(charge, counted)| (charge.limit, counted.map_or_else(|refused| refused.standing, |standing| standing)));
    let refusal = refused(policies, &charges, &counted).map(|(limit, refused)| limit.refusal(refused.retry));
    (standings.collect(), refusal)
}

/// What the app keeps with the client of a request, and has got back with it.
pub fn session(state: &State) -> Option<Vec<u8>> {
    let Opened { text, renewed_until } = session_of(state)?.open(&state.head, seconds())?;
    if let (Some(covered), Some(until)) = (state.covered.get(), renewed_until) {
        let _ = covered.renewal.set(Box::new((text.clone(), until)));
    }
    Some(text)
}

/// Takes out of a response what a handler wants kept with its client, and seals it into a cookie; or renews the one
/// that the client has.
///
/// # Errors
/// A text for the log, when there is no session here, or it is too long.
pub fn keep_session(state: &State, response: &mut Response) -> Result<(), String> {
    let Some(text) = response.fields.aside.take() else {
        let renewal = state.covered.get().and_then(|covered| covered.renewal.get());
        if let (Some(renewal), Some(session)) = (renewal, session_of(state)) {
            let (text, until) = &**renewal;
            session.renew(text, *until, seconds(), state.head.base_path(), &mut response.fields);
        }
        return Ok(());
    };
    let session = session_of(state).ok_or("a session is set, and no dr_session() covers this path")?;
    session.keep(&text, seconds(), state.head.base_path(), &mut response.fields)
}

fn session_of(state: &State) -> Option<&Session> {
    let Covered { app, covering, .. } = state.covered.get()?;
    app.policies.session(covering)
}

/// Since 1970: what tokens and cookies are dated by.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The limit that refuses a request for the longest time.
fn refused<'a>(policies: &'a Policies, charges: &[Charge], counted: &Standings) -> Option<(&'a Limit, Refused)> {
    let refused = charges.iter().zip(counted).filter_map(|(charge, counted)| Some((charge, counted.err()?)));
    let (charge, longest) = refused.max_by_key(|(_, refused)| refused.retry)?;
    Some((policies.limit(charge.limit)?, longest))
}

/// Adds to a response what policies say of it. `failed`: it was made of a failure.
pub fn dress(state: &State, failed: bool, response: &mut Response, context: &Context) {
    match state.covered.get() {
        Some(Covered { app, covering, standings, passed, .. }) => {
            add_fields(&app.policies, covering, state, response);
            let by_who = passed.get().map(|passed| &passed.standings);
            let standings = standings.iter().chain(by_who.into_iter().flatten());
            let standings = standings.filter_map(|(limit, standing)| Some((app.policies.limit(*limit)?, *standing)));
            limits::describe(standings, &mut response.fields);
        }
        // refused before it was routed; otherwise there is none, or it was a pre-flight, whose answer is whole
        None if failed => {
            let policies = &context.app().policies;
            add_fields(policies, &policies.covering(None, state.head.path()), state, response);
        }
        None => {}
    }
}

/// The response, which says what of the request it depends on: before it is kept for others. One that is not packed yet
/// does not depend on what clients accept.
pub fn vary(state: &State, mut response: Response) -> Response {
    if response.fields.get(&CONTENT_ENCODING).is_none() {
        return response;
    }
    if let Some(Covered { app, covering, .. }) = state.covered.get() {
        if let Some(compress) = app.policies.compress(covering) {
            compress.dress(&mut response);
        }
    }
    response
}

fn add_fields(policies: &Policies, covering: &Covering, state: &State, response: &mut Response) {
    // a WebSocket belongs to the page that has opened it, and to no cache
    if response.body.is_websocket() {
        return;
    }
    if let Some(auth) = policies.auth(covering) {
        auth.dress(&mut response.fields);
    }
    if let Some(cors) = policies.cors(covering) {
        cors.dress(&state.head, &mut response.fields);
    }
    if let Some(unless_set) = policies.unless_set(covering) {
        unless_set.dress(&mut response.fields);
    }
    if let Some(compress) = policies.compress(covering) {
        compress.dress(response);
    }
}

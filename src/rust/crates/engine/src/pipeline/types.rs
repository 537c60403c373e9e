//! Phase 5: whether the request is what its route declares.
//!
//! Runs: the types of params and of the body. A request that does not have them is refused, and no handler runs.

use super::route::Route;
use super::state::State;
use crate::edge::types::{Looked, Looking};
use httpd::{Failure, Received};
use router::Params;

/// Holds the request against what its route declares. `Some` while a long body is being looked at.
pub fn judge(
    state: &State,
    route: &Route<'_>,
    params: &Params<'_>,
    body: &Received,
) -> Result<Option<Looking>, Failure> {
    let Some(types) = route.app.types(route.number) else { return Ok(None) };
    match types.judge(&state.head, params, body, route.app.bounds)? {
        Looked::Fits => Ok(None),
        Looked::Later(looking) => Ok(Some(looking)),
    }
}

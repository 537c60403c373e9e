//! Calls handlers of drover's interface on the thread that has the request. Neighbours: `pool`, which calls the others;
//! `direct`, what they are given.

use crate::abi::Handler;
use crate::direct::Direct;
use crate::registry::{self, Registry};
use crate::{api, guard};
use exchange::{Answer, RequestView, Sink};
use std::sync::Arc;

/// Calls the handler `number`, whose function this is. `None` when the answer comes by way of the sink of `later`.
pub fn call(
    function: Handler,
    number: u32,
    registry: &Arc<Registry>,
    request: &dyn RequestView,
    later: &mut dyn FnMut() -> Arc<dyn Sink>,
) -> Option<Answer> {
    let Some(entry) = registry.entry(number) else { return Some(registry::unknown()) };
    let direct = Direct::new(number, registry, request, Some(later));
    // SAFETY: function and data are those of one spec; the address is good until the call returns.
    let outcome = unsafe { guard::handler(function, direct.address(), &api::TABLE, entry.data()) };
    direct.returned(outcome)
}

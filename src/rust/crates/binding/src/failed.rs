//! Failed requests that the server of this session keeps, as texts of JSON for R. Neighbours: `engine::failed`, which
//! has them; `src/service.c`, R/failed.R.

use crate::lent::lent;
use crate::node::Str;
use crate::service::RunningService;
use crate::session::Session;
use crate::shield::shield;
use engine::Gauge;

/// With an id, that request; without one, a line about each.
fn text(gauge: &Gauge, id: &[u8]) -> Option<String> {
    if id.is_empty() {
        return sonic_rs::to_string(&gauge.failed()?).ok();
    }
    let id = u64::from_str_radix(std::str::from_utf8(id).ok()?, 16).ok()?;
    sonic_rs::to_string(&gauge.failed_request(id)?).ok()
}

/// The failed requests of the server of this session, whichever it has: an array of JSON with a line about each, or for
/// an `id` that one. NA when there is none.
///
/// # Safety
/// `service` and `session` are live or null; the text of `id` is C's for the call. The answer lives until the next one.
#[no_mangle]
pub unsafe extern "C" fn drv_failed_requests(service: *const RunningService, session: *const Session, id: Str) -> Str {
    // SAFETY: the caller's.
    let (service, session, id) = unsafe { (service.as_ref(), session.as_ref(), id.as_bytes()) };
    shield(Str::NA, || lent(service, session, |gauge| text(gauge, id)))
}

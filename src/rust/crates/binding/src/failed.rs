//! Failed requests that the server of this session keeps, as texts of JSON for R. Neighbours: `engine::failed`, which
//! has them; `src/service.c`, R/failed.R.

use crate::node::Str;
use crate::service::RunningService;
use crate::session::Session;
use crate::shield::shield;
use engine::Gauge;
use std::cell::RefCell;

thread_local! {
    /// What C reads, until the next call.
    static TEXT: RefCell<String> = RefCell::default();
}

/// With an id, that request; without one, a line about each.
fn text(gauge: &Gauge, id: &[u8]) -> Option<String> {
    if id.is_empty() {
        return sonic_rs::to_string(&gauge.failed()?).ok();
    }
    let id = u64::from_str_radix(std::str::from_utf8(id).ok()?, 16).ok()?;
    sonic_rs::to_string(&gauge.failed_request(id)?).ok()
}

fn lent(text: Option<String>) -> Str {
    TEXT.with_borrow_mut(|here| {
        *here = text.unwrap_or_default();
        if here.is_empty() {
            Str::NA
        } else {
            Str::new(here.as_bytes())
        }
    })
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
    shield(Str::NA, || {
        let of_session = || session.and_then(|session| text(&session.gauge(), id));
        lent(service.and_then(|service| text(service.gauge(), id)).or_else(of_session))
    })
}

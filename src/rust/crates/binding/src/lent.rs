//! Texts, most of them about the server of this session, which C reads and copies. Neighbours: `failed` and `jobs`,
//! whose they are.

use crate::node::Str;
use crate::service::RunningService;
use crate::session::Session;
use engine::Gauge;
use std::cell::RefCell;

thread_local! {
    /// What C reads, until the next call.
    static TEXT: RefCell<String> = RefCell::default();
}

/// What `text` says of the server of this session, whichever it has; NA for nothing. It lives until the next call.
pub(crate) fn lent(
    service: Option<&RunningService>,
    session: Option<&Session>,
    text: impl Fn(&Gauge) -> Option<String>,
) -> Str {
    let of_session = || session.and_then(|session| text(&session.gauge()));
    lend(service.and_then(|service| text(service.gauge())).or_else(of_session))
}

/// This text; NA for nothing. It lives until the next call.
pub(crate) fn lend(text: Option<String>) -> Str {
    TEXT.with_borrow_mut(|here| {
        *here = text.unwrap_or_default();
        if here.is_empty() {
            Str::NA
        } else {
            Str::new(here.as_bytes())
        }
    })
}

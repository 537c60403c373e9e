//! Phase 1, before anything is known but the header section.
//!
//! Runs: checks of the fields that both versions share · refusal of hosts that are not the server's · `OPTIONS *` ·
//! refusal of `TRACE` and `CONNECT`.

use super::route::{options, refused_method};
use super::state::State;
use crate::context::Context;
use ::http::header::HOST;
use ::http::{Method, StatusCode};
use httpd::{check_fields, ws, Failure, Response, Role};
use router::MethodSet;

/// What is said to whoever asks for another host (RFC 9110 section 15.5.20), and to whom that should not happen.
const NOT_OURS: &str = "the host is none of this server's: ask by number or as localhost, or name the host in \
    allowed_hosts (--allowed-hosts)";

/// The response, if the request needs no route; or why it gets none.
pub fn check(state: &State, context: &Context) -> Result<Option<Response>, Failure> {
    let head = &state.head;
    check_fields(head, &state.connection().server().limits)?;
    let host = head.fields.get(&HOST).unwrap_or_default();
    // whoever has the address for whoever runs the server guards it, and so does the dashboard
    if state.connection().role() == Role::App && !context.hosts.allows(host) {
        return Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, NOT_OURS).because(host.escape_ascii()));
    }
    if head.path() == "*" {
        return server_wide(&head.method).map(Some);
    }
    if matches!(head.method, Method::CONNECT | Method::TRACE) && !ws::is_wanted(head) {
        let refused = refused_method(&context.app(), head.path());
        // what comes behind CONNECT may be meant for whoever is at the other end of the tunnel
        return Err(Failure { close: head.method == Method::CONNECT, ..refused });
    }
    Ok(None)
}

/// `OPTIONS *` asks about the server as a whole (RFC 9110 section 9.3.7); no other method has such a target.
fn server_wide(method: &Method) -> Result<Response, Failure> {
    match *method {
        Method::OPTIONS => Ok(options(MethodSet::ANY)),
        _ => Err(Failure::new(StatusCode::BAD_REQUEST, "the target * is for OPTIONS only")),
    }
}

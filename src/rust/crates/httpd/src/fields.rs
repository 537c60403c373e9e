//! Checks of a request that came through HTTP/2, whose header section the library reads, and of what both versions
//! share.

use super::h1::{expectations, is_continue, is_host_of_request, is_target};
use crate::connection::Connection;
use crate::head::{Head, Version};
use crate::response::Failure;
use crate::underscores;
use admission::Limits;
use http::header::{EXPECT, HOST};
use http::StatusCode;

/// What stands beside a name and its value in a header section of HTTP/1.1, where sizes are counted: `: ` and CR LF.
const BETWEEN: usize = 4;

/// What is done to a header section before anybody looks at it: names with `_` are settled, and a long one takes room.
///
/// # Errors
/// The failure to answer with.
pub fn admit(head: &mut Head, connection: &Connection) -> Result<(), Failure> {
    underscores::settle(head, connection)?;
    head.take_room(&connection.server().budget)
}

/// Whether the request may go on to the router.
///
/// # Errors
/// The failure to answer with.
pub fn check(request: &Head, limits: &Limits) -> Result<(), Failure> {
    // RFC 9110 section 10.1.1
    if !request.fields.all(&EXPECT).flat_map(expectations).all(is_continue) {
        return Err(Failure::new(StatusCode::EXPECTATION_FAILED, ""));
    }
    if request.version == Version::Http2 {
        http2(request, limits)?;
    }
    Ok(())
}

fn bad(why: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, why)
}

fn http2(request: &Head, limits: &Limits) -> Result<(), Failure> {
    if request.target().len() > limits.max_request_line {
        let failure = Failure::new(StatusCode::URI_TOO_LONG, "request target too long");
        return Err(failure.over("max_request_line", limits.max_request_line));
    }
    // a fragment is the library's to drop
    if !request.target().bytes().all(is_target) {
        return Err(bad("malformed request target"));
    }
    let fields = &request.fields;
    // RFC 9113 section 8.3.1: a request names its authority, which is its Host here, or has Host
    let mut hosts = fields.all(&HOST);
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => return Err(bad("repeated Host")),
        (None, _) => return Err(bad("missing :authority")),
        (Some(host), None) if !is_host_of_request(host) => return Err(bad("malformed :authority")),
        _ => {}
    }
    let too_large = |why| Failure::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, why);
    if fields.len() > limits.max_headers {
        return Err(too_large("too many header fields").over("max_headers", limits.max_headers));
    }
    let mut size = 0;
    for (name, value) in fields.iter() {
        if name.len() + value.len() > limits.max_header_field {
            return Err(too_large("header field too long").over("max_header_field", limits.max_header_field));
        }
        size += name.len() + value.len() + BETWEEN;
    }
    if size > limits.max_header_size {
        return Err(too_large("header section too large").over("max_header_size", limits.max_header_size));
    }
    Ok(())
}

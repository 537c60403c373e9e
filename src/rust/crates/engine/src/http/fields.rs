//! Checks of a request that came through HTTP/2, where no header section goes by as text, and of what both versions share.

use super::audit::is_host;
use crate::respond::Failure;
use admission::Limits;
use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Version};

/// Whether the request may go on to the router.
///
/// # Errors
/// The failure to answer with.
pub fn check(request: &Parts, limits: &Limits) -> Result<(), Failure> {
    if matches!(request.method, Method::CONNECT | Method::TRACE) {
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, ""));
    }
    if request.version == Version::HTTP_2 {
        http2(request, limits)?;
    }
    Ok(())
}

fn bad(why: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, why)
}

fn http2(request: &Parts, limits: &Limits) -> Result<(), Failure> {
    let uri = &request.uri;
    if uri.path().len() + uri.query().map_or(0, str::len) > limits.max_request_line {
        return Err(Failure::new(StatusCode::URI_TOO_LONG, ""));
    }
    let headers = &request.headers;
    // RFC 9113 section 8.3.1: a request names its authority, or has Host
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (uri.authority(), hosts.next(), hosts.next()) {
        (_, _, Some(_)) => return Err(bad("repeated Host")),
        (Some(a), _, _) => a.as_str().as_bytes(),
        (None, Some(host), None) => host.as_bytes(),
        (None, None, None) => return Err(bad("missing :authority")),
    };
    if !is_host(host) {
        return Err(bad("malformed :authority"));
    }
    header_fields(headers, limits)
}

fn header_fields(headers: &HeaderMap, limits: &Limits) -> Result<(), Failure> {
    let too_large = |why| Failure::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, why);
    if headers.len() > limits.max_headers {
        return Err(too_large("too many header fields"));
    }
    for (name, value) in headers {
        if name.as_str().contains('_') {
            return Err(bad("header name with an underscore"));
        }
        if name.as_str().len() + value.len() > limits.max_header_field {
            return Err(too_large("header field too long"));
        }
    }
    Ok(())
}

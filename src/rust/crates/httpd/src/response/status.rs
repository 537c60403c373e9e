//! What the status of a response says of it.

use http::StatusCode;

/// The status, when it is one that ends an exchange.
///
/// # Errors
/// That it is not.
pub fn is_final(status: u16) -> Result<StatusCode, String> {
    match StatusCode::from_u16(status) {
        Ok(s) if !s.is_informational() => Ok(s),
        _ => Err(format!("the handler's status {status} is not a final one")),
    }
}

/// Whether responses of this status end with their head (RFC 9112 section 6.3): nothing is said of a body.
pub fn is_bodiless(status: StatusCode) -> bool {
    status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Whether responses of this status may have content, should the handler give any (RFC 9110 section 15). A 205 still
/// has a length, 0.
pub fn may_have_content(status: StatusCode) -> bool {
    !is_bodiless(status) && status != StatusCode::RESET_CONTENT
}

/// What a status is called in the registry of IANA, with the teapot of RFC 2324; `None` for those that have no name.
/// The one table: status lines, error pages and R have it from here.
pub fn phrase(status: u16) -> Option<&'static str> {
    Some(match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        510 => "Not Extended",
        511 => "Network Authentication Required",
        _ => return None,
    })
}

/// The same, and for a status without a name that of its class, which it may be taken for (RFC 9110 section 15).
pub fn phrase_or_class(status: u16) -> &'static str {
    phrase(status).or_else(|| phrase(status / 100 * 100)).unwrap_or("Error")
}

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

/// Whether responses of this status may have content, whatever the handler gave (RFC 9110 section 15). What a 205 does
/// not have has a length, 0.
pub fn may_have_content(status: StatusCode) -> bool {
    !is_bodiless(status) && status != StatusCode::RESET_CONTENT
}

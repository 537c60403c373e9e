//! Why a field of a request cannot be had.

use fields::FieldError;

/// Why a field cannot be had: a status and words for the client.
pub(super) struct Fault {
    pub(super) status: u16,
    pub(super) message: String,
}

impl Fault {
    pub(super) const GONE: Fault = Fault { status: 500, message: String::new() };

    pub(super) fn new(status: u16, message: String) -> Self {
        Fault { status, message }
    }
}

impl From<FieldError> for Fault {
    fn from(e: FieldError) -> Self {
        Fault::new(e.status(), e.to_string())
    }
}

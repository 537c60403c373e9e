//! What the fuzz targets of `tests/fuzz` see of this crate and of `httpd`. Compiled with the feature `fuzzing` only; no
//! part of their interfaces.

use crate::respond::from_reply;
use bytes::Bytes;
use http::Method;
use httpd::Fields;

pub use crate::config::ErrorFormat;
pub use crate::respond::{failure, ErrorBodies, OwnErrors, Replied};
pub use exchange::pipe;
pub use httpd::fuzzing::*;
pub use httpd::{Body, Failure, Head, Response, ResponseFields, Version};

/// What the reply of a worker comes to, of which no file is at hand.
pub fn replied(message: Bytes) -> Replied {
    from_reply(message, None, &Method::GET, &Fields::default())
}

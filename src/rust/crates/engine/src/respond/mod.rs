//! From an answer to a response: bodies, errors, files, replies of handlers.

mod answer;
mod asset;
mod body;
mod error;
mod pipe;
mod reply;

pub use answer::{from_answer, from_stream};
pub use asset::from_asset;
pub use body::Body;
pub use error::{failure, plain_head, Failure};
pub use pipe::{pipe, PipeReader, PipeWriter, Reading, Written};
pub use reply::{discard, from_head, from_reply, Replied};
use reply::{fields, is_bodiless, is_final};

use http::header::X_CONTENT_TYPE_OPTIONS;
use http::{HeaderMap, HeaderValue};

/// A response on its way out.
pub type Response = http::Response<Body>;

// made by the compiler, not for each response
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// No response is to be taken for another type than it says.
pub(crate) fn add_nosniff(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
}

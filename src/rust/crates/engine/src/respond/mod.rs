//! From an answer to a response: bodies, errors, files, replies of handlers.

mod answer;
mod asset;
mod body;
mod error;
mod fields;
mod pipe;
mod reply;
mod status;

pub use answer::{from_answer, from_stream};
pub use asset::from_asset;
pub use body::Body;
pub use error::{failure, plain_head, ErrorBodies, Failure};
pub use fields::ResponseFields;
pub use pipe::{pipe, PipeReader, PipeWriter, Reading, Written};
pub use reply::{from_head, from_reply, Replied};
pub use status::{is_bodiless, may_have_content, phrase, phrase_or_class};

use http::StatusCode;

/// A response on its way out.
pub struct Response {
    pub status: StatusCode,
    pub fields: ResponseFields,
    pub body: Body,
}

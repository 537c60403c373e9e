//! A response on its way out: what it is made of, and what it has to be for a client to read it.

mod body;
mod failure;
mod fields;
mod status;

pub use body::Body;
pub use failure::Failure;
pub use fields::ResponseFields;
pub use status::{is_bodiless, is_final, may_have_content, phrase, phrase_or_class};

use http::StatusCode;

/// See the module.
pub struct Response {
    /// a final one
    pub status: StatusCode,
    /// without those that frame the message
    pub fields: ResponseFields,
    /// what follows
    pub body: Body,
}

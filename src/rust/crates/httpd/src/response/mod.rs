//! A response on its way out: what it is made of, and what it has to be for a client to read it.

mod body;
mod common;
mod end;
mod failure;
mod fields;
mod status;

pub use body::Body;
pub use common::CommonFields;
pub use end::{End, Sent};
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
    /// receives the report of its end, if there is to be one
    pub end: Option<Box<dyn End>>,
}

impl Response {
    /// A response whose end is not reported.
    pub fn new(status: StatusCode, fields: ResponseFields, body: Body) -> Self {
        Response { status, fields, body, end: None }
    }
}

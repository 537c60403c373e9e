//! HTTP/1.1 (RFC 9112), as strict as a server behind proxies has to be.
//!
//! `head`, `target` and `body` read, `encode` writes, `connection` is the order of it all, on a
//! [`crate::transport::Transport`].

mod body;
mod connection;
mod encode;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod head;
mod target;
#[cfg(test)]
mod tests;

pub use body::{BodyReader, Piece};
pub use connection::{Ended, Http1Connection, Switched};
pub use head::{expectations, is_continue, HeadReader};
pub use target::{is_host, is_host_of_request, is_target};

use crate::response::Failure;
use http::StatusCode;
use std::borrow::Cow;

/// Why bytes are refused: an HTTP status and words for the log and the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// 4xx or 5xx
    pub status: u16,
    /// what was wrong
    pub why: Cow<'static, str>,
    /// the setting that it is over, and its value
    pub over: Option<(&'static str, u64)>,
}

const fn refuse(status: u16, why: &'static str) -> Refusal {
    Refusal { status, why: Cow::Borrowed(why), over: None }
}

/// The same of what is over a setting, which the log names.
const fn refuse_over(status: u16, why: &'static str, setting: &'static str, most: u64) -> Refusal {
    Refusal { status, why: Cow::Borrowed(why), over: Some((setting, most)) }
}

/// A body is longer than allowed, however it is sent.
pub fn too_large(max_body: u64) -> Refusal {
    let why = Cow::Owned(format!("the body may have at most {max_body} bytes"));
    Refusal { status: 413, why, over: Some(("max_body", max_body)) }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
        let failure = Failure::new(status, refusal.why).closing();
        match refusal.over {
            Some((setting, most)) => failure.over(setting, most),
            None => failure,
        }
    }
}

//! What a handler answers.

use bytes::Bytes;
use std::borrow::Cow;

/// Status and header fields of a response, as the handler gave them: the sender checks them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// a final status, 200 to 599
    pub status: u16,
    /// `None` for none. Borrowed, for the usual ones, costs nothing.
    pub content_type: Option<Cow<'static, [u8]>>,
    /// further fields: names and values
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// status and header fields
    pub head: Head,
    /// the body
    pub body: Bytes,
}

/// What came of a handler that was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// a response
    Response(Response),
    /// it failed: the server makes an error of this status
    Failure {
        /// 4xx or 5xx
        status: u16,
        /// for the client
        detail: Cow<'static, str>,
        /// for the log; empty when the handler meant it so
        why: Cow<'static, str>,
    },
}

//! Answers that the server makes of its own state, which no cache is to keep.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use httpd::{Body, Response, ResponseFields};

/// A response of this content type that no cache stores.
pub fn unstored(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response {
    unstored_as(status, &HeaderValue::from_static(kind), body)
}

/// The same, of a content type that is found out.
pub fn unstored_as(status: StatusCode, kind: &HeaderValue, body: impl Into<Bytes>) -> Response {
    let mut fields = ResponseFields::default();
    fields.set(&CONTENT_TYPE, kind);
    fields.set(&CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Response::new(status, fields, Body::bytes(body))
}

/// The same, of plain text.
pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Response {
    unstored(status, "text/plain; charset=utf-8", body)
}

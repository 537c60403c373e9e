//! The response that a C handler of this process answers with. What it set is checked as that of a worker is: see `reply`.

use super::{fields, is_bodiless, is_final, Body, PipeReader, Response};
use bytes::Bytes;
use exchange::Head;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use std::borrow::Cow;

/// The response of this head and body, or why there can be none.
pub fn from_answer(head: Head, body: Bytes) -> Result<Response, String> {
    with_body(head, Body::bytes(body))
}

/// The response of this head, whose body is still to come.
pub fn from_stream(head: Head, body: PipeReader) -> Result<Response, String> {
    with_body(head, Body::pipe(body))
}

fn with_body(head: Head, body: Body) -> Result<Response, String> {
    let status = is_final(head.status)?;
    let mut headers = HeaderMap::with_capacity(4);
    if let Some(content_type) = head.content_type {
        let bytes = match content_type {
            Cow::Borrowed(text) => Bytes::from_static(text),
            Cow::Owned(text) => text.into(),
        };
        let value = HeaderValue::from_maybe_shared(bytes).map_err(|_| "the handler set an invalid content type")?;
        headers.insert(CONTENT_TYPE, value);
    }
    fields(head.headers.iter().map(|(name, value)| (&name[..], &value[..])), &mut headers)?;
    let mut response = Response::new(if is_bodiless(status) { Body::empty() } else { body });
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    fn head(status: u16, content_type: &'static [u8]) -> Head {
        Head { status, content_type: Some(Cow::Borrowed(content_type)), headers: Vec::new() }
    }

    #[test]
    fn only_final_statuses_and_valid_fields_pass() {
        let answer = |head| from_answer(head, Bytes::from_static(b"x"));
        assert!(answer(head(99, b"a/b")).is_err() && answer(head(100, b"a/b")).is_err());
        assert!(answer(head(200, b"a\r\nb: c")).is_err());
        let mut split = head(200, b"a/b");
        split.headers.push((b"x-a".to_vec(), b"1\r\nx-b: 2".to_vec()));
        assert!(answer(split).is_err());
        let sound = answer(head(404, b"a/b")).unwrap();
        assert_eq!((sound.status(), sound.body().len()), (StatusCode::NOT_FOUND, Some(1)));
        assert!(answer(head(204, b"a/b")).unwrap().body().is_empty());
    }
}

//! The response that a C handler of this process answers with. What it set is checked as that of a worker is: see
//! `reply`.

use super::reply::checked;
use bytes::Bytes;
use exchange::Head;
use exchange::PipeReader;
use httpd::{is_final, Body, Response};

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
    let given = || head.headers.iter().map(|(name, value)| (&name[..], &value[..]));
    let fields = checked(head.content_type.as_deref(), given)?;
    Ok(Response::new(status, fields, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use std::borrow::Cow;

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
        assert_eq!((sound.status, sound.body.len()), (StatusCode::NOT_FOUND, Some(1)));
    }
}

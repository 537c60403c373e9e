//! What a client of HTTP/1.1 is sent for a reply of a worker, and for an error of the server: `httparse` reads the same
//! status, fields and body from it, and nothing else; nothing that a handler gives adds a field or a response.
//!
//! Input: flags, then a reply as bytes of a worker, or a status, fields and a body that comes in pieces, or the words
//! of an error.

use super::h1_request::unchunked;
use crate::input::Input;
use bytes::Bytes;
use engine::fuzzing::{
    failure, replied, sent, Asked, Body, ErrorBodies, ErrorFormat, Failure, OwnErrors, Replied, Response,
    ResponseFields,
};
use engine::Fields;
use http::StatusCode;

/// Names that are the server's to give, or to leave out: they frame a message, or are about the connection.
const OWN: [&str; 11] = [
    "connection",
    "content-length",
    "content-type",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-content-type-options",
];

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let flags = input.byte();
    let asked = Asked { head_only: flags & 1 != 0, http10: flags & 2 != 0, keep_alive: flags & 4 != 0 };
    match flags >> 3 & 3 {
        0 => reply(input, asked),
        1 => error(input, asked, flags & 32 != 0),
        kind => response(input, asked, kind == 2),
    }
}

/// A reply that may be anything.
fn reply(input: Input, asked: Asked) {
    let message = Bytes::copy_from_slice(input.0);
    // the files of replies are for tests/conformance: here is none to be opened
    if wire::Reply::decode(&message).is_ok_and(|reply| matches!(reply.body, wire::ReplyBody::File(_))) {
        return;
    }
    let response = match replied(message) {
        Replied::Response(response) => response,
        Replied::Failure(of) => {
            failure(&of, &ErrorBodies::new(ErrorFormat::Auto), &OwnErrors::default(), &Fields::default(), 1)
        }
        Replied::Wrong(_) => return,
    };
    check(response, asked, None);
}

/// A handler's status and fields; its body as a whole, or of unknown length.
fn response(mut input: Input, asked: Asked, whole: bool) {
    let Ok(status) = StatusCode::from_u16(200 + input.word() % 400) else { return };
    let sizes = input.cuts();
    let n = input.byte() % 8;
    let given: Vec<_> = (0..n).map(|_| (input.until(b':'), input.until(b'\n'))).collect();
    let sound = given.iter().all(|(name, value)| {
        http::HeaderName::from_bytes(name).is_ok() && http::HeaderValue::from_bytes(value).is_ok()
    });
    let content_type = given.first().map(|(_, value)| *value);
    let fields = ResponseFields::of_handler(content_type, || given.iter().copied());
    assert_eq!(fields.is_ok(), sound, "{given:?}");
    let Ok(fields) = fields else { return };
    let body = Bytes::copy_from_slice(input.0);
    let has_body = !matches!(status.as_u16(), 204 | 205 | 304);
    let pieces = || input.pieces(&sizes).into_iter().map(Bytes::copy_from_slice).collect();
    let (body, pieces) = match (has_body, whole) {
        (false, _) => (Body::empty(), None),
        (true, true) => (Body::bytes(body), None),
        (true, false) => (endless(), Some(pieces())),
    };
    let wanted: Vec<_> = given
        .iter()
        .map(|(name, value)| (String::from_utf8_lossy(name).to_ascii_lowercase(), value.trim_ascii()))
        .filter(|(name, _)| !OWN.contains(&&name[..]))
        .collect();
    let text = check(Response::new(status, fields, body), asked, pieces);
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut read = httparse::Response::new(&mut fields);
    let _ = read.parse(&text);
    let has_date = wanted.iter().any(|(name, _)| name == "date");
    let theirs: Vec<_> = read
        .headers
        .iter()
        .map(|field| (field.name.to_owned(), field.value))
        .filter(|(name, _)| !OWN.contains(&&name[..]) && (has_date || name != "date"))
        .collect();
    assert_eq!(theirs, wanted);
}

/// A body that ends when it ends.
fn endless() -> Body {
    let (_writer, reader) = engine::fuzzing::pipe(None);
    Body::pipe(reader)
}

/// An error of the server, whose words are for a reader of text or of JSON.
fn error(mut input: Input, asked: Asked, json: bool) {
    let Ok(status) = StatusCode::from_u16(400 + input.word() % 200) else { return };
    let detail = String::from_utf8_lossy(input.0).into_owned();
    let accept = if json { "application/problem+json" } else { "*/*" };
    let accept = Fields::from_iter([("accept", accept)]);
    let mut response = failure(
        &Failure::new(status, &detail[..]),
        &ErrorBodies::new(ErrorFormat::Auto),
        &OwnErrors::default(),
        &accept,
        1,
    );
    let text = response.body.take_bytes().unwrap_or_default();
    if json {
        let problem: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(problem["status"], status.as_u16());
        assert_eq!(problem["detail"].as_str().unwrap_or_default(), detail);
    }
    response.body = Body::bytes(text);
    check(response, asked, None);
}

/// What is sent for a response, which is read as that and nothing else.
fn check(mut response: Response, asked: Asked, pieces: Option<Vec<Bytes>>) -> Vec<u8> {
    let status = response.status;
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) || asked.head_only;
    let (length, whole) = (response.body.len(), response.body.take_bytes());
    let body = match &pieces {
        Some(pieces) => pieces.concat(),
        None => whole.unwrap_or_default().to_vec(),
    };
    response.body = if length.is_some() { Body::bytes(body.clone()) } else { endless() };
    let pieces = if bodiless { Vec::new() } else { pieces.unwrap_or_else(|| vec![body.clone().into()]) };
    let text = sent(&response, asked, pieces).expect("the body is the one that was announced");

    let mut fields = [httparse::EMPTY_HEADER; 256];
    let mut read = httparse::Response::new(&mut fields);
    let parsed = read.parse(&text);
    if parsed == Err(httparse::Error::TooManyHeaders) {
        return text;
    }
    let Ok(httparse::Status::Complete(head)) = parsed else { panic!("{parsed:?}") };
    assert_eq!((read.code, read.version), (Some(status.as_u16()), Some(u8::from(!asked.http10))));
    let named = |name: &str| -> Vec<_> {
        read.headers.iter().filter(|field| field.name == name).map(|field| field.value).collect()
    };
    assert_eq!(named("x-content-type-options"), [b"nosniff"]);
    let (lengths, codings) = (named("content-length"), named("transfer-encoding"));
    let rest = &text[head..];
    match (&lengths[..], &codings[..]) {
        _ if bodiless => assert!(rest.is_empty() && codings.is_empty() && lengths.len() <= 1),
        ([length], []) => {
            assert_eq!(*length, body.len().to_string().as_bytes());
            assert_eq!(rest, body);
        }
        ([], [b"chunked"]) => assert_eq!(unchunked(rest), Some(body)),
        ([], []) => assert!(asked.http10 && rest == body),
        both => panic!("{both:?}"),
    }
    text
}

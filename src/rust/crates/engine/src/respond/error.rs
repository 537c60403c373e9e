//! Error responses that the server makes itself: problem details (RFC 9457), or short text.

use super::OwnErrors;
use crate::config::ErrorFormat;
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::StatusCode;
use httpd::{ascii, phrase_or_class, Body, Failure, Fields, Response, ResponseFields};
use observe::quote;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// What bodies of errors are, for one server.
#[derive(Debug)]
pub struct ErrorBodies {
    format: ErrorFormat,
    /// whether the last answer of a handler was JSON. Each I/O thread writes and reads it when it likes: it orders
    /// nothing, and one answer more or less does not matter.
    answers_json: AtomicBool,
}

impl ErrorBodies {
    /// Of this format.
    pub fn new(format: ErrorFormat) -> Self {
        ErrorBodies { format, answers_json: AtomicBool::new(false) }
    }

    /// A handler has answered.
    pub fn note(&self, response: &Response) {
        let json = response.fields.are_json();
        // read first: a cache line that all threads have is not taken from them for nothing
        if response.status.is_success() && self.answers_json.load(Ordering::Relaxed) != json {
            self.answers_json.store(json, Ordering::Relaxed);
        }
    }

    fn is_json(&self, request: &Fields, has_errors: bool) -> bool {
        match self.format {
            ErrorFormat::Json => true,
            ErrorFormat::Text => false,
            ErrorFormat::Auto => match accepted(request) {
                Accepted::Json => true,
                Accepted::Others => false,
                Accepted::Anything => has_errors || sends_json(request) || self.answers_json.load(Ordering::Relaxed),
            },
        }
    }
}

/// The response for a failure, in the app's own form if it has one. `request` are the fields of the request, `id` names
/// it in the log.
pub fn failure(f: &Failure, bodies: &ErrorBodies, own: &OwnErrors, request: &Fields, id: u64) -> Response {
    let json = bodies.is_json(request, !f.errors.is_empty());
    let (mut fields, body) = match own.answer(f, json) {
        Some(own) => (own.fields.clone(), own.body.clone()),
        None => standard(f, json, id),
    };
    // before those of the same name that an app has: `Allow` is what this path allows
    fields.set_all(&f.fields);
    let mut otherwise = |name, value| {
        if fields.get(&name).is_none() {
            fields.add(&name, value);
        }
    };
    otherwise(CACHE_CONTROL, "no-store");
    if f.status == StatusCode::SERVICE_UNAVAILABLE {
        otherwise(RETRY_AFTER, "1");
    }
    fields.close = f.close;
    Response::new(f.status, fields, Body::bytes(body))
}

/// The engine's own form, when an app has none.
fn standard(f: &Failure, json: bool, id: u64) -> (ResponseFields, Bytes) {
    let (content_type, text) =
        if json { ("application/problem+json", problem(f, id)) } else { ("text/plain; charset=utf-8", f.text(id)) };
    (ResponseFields::of_server(Some(content_type)), text.into())
}

fn problem(f: &Failure, id: u64) -> String {
    let mut text = String::from("{\"type\":\"about:blank\",\"title\":");
    quote(phrase_or_class(f.status.as_u16()), &mut text);
    let _ = write!(text, ",\"status\":{}", f.status.as_u16());
    if !f.detail.is_empty() {
        text.push_str(",\"detail\":");
        quote(&f.detail, &mut text);
    }
    if !f.errors.is_empty() {
        text.push_str(",\"errors\":");
        text.push_str(&f.errors);
    }
    let _ = write!(text, ",\"id\":\"{id:016x}\"}}");
    text
}

/// What `Accept` asks for.
#[derive(Debug, PartialEq, Eq)]
enum Accepted {
    /// it names JSON
    Json,
    /// nothing, or `*/*` and no more, as command-line clients send it
    Anything,
    /// other types
    Others,
}

fn accepted(request: &Fields) -> Accepted {
    let mut accepted = Accepted::Anything;
    for range in request.all(&ACCEPT).filter_map(ascii).flat_map(|v| v.split(',')) {
        match essence(range) {
            kind if is_json(kind) => return Accepted::Json,
            "" | "*/*" => {}
            _ => accepted = Accepted::Others,
        }
    }
    accepted
}

fn sends_json(request: &Fields) -> bool {
    request.all(&CONTENT_TYPE).filter_map(ascii).any(|v| is_json(essence(v)))
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Whether a media type is JSON, or a format made of it.
pub fn is_json(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OwnErrorConfig;
    use crate::edge::response_fields::HeaderConfig;

    #[test]
    fn what_is_accepted_and_sent() {
        let with = |accept| accepted(&Fields::from_iter([(ACCEPT, accept)]));
        assert_eq!(with("text/html, application/json;q=0.5"), Accepted::Json);
        assert_eq!(with("application/problem+json"), Accepted::Json);
        assert_eq!(with("*/*;q=0.8"), Accepted::Anything);
        assert_eq!(with("text/html, */*;q=0.8"), Accepted::Others);
        assert_eq!(accepted(&Fields::default()), Accepted::Anything);
        let sends = |kind| sends_json(&Fields::from_iter([(CONTENT_TYPE, kind)]));
        assert!(sends("application/json; charset=utf-8") && sends("Application/Vnd.X+JSON") && !sends("text/plain"));
    }

    #[test]
    fn bodies_are_what_is_asked_for_then_what_answers_are() {
        let none = Fields::default();
        let html = Fields::from_iter([(ACCEPT, "text/html")]);
        let answer = |kind: &[u8]| {
            Response::new(
                StatusCode::OK,
                ResponseFields::of_handler(Some(kind), std::iter::empty).unwrap(),
                Body::bytes(""),
            )
        };
        let auto = ErrorBodies::new(ErrorFormat::Auto);
        assert!(!auto.is_json(&none, false) && auto.is_json(&none, true) && !auto.is_json(&html, true));
        auto.note(&answer(b"application/json"));
        assert!(auto.is_json(&none, false) && !auto.is_json(&html, false));
        auto.note(&answer(b"text/html; charset=utf-8"));
        assert!(!auto.is_json(&none, false));
        assert!(ErrorBodies::new(ErrorFormat::Json).is_json(&html, false));
        let json = Fields::from_iter([(ACCEPT, "application/json")]);
        assert!(!ErrorBodies::new(ErrorFormat::Text).is_json(&json, true));
    }

    fn own(status: u16, json: bool, headers: &[(&str, &str)], body: &str) -> OwnErrorConfig {
        let header = |(name, value): &(&str, &str)| HeaderConfig { name: (*name).into(), value: (*value).into() };
        OwnErrorConfig { status, json, headers: headers.iter().map(header).collect(), body: body.into() }
    }

    #[test]
    fn an_app_has_errors_of_its_own_form() {
        let given = [
            ("Content-Type", "a/b"),
            ("allow", "NONE"),
            ("Retry-After", "9"),
            ("Connection", "keep-alive"),
            ("Content-Length", "3"),
            ("Date", "then"),
            ("Set-Cookie", "a=1"),
        ];
        let errors = OwnErrors::new(&[own(405, true, &given, "{}"), own(503, true, &[], "busy")]).unwrap();
        let (none, bodies) = (Fields::default(), ErrorBodies::new(ErrorFormat::Json));
        let f = Failure::new(StatusCode::METHOD_NOT_ALLOWED, "why").with(&http::header::ALLOW, "GET").closing();
        let answer = |f: &Failure, bodies: &ErrorBodies| failure(f, bodies, &errors, &none, 1);
        let shaped = answer(&f, &bodies);
        assert_eq!((shaped.status, shaped.body.len(), shaped.fields.close), (f.status, Some(2), true));
        let mut lines: Vec<_> = std::str::from_utf8(shaped.fields.text()).unwrap().lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "allow: GET",
                "cache-control: no-store",
                "content-type: a/b",
                "retry-after: 9",
                "x-content-type-options: nosniff"
            ]
        );
        let busy = answer(&Failure::new(StatusCode::SERVICE_UNAVAILABLE, ""), &bodies);
        assert!(std::str::from_utf8(busy.fields.text()).unwrap().contains("retry-after: 1\r\n"));
        // what a handler says, what has no form, and the form for others
        let standard = |f: &Failure, bodies| {
            let text = answer(f, bodies).fields.text().to_vec();
            text.windows(5).any(|w| w == b"plain" || w == b"+json")
        };
        assert!(standard(&f.clone().of_handler(), &bodies));
        assert!(standard(&Failure::new(StatusCode::NOT_FOUND, ""), &bodies));
        assert!(standard(&f, &ErrorBodies::new(ErrorFormat::Text)));
        assert!(OwnErrors::new(&[own(404, true, &[("a", "b\r\nc: d")], "")]).is_err());
    }

    #[test]
    fn details_are_quoted() {
        let f = Failure::new(StatusCode::BAD_REQUEST, "a \"b\"\n");
        assert_eq!(
            problem(&f, 1),
            r#"{"type":"about:blank","title":"Bad Request","status":400,"detail":"a \"b\"\u000a","id":"0000000000000001"}"#
        );
    }
    #[test]
    fn all_that_is_wrong_is_in_the_body() {
        let f = Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "").with_errors("[1]".to_owned());
        assert!(
            problem(&f, 1).ends_with(r#","status":422,"errors":[1],"id":"0000000000000001"}"#),
            "{}",
            problem(&f, 1)
        );
    }
}

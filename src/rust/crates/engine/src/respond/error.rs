//! Error responses that the server makes itself: problem details (RFC 9457) when the client accepts JSON, short text otherwise.

use super::{Body, Response, ResponseFields};
use crate::head::{ascii, Fields};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::fmt::Write;

/// Why there is no other answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// 4xx or 5xx
    pub status: StatusCode,
    /// for the client; never the text of an R error
    pub detail: String,
    /// the connection is not usable after this
    pub close: bool,
    /// further headers, such as `Allow` for 405
    pub headers: HeaderMap,
}

impl Failure {
    /// A failure of this status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Failure { status, detail: detail.into(), close: false, headers: HeaderMap::new() }
    }

    /// The same, with a header.
    pub fn with(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same, and nothing more is read from the connection.
    pub fn closing(self) -> Self {
        Failure { close: true, ..self }
    }
}

/// The response for a failure. `accept` are the fields of the request, `id` names it in the log.
pub fn failure(f: &Failure, accept: &Fields, id: u64) -> Response {
    let (content_type, text) = if accepts_json(accept) {
        ("application/problem+json", problem(f, id))
    } else {
        ("text/plain; charset=utf-8", short(f, id))
    };
    let mut headers = f.headers.clone();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if f.status == StatusCode::SERVICE_UNAVAILABLE && !headers.contains_key(RETRY_AFTER) {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    let mut fields = ResponseFields::from(headers);
    fields.close |= f.close;
    Response { status: f.status, fields, body: Body::bytes(text) }
}

/// A whole response as bytes, for a connection that no HTTP layer speaks on any more.
pub fn plain_head(f: &Failure, id: u64) -> Vec<u8> {
    let body = short(f, id);
    format!(
        "HTTP/1.1 {} {}\r\ncontent-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\ncontent-length: {}\r\ndate: {}\r\n\r\n{body}",
        f.status.as_str(),
        reason(f.status),
        body.len(),
        date(),
    )
    .into_bytes()
}

fn date() -> String {
    httpdate::fmt_http_date(std::time::SystemTime::now())
}

fn reason(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}

fn short(f: &Failure, id: u64) -> String {
    let mut text = format!("{} {}", f.status.as_str(), reason(f.status));
    if !f.detail.is_empty() {
        let _ = write!(text, ": {}", f.detail);
    }
    if f.status.is_server_error() {
        let _ = write!(text, " (request {id:016x})");
    }
    text.push('\n');
    text
}

fn problem(f: &Failure, id: u64) -> String {
    let mut text = String::from("{\"type\":\"about:blank\",\"title\":");
    quote(reason(f.status), &mut text);
    let _ = write!(text, ",\"status\":{}", f.status.as_u16());
    if !f.detail.is_empty() {
        text.push_str(",\"detail\":");
        quote(&f.detail, &mut text);
    }
    let _ = write!(text, ",\"id\":\"{id:016x}\"}}");
    text
}

fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether `Accept` names JSON. `*/*`, which every command-line client sends, does not.
fn accepts_json(request: &Fields) -> bool {
    request.all(&ACCEPT).filter_map(ascii).flat_map(|v| v.split(',')).any(|range| {
        let kind = range.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_only_where_it_is_named() {
        let with = |accept| accepts_json(&Fields::from_iter([(ACCEPT, accept)]));
        assert!(with("text/html, application/json;q=0.5") && with("application/problem+json"));
        assert!(!with("*/*") && !with("text/html") && !accepts_json(&Fields::default()));
    }

    #[test]
    fn details_are_quoted() {
        let f = Failure::new(StatusCode::BAD_REQUEST, "a \"b\"\n");
        assert_eq!(
            problem(&f, 1),
            r#"{"type":"about:blank","title":"Bad Request","status":400,"detail":"a \"b\"\u000a","id":"0000000000000001"}"#
        );
    }
}

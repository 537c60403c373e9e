//! What is told of a request, as JSON of OTLP 1.x: a span of kind SERVER with the attributes of the semantic
//! conventions for HTTP (1.23 and later), and spans for the wait in the queue, the handler and the sending.
//!
//! Data from clients is quoted as text. As OpenTelemetry says of secrets: no query, and no field but `User-Agent`.

use exchange::Trace;
use observe::quote;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest text of an attribute in bytes: of a path, or of what a client calls itself.
const LONGEST: usize = 1024;
/// Methods that are told by their names; others are `_OTHER`, so that clients cannot make up names of spans.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// A request that has ended.
#[derive(Debug)]
pub struct Span {
    pub trace: Trace,
    pub method: String,
    /// the pattern that took it
    pub route: Option<Arc<str>>,
    pub path: String,
    pub https: bool,
    /// of HTTP: `1.1`
    pub version: &'static str,
    pub client: String,
    pub agent: Option<String>,
    /// `None` when its client left before there was an answer
    pub status: Option<u16>,
    /// whether the client has the whole response
    pub whole: bool,
    pub began: SystemTime,
    /// until there was an answer
    pub until_answer: Duration,
    /// of that, in its handler, at its end
    pub handler: Option<Duration>,
    /// from then on
    pub write: Duration,
}

/// All spans of a request to a collector: what is around them, and each, with commas between.
pub fn request(resource: &[(String, String)], spans: &[Span]) -> String {
    let mut out = String::with_capacity(spans.len() * 1024 + 256);
    out.push_str("{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    let mut attributes = Attributes::begin(&mut out);
    resource.iter().for_each(|(key, value)| attributes.text(key, value));
    attributes.text("telemetry.sdk.language", "rust");
    out.push_str("]},\"scopeSpans\":[{\"scope\":{\"name\":\"drover\",\"version\":\"");
    out.push_str(env!("CARGO_PKG_VERSION"));
    out.push_str("\"},\"spans\":[");
    for (i, span) in spans.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        span.write(&mut out);
    }
    out.push_str("]}]}]}");
    out
}

impl Span {
    fn write(&self, out: &mut String) {
        let end = self.began + self.until_answer + self.write;
        let known = METHODS.contains(&&*self.method);
        let method = if known { &self.method } else { "HTTP" };
        let name = self.route.as_ref().map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let parent = self.trace.parent_id();
        begin(&self.trace.id(), &self.trace.span_id(), parent.as_deref(), (&name, 2), (self.began, end), out);
        let mut attributes = Attributes::begin(out);
        attributes.text("http.request.method", if known { &self.method } else { "_OTHER" });
        if !known {
            attributes.text("http.request.method_original", &self.method);
        }
        attributes.text("url.path", &self.path);
        attributes.text("url.scheme", if self.https { "https" } else { "http" });
        if let Some(route) = &self.route {
            attributes.text("http.route", route);
        }
        if let Some(status) = self.status {
            attributes.number("http.response.status_code", status.into());
        }
        attributes.text("network.protocol.version", self.version);
        attributes.text("client.address", &self.client);
        if let Some(agent) = &self.agent {
            attributes.text("user_agent.original", agent);
        }
        // of a server: an error is what it has done wrong, or what ended without an answer
        let failed = self.status.filter(|status| *status >= 500);
        match (failed, self.status.is_some() && self.whole) {
            (Some(status), _) => attributes.text("error.type", &status.to_string()),
            (None, false) => attributes.text("error.type", "client_left"),
            _ => {}
        }
        out.push_str(if failed.is_some() { "],\"status\":{\"code\":2}}" } else { "]}" });
        let answer = self.began + self.until_answer;
        let called = self.handler.map(|took| answer - took);
        let parts = [
            called.map(|called| ("queue", self.began, called)),
            called.map(|called| ("handler", called, answer)),
            self.status.map(|_| ("write", answer, end)),
        ];
        for (number, (name, from, to)) in parts.into_iter().enumerate().filter_map(|(i, part)| Some((i, part?))) {
            out.push(',');
            let (trace, span) = (self.trace.id(), self.trace.span_id());
            begin(&trace, &self.trace.span_id_of_part(number as u8 + 1), Some(&span), (name, 1), (from, to), out);
            out.push_str("]}");
        }
    }
}

/// A span up to its attributes.
fn begin(
    trace: &str,
    id: &str,
    parent: Option<&str>,
    (name, kind): (&str, u8),
    (from, to): (SystemTime, SystemTime),
    out: &mut String,
) {
    // writing to a string does not fail
    let _ = write!(out, "{{\"traceId\":\"{trace}\",\"spanId\":\"{id}\",");
    if let Some(parent) = parent {
        let _ = write!(out, "\"parentSpanId\":\"{parent}\",");
    }
    out.push_str("\"name\":");
    quote(cut(name), out);
    let ns = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let (from, to) = (ns(from), ns(to));
    let _ =
        write!(out, ",\"kind\":{kind},\"startTimeUnixNano\":\"{from}\",\"endTimeUnixNano\":\"{to}\",\"attributes\":[");
}

struct Attributes<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Attributes<'a> {
    fn begin(out: &'a mut String) -> Self {
        Attributes { out, first: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        self.out.push_str("{\"key\":");
        quote(key, self.out);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.out.push_str(",\"value\":{\"stringValue\":");
        quote(cut(value), self.out);
        self.out.push_str("}}");
    }

    fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        // 64 bits are a string in protobuf's JSON
        let _ = write!(self.out, ",\"value\":{{\"intValue\":\"{value}\"}}}}");
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(method: &str, path: &str) -> Span {
        Span {
            trace: Trace::new(7, None),
            method: method.into(),
            route: Some("/a/<id>".into()),
            path: path.into(),
            https: false,
            version: "1.1",
            client: "127.0.0.1".into(),
            agent: None,
            status: Some(200),
            whole: true,
            began: UNIX_EPOCH + Duration::from_secs(1),
            until_answer: Duration::from_nanos(30),
            handler: Some(Duration::from_nanos(20)),
            write: Duration::from_nanos(5),
        }
    }

    #[test]
    fn parts_follow_one_another() {
        let text = request(&[], &[span("GET", "/a/1")]);
        assert!(text.contains("\"name\":\"GET /a/<id>\",\"kind\":2,\"startTimeUnixNano\":\"1000000000\""), "{text}");
        for (name, from, to) in [("queue", 0, 10), ("handler", 10, 30), ("write", 30, 35)] {
            let part = format!(
                "\"name\":\"{name}\",\"kind\":1,\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\"",
                1_000_000_000 + from,
                1_000_000_000 + to
            );
            assert!(text.contains(&part), "{part} in {text}");
        }
        assert!(!text.contains("error.type") && !text.contains("\"status\""), "{text}");
    }

    #[test]
    fn what_clients_send_is_text_and_names_no_span() {
        let text = request(&[], &[span("BREW\"", &format!("/\"}}],\u{1}{}", "x".repeat(5000)))]);
        assert!(text.contains("\"name\":\"HTTP /a/<id>\"") && text.contains("{\"stringValue\":\"_OTHER\"}"), "{text}");
        assert!(text.contains("/\\\"}],\\u0001xxx") && text.len() < 4000, "{text}");
        let failed = Span { status: Some(503), ..span("GET", "/") };
        assert!(request(&[], &[failed]).contains("\"status\":{\"code\":2}"));
        let left = Span { status: None, handler: None, ..span("GET", "/") };
        let text = request(&[], &[left]);
        assert!(text.contains("client_left") && !text.contains("\"write\"") && !text.contains("\"queue\""), "{text}");
    }
}

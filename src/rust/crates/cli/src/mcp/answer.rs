//! Answers of HTTP as lines for the client: messages of JSON-RPC as they are, events of a stream as they come, and
//! refusals as errors of JSON-RPC. Neighbour: `bridge`.

use super::json::Json;
use super::message::Id;
use engine::status_phrase;

/// Codes of JSON-RPC: of a message that is none, and of a request that came to nothing.
pub(super) const INVALID: i32 = -32600;
pub(super) const INTERNAL: i32 = -32603;

/// The content type of events.
pub(super) const EVENTS: &str = "text/event-stream";

/// An error for the client. `status`: that of HTTP, where there was one.
pub(super) fn error(id: Option<&Id>, code: i32, message: &str, status: Option<u16>) -> Vec<u8> {
    let id = id.map_or_else(|| "null".to_owned(), Id::json);
    let message = sonic_rs::to_string(message).unwrap_or_default();
    let data = status.map_or_else(String::new, |status| format!(",\"data\":{{\"status\":{status}}}"));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}{data}}}}}").into()
}

/// That a stream of notifications, which this request has asked for, has ended.
pub(super) fn ended(id: &Id) -> Vec<u8> {
    let id = id.json();
    let why = "the app is loaded anew, or its worker has ended: listen again";
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
         \"params\":{{\"requestId\":{id},\"reason\":\"{why}\"}}}}"
    )
    .into()
}

/// Whether this body is a message, or several. An app may have errors of its own that are JSON, too.
pub(super) fn is_message(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"[") || Json(body).text(&["jsonrpc"]).is_some()
}

/// Whether this message ends its request.
pub(super) fn is_final(event: &[u8]) -> bool {
    let json = Json(event);
    ["result", "error"].iter().any(|field| json.get(&[field]).is_some())
}

/// The version that a handshake has come to.
pub(super) fn version(body: &[u8]) -> Option<String> {
    Json(body).text(&["result", "protocolVersion"])
}

/// A message as one line: its line breaks can only be between its parts.
pub(super) fn line(mut json: Vec<u8>) -> Vec<u8> {
    json.iter_mut().filter(|b| matches!(**b, b'\n' | b'\r')).for_each(|b| *b = b' ');
    json
}

/// What a refusal with this status says, whose body may be problem details (RFC 9457).
pub(super) fn refusal(status: u16, body: &[u8]) -> String {
    let phrase = status_phrase(status);
    match Json(body).text(&["detail"]) {
        Some(detail) => format!("{phrase}: {detail}"),
        None => phrase.to_owned(),
    }
}

/// The data of Server-Sent Events, put together from the pieces of a body.
#[derive(Debug, Default)]
pub(super) struct Events {
    read: Vec<u8>,
    data: Vec<u8>,
}

impl Events {
    /// What has become complete with this piece.
    pub(super) fn with(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|&b| b == b'\n') {
            self.read.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            let whole = std::mem::take(&mut self.read);
            let whole = whole.strip_suffix(b"\r").unwrap_or(&whole);
            if whole.is_empty() && !self.data.is_empty() {
                complete.push(std::mem::take(&mut self.data));
            } else if let Some(data) = whole.strip_prefix(b"data:") {
                // lines of one event are lines of one message
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        self.read.extend_from_slice(rest);
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_however_they_come() {
        let text = b": hello\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\nid: 7\r\ndata:{}\r\n\r\ndata: unfinished\n";
        for size in [1, 2, 7, 200] {
            let mut events = Events::default();
            let got: Vec<_> = text.chunks(size).flat_map(|piece| events.with(piece)).collect();
            assert_eq!(got, [&b"{\"a\":\n1}"[..], b"{}"]);
        }
    }

    #[test]
    fn errors_and_refusals_are_for_the_request() {
        let id = Id::Text("a\"b".into());
        assert_eq!(
            error(Some(&id), INTERNAL, "x\ny", Some(502)),
            br#"{"jsonrpc":"2.0","id":"a\"b","error":{"code":-32603,"message":"x\ny","data":{"status":502}}}"#
        );
        assert!(error(None, INVALID, "x", None).starts_with(br#"{"jsonrpc":"2.0","id":null,"#));
        assert_eq!(refusal(502, b"<html>"), "Bad Gateway");
        assert_eq!(refusal(504, br#"{"title":"Gateway Timeout","detail":"too slow"}"#), "Gateway Timeout: too slow");
    }

    #[test]
    fn messages_are_told_from_other_json() {
        assert!(is_message(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#) && is_message(b" [{}]"));
        assert!(!is_message(br#"{"error":"mine"}"#) && !is_message(b"oops"));
        assert!(is_final(br#"{"result":{}}"#) && is_final(br#"{"error":{}}"#) && !is_final(br#"{"method":"x"}"#));
        assert_eq!(version(br#"{"result":{"protocolVersion":"2025-11-25"}}"#).as_deref(), Some("2025-11-25"));
        assert_eq!(line(b"{\r\n\"a\":1}".to_vec()), b"{  \"a\":1}");
    }
}

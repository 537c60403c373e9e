//! What the bridge must know of a message that a client sends: which request it is, so that its answer can be told from
//! others and it can be cancelled, and what its header fields have to say. All else is for R, also what is wrong with
//! it. Neighbour: `bridge`.

use super::json::{string, Json};
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use std::fmt::Write as _;

/// What a client says of a request in each message since 2026-07-28, and by a handshake before.
const VERSION: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/protocolVersion"];

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Id {
    Text(String),
    /// as it is written
    Number(String),
}

/// What a handshake has come to, which all later messages are of.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreed {
    pub(super) version: Option<String>,
    /// what the server knows the client by
    pub(super) session: Option<String>,
}

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// none of a notification, of an answer, or of what is no message
    pub(super) id: Option<Id>,
    pub(super) method: Option<String>,
    /// of the protocol, where the message names it
    version: Option<String>,
    /// what the method is about
    name: Option<String>,
    /// the request that is to be given up
    pub(super) cancels: Option<Id>,
}

impl Id {
    fn of(value: &[u8]) -> Option<Id> {
        if let Some(text) = string(value) {
            return Some(Id::Text(text));
        }
        // what begins so has no nesting
        let may_be = value.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-');
        let is_number = may_be && sonic_rs::from_slice::<f64>(value).is_ok();
        is_number.then(|| Id::Number(String::from_utf8_lossy(value).into_owned()))
    }

    pub(super) fn json(&self) -> String {
        match self {
            Id::Text(text) => sonic_rs::to_string(text).unwrap_or_default(),
            Id::Number(text) => text.clone(),
        }
    }
}

impl Message {
    pub(super) fn read(line: &[u8]) -> Message {
        let json = Json(line);
        let id = |path: &[&str]| json.get(path).and_then(Id::of);
        let method = json.text(&["method"]);
        let (name, cancels) = match method.as_deref() {
            Some("tools/call" | "prompts/get") => (json.text(&["params", "name"]), None),
            Some("resources/read") => (json.text(&["params", "uri"]), None),
            Some("tasks/get" | "tasks/update" | "tasks/cancel") => (json.text(&["params", "taskId"]), None),
            Some("notifications/cancelled") => (None, id(&["params", "requestId"])),
            _ => (None, None),
        };
        let own = method.as_ref().and_then(|_| id(&["id"]));
        Message { id: own, method, version: json.text(&VERSION), name, cancels }
    }

    /// Whether it wants no answer.
    pub(super) fn is_notification(&self) -> bool {
        self.id.is_none() && self.method.is_some()
    }

    /// The head of the request that carries it, of `len` bytes.
    pub(super) fn head(&self, endpoint: &str, agreed: &Agreed, credentials: Option<&str>, len: usize) -> String {
        let start = format!(
            "POST {endpoint} HTTP/1.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {len}\r\n"
        );
        let fields = [
            ("MCP-Protocol-Version", self.version.as_deref().or(agreed.version.as_deref())),
            ("Mcp-Session-Id", agreed.session.as_deref()),
            ("Mcp-Method", self.method.as_deref()),
            ("Mcp-Name", self.name.as_deref()),
        ];
        finished(start, &fields, credentials)
    }

    /// Whether it asks for a stream that lasts until it is given up.
    pub(super) fn listens(&self) -> bool {
        self.method.as_deref() == Some("subscriptions/listen")
    }

    /// Whether its client wants to hear of changes from now on, in the stream of its session.
    pub(super) fn subscribes(&self) -> bool {
        self.method.as_deref() == Some("resources/subscribe")
    }
}

impl Agreed {
    /// The head of the request for the stream of the session.
    pub(super) fn head(&self, endpoint: &str, credentials: Option<&str>) -> String {
        let start = format!("GET {endpoint} HTTP/1.1\r\nAccept: text/event-stream\r\n");
        let fields = [("MCP-Protocol-Version", self.version.as_deref()), ("Mcp-Session-Id", self.session.as_deref())];
        finished(start, &fields, credentials)
    }
}

fn finished(mut head: String, fields: &[(&str, Option<&str>)], credentials: Option<&str>) -> String {
    head.push_str("Host: localhost\r\nConnection: close\r\n");
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = write!(head, "{name}: {}\r\n", wrapped(value));
        }
    }
    if let Some(field) = credentials {
        let _ = write!(head, "{field}\r\n");
    }
    head + "\r\n"
}

/// As header fields have it: what could not stand in one, or looks as if it were wrapped, is.
fn wrapped(value: &str) -> String {
    let is_plain = value.bytes().all(|b| (b' '..=b'~').contains(&b));
    if is_plain && !value.is_empty() && value.trim() == value && !value.starts_with("=?") {
        return value.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Message {
        Message::read(json.as_bytes())
    }

    #[test]
    fn a_message_is_read_as_far_as_it_is_one() {
        let call = read(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"roll"}}"#);
        assert_eq!((call.id, call.name), (Some(Id::Text("a".into())), Some("roll".into())));
        let cancel = read(r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#);
        assert_eq!((cancel.id, cancel.cancels), (None, Some(Id::Number("7".into()))));
        for id in ["null", "true", "[1]", "+1", "1.", "-"] {
            assert_eq!(read(&format!("{{\"method\":\"ping\",\"id\":{id}}}")).id, None, "{id}");
        }
        for none in [
            "",
            r#"{"id":1,"result":{}}"#,
            "{",
            "[]",
            "7",
            "[{\"id\":1}]",
            "{\"id\":[1],\"method\":7,\"params\":[]}",
            "\u{0}",
        ] {
            assert_eq!(read(none), Message::default(), "{none}");
        }
        // no nesting is too deep
        let deep = "[".repeat(1_000_000);
        assert_eq!(read(&deep), Message::default());
        assert_eq!(read(&format!("{{\"a\":{deep}")), Message::default());
    }

    #[test]
    fn header_fields_say_what_the_message_says_and_nothing_more() {
        let json = r#"{"id":1,"method":"tools/call","params":{"name":"a\r\nX: y",
            "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let agreed = Agreed { version: Some("2025-11-25".into()), session: Some("S".into()) };
        let head = read(json).head("/mcp", &agreed, Some("X-Key: k"), 3);
        for line in [
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Session-Id: S",
            "Mcp-Method: tools/call",
            "Mcp-Name: =?base64?YQ0KWDogeQ==?=",
            "X-Key: k",
        ] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{head}");
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let json = format!(r#"{{"id":1,"method":"{method}","params":{{"taskId":"0a"}}}}"#);
            let head = read(&json).head("/mcp", &agreed, None, 3);
            assert!(head.contains("\r\nMcp-Name: 0a\r\n"), "{head}");
        }
        let head = read(r#"{"id":1,"method":"ping"}"#).head("/mcp", &agreed, None, 3);
        assert!(head.contains("\r\nMCP-Protocol-Version: 2025-11-25\r\n") && !head.contains("Mcp-Name"), "{head}");
        assert_eq!(
            [" a", "=?x", "é", ""].map(wrapped),
            ["IGE=", "PT94", "w6k=", ""].map(|b| format!("=?base64?{b}?="))
        );
    }
}

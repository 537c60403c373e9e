//! A POST of Streamable HTTP: what its header fields say, and whether its message says the same. Since 2026 a request
//! says twice what it is, as something in between may have decided by the fields.

use super::message::{self, id_text, member, Call, Message};
use super::Tools;
use crate::json::Build;
use crate::node::{Kind, Node, Str};
use base64::prelude::{Engine, BASE64_STANDARD};
use schema::Value;
use std::borrow::Cow;

/// Most messages in an array of them.
const MOST: usize = 100;

/// The version that has arrays of messages.
const OF_ARRAYS: &[u8] = b"2025-03-26";

/// What `params._meta` has in each message of a version without a handshake.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// What C lends for one call: header fields of the request, which may be `NA`, and the versions that are spoken, of
/// which the first has no handshake.
#[repr(C)]
pub struct Fields {
    content_type: Str,
    origin: Str,
    version: Str,
    method: Str,
    name: Str,
    accept: Str,
    session: Str,
    versions: *const Str,
    n: usize,
}

/// A POST that is answered with an error, of a kind that R/mcp-answers.R knows.
struct Wrong {
    kind: &'static str,
    said: String,
    id: Option<String>,
}

impl Wrong {
    fn new(kind: &'static str, said: impl Into<String>) -> Wrong {
        Wrong { kind, said: said.into(), id: None }
    }
}

/// What is posted: a message, or several.
enum Posted<'v, 'a> {
    One(Message<'v, 'a>),
    Several(&'v [Value<'a>]),
}

/// Fields of a POST, which src/mcp.c names: the kind of an error, what it says, and the id, as JSON, that it is for;
/// the `Origin` and the version of the protocol that were sent; whether that has no handshake, and whether the client
/// may want to hear of the call while that lasts; the message; and whether it is several, in a list.
pub(super) fn node<'b>(build: Build<'b>, fields: &Fields, body: Result<&'b Value<'_>, &String>, tools: &Tools) -> Node {
    let version = text_of(fields.version);
    let is_new = version.is_some() && version == fields.versions().next();
    let accept = text_of(fields.accept).unwrap_or_default();
    let takes_events = memchr::memmem::find(accept, b"text/event-stream").is_some();
    let mut listens = false;
    let mut several = false;
    let (wrong, message) = match posted(fields, body, is_new) {
        Err(wrong) => (Some(wrong), Node::NULL),
        Ok(Posted::One(one)) => {
            if let Message::Call(call) = &one {
                listens = may_listen(call, is_new, fields);
            }
            (None, message::node(build, one, tools, takes_events))
        }
        Ok(Posted::Several(all)) => {
            several = true;
            (None, build.list_of(all.iter().map(|one| message::node(build, message::read(one), tools, false))))
        }
    };
    let flag = |is: bool| build.vector(Kind::Lgl, &[i32::from(is)]);
    let text = |bytes: Option<&[u8]>| bytes.map_or(Node::NULL, |bytes| build.copied(&String::from_utf8_lossy(bytes)));
    let (kind, said, id) = match &wrong {
        Some(wrong) => (Some(wrong.kind.as_bytes()), Some(wrong.said.as_bytes()), wrong.id.as_deref()),
        None => (None, None, None),
    };
    build.list(&[
        text(kind),
        text(said),
        text(id.map(str::as_bytes)),
        text(text_of(fields.origin)),
        text(version),
        flag(is_new),
        flag(listens),
        message,
        flag(several),
    ])
}

fn posted<'v, 'a>(
    fields: &Fields,
    body: Result<&'v Value<'a>, &String>,
    is_new: bool,
) -> Result<Posted<'v, 'a>, Wrong> {
    if !is_json(text_of(fields.content_type).unwrap_or_default()) {
        return Err(Wrong::new("type", "send a message of JSON-RPC as application/json"));
    }
    let value = body.map_err(|why| Wrong::new("parse", format!("the body is not JSON that can be read: {why}")))?;
    let version = text_of(fields.version);
    if version.is_some_and(|version| fields.versions().all(|known| known != version)) {
        let id = member(value, "id").and_then(id_text);
        return Err(Wrong { id, ..Wrong::new("version", "unsupported protocol version") });
    }
    match value {
        Value::Array(_) if version.is_some_and(|version| version != OF_ARRAYS) => {
            Err(Wrong::new("request", "send one message at a time"))
        }
        Value::Array(all) if all.len() > MOST => {
            Err(Wrong::new("request", format!("at most {MOST} messages at a time, not {}", all.len())))
        }
        Value::Array(all) if !all.is_empty() => Ok(Posted::Several(all)),
        one => match message::read(one) {
            Message::Refused { id, why } => Err(Wrong { id, ..Wrong::new("request", why) }),
            Message::Call(call) if is_new && call.id.is_some() => {
                let wrong = contradiction(&call, fields);
                match wrong {
                    Some(wrong) => Err(Wrong { id: call.id, ..wrong }),
                    None => Ok(Posted::One(Message::Call(call))),
                }
            }
            message => Ok(Posted::One(message)),
        },
    }
}

/// What is wrong with what a message says of itself, or of which the header fields say something else.
fn contradiction(call: &Call<'_, '_>, fields: &Fields) -> Option<Wrong> {
    let meta = call.params.and_then(|params| member(params, "_meta"));
    let of_meta = |name| meta.and_then(|meta| member(meta, name));
    let missing: Vec<&str> =
        [PROTOCOL_VERSION, CAPABILITIES].into_iter().filter(|name| of_meta(name).is_none()).collect();
    if !missing.is_empty() {
        return Some(Wrong::new("params", format!("`params._meta` must have {}", missing.join(" and "))));
    }
    if !matches!(of_meta(CAPABILITIES), Some(Value::Object(_))) {
        return Some(Wrong::new("params", format!("`params._meta.{CAPABILITIES}` must be an object")));
    }
    let differs = |field: Str, said: &Value<'_>| match (text_of(field), said) {
        (Some(field), Value::String(said)) => *unwrapped(field) != *said.as_bytes(),
        _ => true,
    };
    let wrong =
        |field: &str| Some(Wrong::new("header", format!("the header field {field} does not say what the body says")));
    if of_meta(PROTOCOL_VERSION).is_some_and(|version| differs(fields.version, version)) {
        return wrong("MCP-Protocol-Version");
    }
    if text_of(fields.method).is_none_or(|field| *unwrapped(field) != *call.method.as_bytes()) {
        return wrong("Mcp-Method");
    }
    let name = match call.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        // what is in between may go by it
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    let named = call.params.and_then(|params| member(params, name)).filter(|named| **named != Value::Null)?;
    if differs(fields.name, named) {
        return wrong("Mcp-Name");
    }
    None
}

/// Whether its client may want to hear of the call while it lasts: R looks whether it does.
fn may_listen(call: &Call<'_, '_>, is_new: bool, fields: &Fields) -> bool {
    let meta = call.params.and_then(|params| member(params, "_meta"));
    let has = |name| meta.and_then(|meta| member(meta, name)).is_some();
    has("progressToken") || has(LOG_LEVEL) || (!is_new && text_of(fields.session).is_some())
}

/// A value of a header field, which may be wrapped: `=?base64?...?=`
fn unwrapped(field: &[u8]) -> Cow<'_, [u8]> {
    match field.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?=")) {
        // one that is wrapped wrongly says nothing
        Some(text) => Cow::Owned(BASE64_STANDARD.decode(text).unwrap_or_default()),
        None => Cow::Borrowed(field),
    }
}

fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// `None` for `NA`.
fn text_of<'a>(text: Str) -> Option<&'a [u8]> {
    // SAFETY: C lends the texts for the call.
    (!text.is_na()).then(|| unsafe { text.as_bytes() })
}

impl Fields {
    fn versions(&self) -> impl Iterator<Item = &[u8]> {
        // SAFETY: C lends them for the call, at least one.
        let all = unsafe { std::slice::from_raw_parts(self.versions, self.n) };
        all.iter().filter_map(|one| text_of(*one))
    }
}

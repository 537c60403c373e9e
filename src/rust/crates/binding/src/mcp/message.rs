//! One message: a request, a notification, the answer to a question of the server's, or none of these.

use super::Tools;
use crate::json::{quoted, Build};
use crate::node::{Kind, Node};
use crate::schema::{misfit, ready};
use schema::{Number, Value};

/// What a value is as a message.
pub(super) enum Message<'v, 'a> {
    /// why it is none
    Refused {
        id: Option<String>,
        why: String,
    },
    /// it answers a question
    Reply(&'v Value<'a>),
    Call(Call<'v, 'a>),
}

/// A request or, without an id, which is JSON, a notification.
pub(super) struct Call<'v, 'a> {
    pub(super) id: Option<String>,
    pub(super) method: &'v str,
    pub(super) params: Option<&'v Value<'a>>,
}

pub(super) fn read<'v, 'a>(value: &'v Value<'a>) -> Message<'v, 'a> {
    let refused = |id: Option<String>, why: &str| Message::Refused { id, why: why.to_owned() };
    let Value::Object(_) = value else { return refused(None, "the body must be an object") };
    let id = match member(value, "id") {
        None => None,
        Some(id) => match id_text(id) {
            None => return refused(None, "`id` must be a string or a whole number"),
            id => id,
        },
    };
    if !matches!(member(value, "jsonrpc"), Some(Value::String(version)) if version == "2.0") {
        return refused(id, "`jsonrpc` must be \"2.0\"");
    }
    let params = member(value, "params").filter(|params| **params != Value::Null);
    let method = match member(value, "method") {
        Some(Value::String(method)) => method,
        None if member(value, "result").or_else(|| member(value, "error")).is_some() => return Message::Reply(value),
        _ => return refused(id, "`method` must be a string"),
    };
    match params {
        None | Some(Value::Object(_)) => Message::Call(Call { id, method, params }),
        Some(_) => refused(id, "`params` must be an object"),
    }
}

/// Fields of a message, which src/mcp.c names: its id as JSON, whether it asks for an answer, why it is no message, its
/// method and params, which tool it calls (from 1), what is wrong with the arguments of that, all of it, if it answers
/// a question of the server's, and `TRUE` if its answer may be a stream of events. `NULL` where there is no such thing.
pub(super) fn node<'b>(build: Build<'b>, message: Message<'b, '_>, tools: &Tools, may_stream: bool) -> Node {
    let text = |text: Option<String>| text.map_or(Node::NULL, |text| build.copied(&text));
    let none = Node::NULL;
    build.list(&match message {
        Message::Refused { id, why } => [text(id), none, text(Some(why)), none, none, none, none, none, none],
        Message::Reply(value) => [none, none, none, none, none, none, none, plain(build, value), none],
        Message::Call(Call { id, method, params }) => {
            let (tool, problem) = called(method, params, tools);
            let asks = build.vector(Kind::Lgl, &[i32::from(id.is_some())]);
            let tool = tool.map_or(none, |at| build.vector(Kind::Int, &[at as i32 + 1]));
            let params = params.map_or(none, |params| plain(build, params));
            let events = if may_stream { build.vector(Kind::Lgl, &[1]) } else { none };
            [text(id), asks, none, build.copied(method), params, tool, text(problem), none, events]
        }
    })
}

pub(super) fn member<'v, 'a>(value: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    let Value::Object(members) = value else { return None };
    members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// An id as JSON; `None` for a value that is none.
pub(super) fn id_text(id: &Value<'_>) -> Option<String> {
    match id {
        Value::String(text) => {
            let mut out = Vec::new();
            quoted(&mut out, text.as_bytes());
            String::from_utf8(out).ok()
        }
        Value::Number(Number::Signed(n)) => Some(n.to_string()),
        Value::Number(Number::Unsigned(n)) => Some(n.to_string()),
        Value::Number(Number::Float(x)) if x.fract() == 0.0 => Some(x.to_string()),
        _ => None,
    }
}

/// The place of the tool that is called with an object, and what is wrong with that. The rest is R's.
fn called(method: &str, params: Option<&Value<'_>>, tools: &Tools) -> (Option<usize>, Option<String>) {
    let none = (None, None);
    let Some(params) = params.filter(|_| method == "tools/call" && tools.n > 0) else { return none };
    let Some(Value::String(name)) = member(params, "name") else { return none };
    // SAFETY: C lends both for the call.
    let (names, schemas) = unsafe {
        (std::slice::from_raw_parts(tools.names, tools.n), std::slice::from_raw_parts(tools.schemas, tools.n))
    };
    // SAFETY: the same.
    let Some(at) = names.iter().position(|one| unsafe { one.as_bytes() } == name.as_bytes()) else { return none };
    let empty = Value::Object(Vec::new());
    let arguments = match member(params, "arguments") {
        None | Some(Value::Null) => &empty,
        Some(object @ Value::Object(_)) => object,
        Some(_) => return none,
    };
    // SAFETY: the same.
    let problem = match ready(unsafe { schemas[at].as_bytes() }) {
        Ok(schema) => misfit(&schema, arguments),
        Err(problem) => Some(problem),
    };
    (Some(at), problem)
}

/// A value as `dr_from_json(simplify = FALSE)` has it: arrays are lists.
fn plain<'b>(build: Build<'b>, value: &'b Value<'_>) -> Node {
    match value {
        Value::Null => Node::NULL,
        Value::Bool(value) => build.vector(Kind::Lgl, &[i32::from(*value)]),
        Value::Number(number) => match whole(*number) {
            Some(n) => build.vector(Kind::Int, &[n]),
            None => build.vector(Kind::Dbl, &[number.as_f64()]),
        },
        Value::String(text) => build.string(text),
        Value::Array(items) => build.list_of(items.iter().map(|item| plain(build, item))),
        Value::Object(members) => {
            let names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
            build.list_of(members.iter().map(|(_, value)| plain(build, value))).named(build.names(&names))
        }
    }
}

/// A number that was written without a fraction, as an integer of R, of which the smallest is NA.
fn whole(number: Number) -> Option<i32> {
    let n = match number {
        Number::Signed(n) => i32::try_from(n).ok(),
        Number::Unsigned(n) => i32::try_from(n).ok(),
        Number::Float(_) => None,
    };
    n.filter(|n| *n != i32::MIN)
}

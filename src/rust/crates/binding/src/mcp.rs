//! Messages of the Model Context Protocol for R: JSON-RPC, read and refused where it is none, with what is wrong with
//! the arguments of a tool. Not for what messages mean: R/mcp-methods.R. Neighbours: src/mcp.c; `schema`, which judges.

use crate::json::{quoted, Build};
use crate::node::{Kind, Node, Str};
use crate::schema::{misfit, ready};
use crate::shield::{borrowed, shield, Error};
use crate::strings::with_guard;
use bumpalo::Bump;
use fields::guard::Visit;
use schema::{Number, Value};
use std::ffi::c_void;
use std::ptr;

/// Most messages in an array of them.
const MOST: usize = 100;

/// What C lends for one call: the names of all tools, and as many schemas of their arguments.
#[repr(C)]
pub struct Tools {
    names: *const Str,
    schemas: *const Str,
    n: usize,
}

/// The nodes of what was read. They point into the arena, the values and the text.
struct Read<'a> {
    _arena: Bump,
    _value: Value<'a>,
}

/// Reads a body. A list for a message, as `message` has it, or a list of such lists for an array of them, and a
/// handle for `drv_mcp_close`; null and an error for what is no JSON or breaks a limit.
///
/// # Safety
/// C lends `text` until the handle is closed, and what `tools` has for the call; `root` and `error` are valid.
#[no_mangle]
pub unsafe extern "C" fn drv_mcp_open(
    text: *const u8,
    len: usize,
    tools: *const Tools,
    max_depth: u32,
    max_collisions: usize,
    root: *mut *const Node,
    error: *mut Error,
) -> *mut c_void {
    // SAFETY: the caller's.
    let (text, tools) = unsafe { (borrowed(text, len), &*tools) };
    let read = shield(Err("the server failed to read it".to_owned()), || read(text, tools, max_depth, max_collisions));
    match read {
        Ok((read, node)) => {
            // SAFETY: the caller's.
            unsafe { root.write(node) };
            Box::into_raw(Box::new(read)).cast()
        }
        Err(message) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, message) };
            ptr::null_mut()
        }
    }
}

/// Frees what `drv_mcp_open` gave, and with it every node.
///
/// # Safety
/// `read` is a handle that is not closed yet.
#[no_mangle]
pub unsafe extern "C" fn drv_mcp_close(read: *mut c_void) {
    // SAFETY: made by Box::into_raw in drv_mcp_open.
    drop(unsafe { Box::from_raw(read.cast::<Read<'static>>()) });
}

fn read<'a>(
    text: &'a [u8],
    tools: &Tools,
    max_depth: u32,
    max_collisions: usize,
) -> Result<(Read<'a>, *const Node), String> {
    let value = Value::parse(text, max_depth).map_err(|malformed| malformed.to_string())?;
    let arena = Bump::with_capacity((text.len() * 8).clamp(512, 1 << 20));
    let build = Build::new(&arena);
    let node = match &value {
        Value::Array(messages) if messages.len() > MOST => {
            refusal(build, None, &format!("at most {MOST} messages at a time, not {}", messages.len()))
        }
        Value::Array(messages) if !messages.is_empty() => {
            build.list_of(messages.iter().map(|one| message(build, one, tools)))
        }
        one => message(build, one, tools),
    };
    with_guard(|guard| guard.check(max_collisions, |visit: &mut Visit| node.strings(visit)))
        .map_err(|e| e.to_string())?;
    let root = ptr::from_ref(arena.alloc(node));
    Ok((Read { _arena: arena, _value: value }, root))
}

/// Writes the answer to a call whose tool gave a text, or JSON, which is structured content, too: before 2026
/// (`objects_only`) if it is an object. It is put where an error would be; 0 for bytes that are no UTF-8.
///
/// # Safety
/// C lends the texts for the call; `answer` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_mcp_answer(
    id: Str,
    body: Str,
    is_json: i32,
    objects_only: i32,
    end: Str,
    answer: *mut Error,
) -> i32 {
    // SAFETY: C lends the texts for the call.
    let (id, body, end) = unsafe { (id.as_bytes(), body.as_bytes(), end.as_bytes()) };
    let is_structured = is_json != 0 && (objects_only == 0 || body.trim_ascii_start().first() == Some(&b'{'));
    let text = shield(None, || written(id, body, is_structured, end));
    let is_written = i32::from(text.is_some());
    // SAFETY: the caller's.
    unsafe { Error::put(answer, 0, text.unwrap_or_default()) };
    is_written
}

/// `end`: what further members the result has, and its brace.
fn written(id: &[u8], body: &[u8], is_structured: bool, end: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(body.len() * 2 + end.len() + 128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id);
    out.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    quoted(&mut out, body);
    out.extend_from_slice(b"}]");
    if is_structured {
        out.extend_from_slice(b",\"structuredContent\":");
        out.extend_from_slice(body);
    }
    out.extend_from_slice(end);
    out.push(b'}');
    String::from_utf8(out).ok()
}

/// Fields of a message: its id as JSON, whether it asks for an answer, why it is no message, its method and params,
/// what is wrong with the arguments of a tool, and all of it, if it answers a question of the server's. `NULL` where
/// there is no such thing.
const FIELDS: [&str; 7] = ["id", "asks", "refusal", "method", "params", "problem", "reply"];

fn message<'b>(build: Build<'b>, value: &'b Value<'_>, tools: &Tools) -> Node {
    let Value::Object(_) = value else { return refusal(build, None, "the body must be an object") };
    let id = match member(value, "id") {
        None => None,
        Some(id) => match id_text(id) {
            None => return refusal(build, None, "`id` must be a string or a whole number"),
            id => id,
        },
    };
    let id = id.as_deref();
    if !matches!(member(value, "jsonrpc"), Some(Value::String(version)) if version == "2.0") {
        return refusal(build, id, "`jsonrpc` must be \"2.0\"");
    }
    let params = member(value, "params").filter(|params| **params != Value::Null);
    let method = match member(value, "method") {
        Some(Value::String(method)) => method,
        None if member(value, "result").or_else(|| member(value, "error")).is_some() => {
            let mut reply = [Node::NULL; 7];
            reply[6] = plain(build, value);
            return fields(build, reply);
        }
        _ => return refusal(build, id, "`method` must be a string"),
    };
    if !matches!(params, None | Some(Value::Object(_))) {
        return refusal(build, id, "`params` must be an object");
    }
    let problem = params.filter(|_| method == "tools/call").and_then(|params| wrong_arguments(params, tools));
    fields(
        build,
        [
            id.map_or(Node::NULL, |id| build.copied(id)),
            build.vector(Kind::Lgl, &[i32::from(id.is_some())]),
            Node::NULL,
            build.string(method),
            params.map_or(Node::NULL, |params| plain(build, params)),
            problem.map_or(Node::NULL, |problem| build.copied(&problem)),
            Node::NULL,
        ],
    )
}

fn refusal(build: Build<'_>, id: Option<&str>, why: &str) -> Node {
    let id = id.map_or(Node::NULL, |id| build.copied(id));
    fields(build, [id, Node::NULL, build.copied(why), Node::NULL, Node::NULL, Node::NULL, Node::NULL])
}

fn member<'v, 'a>(value: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    let Value::Object(members) = value else { return None };
    members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// An id as JSON; `None` for a value that is none.
fn id_text(id: &Value<'_>) -> Option<String> {
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

/// What is wrong with the arguments of a call, if there is such a tool, and they are an object: the rest is R's.
fn wrong_arguments(params: &Value<'_>, tools: &Tools) -> Option<String> {
    let Some(Value::String(name)) = member(params, "name") else { return None };
    // SAFETY: C lends both for the call.
    let (names, schemas) = unsafe {
        if tools.n == 0 {
            return None;
        }
        (std::slice::from_raw_parts(tools.names, tools.n), std::slice::from_raw_parts(tools.schemas, tools.n))
    };
    // SAFETY: the same.
    let at = names.iter().position(|one| unsafe { one.as_bytes() } == name.as_bytes())?;
    // SAFETY: the same.
    let schema = match ready(unsafe { schemas[at].as_bytes() }) {
        Ok(schema) => schema,
        Err(problem) => return Some(problem),
    };
    match member(params, "arguments") {
        None | Some(Value::Null) => misfit(&schema, &Value::Object(Vec::new())),
        Some(object @ Value::Object(_)) => misfit(&schema, object),
        Some(_) => None,
    }
}

fn fields(build: Build<'_>, of: [Node; 7]) -> Node {
    build.list(&of).named(build.names(&FIELDS))
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

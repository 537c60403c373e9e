//! Messages of the Model Context Protocol for R: JSON-RPC in the POST of a client, read and refused where it is none.
//! Not for what messages mean: R/mcp-methods.R. `envelope` is what a POST says of its message, `message` one message,
//! `answer` what goes out. Neighbours: src/mcp.c; the crate `schema`, which judges arguments.

mod answer;
mod envelope;
mod message;

use crate::json::Build;
use crate::node::{Node, Str};
use crate::shield::{borrowed, shield, Error};
use crate::strings::with_guard;
use bumpalo::Bump;
use envelope::Fields;
use fields::guard::Visit;
use schema::Value;
use std::ffi::c_void;
use std::ptr;

/// What C lends for one call: the names of all tools, and as many schemas of their arguments.
#[repr(C)]
pub struct Tools {
    names: *const Str,
    schemas: *const Str,
    n: usize,
}

/// How much a message may ask of the reader.
#[repr(C)]
pub struct Bounds {
    max_depth: u32,
    max_collisions: usize,
}

/// The nodes of what was read. They point into the arena, the values and the text.
struct Read<'a> {
    _arena: Bump,
    _value: Option<Value<'a>>,
}

/// Reads a body, and gives a handle for `drv_mcp_close`. With the header fields of a POST `root` is what `envelope`
/// says of it; without them it is the message. Null and an error for what breaks a limit or, without fields, is no
/// JSON.
///
/// # Safety
/// C lends `text` until the handle is closed, and what `tools` and `fields` have for the call; `fields` may be null;
/// `root` and `error` are valid.
#[no_mangle]
pub unsafe extern "C" fn drv_mcp_open(
    text: *const u8,
    len: usize,
    tools: *const Tools,
    fields: *const Fields,
    bounds: *const Bounds,
    root: *mut *const Node,
    error: *mut Error,
) -> *mut c_void {
    // SAFETY: the caller's.
    let (text, tools, fields, bounds) = unsafe { (borrowed(text, len), &*tools, fields.as_ref(), &*bounds) };
    let read = shield(Err("the server failed to read it".to_owned()), || read(text, tools, fields, bounds));
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
    fields: Option<&Fields>,
    bounds: &Bounds,
) -> Result<(Read<'a>, *const Node), String> {
    let value = Value::parse(text, bounds.max_depth).map_err(|malformed| malformed.to_string());
    let arena = Bump::with_capacity((text.len() * 8).clamp(512, 1 << 20));
    let build = Build::new(&arena);
    let node = match (fields, &value) {
        (Some(fields), value) => envelope::node(build, fields, value.as_ref(), tools),
        (None, Ok(value)) => message::node(build, message::read(value), tools, false),
        (None, Err(malformed)) => return Err(malformed.clone()),
    };
    with_guard(|guard| guard.check(bounds.max_collisions, |visit: &mut Visit| node.strings(visit)))
        .map_err(|e| e.to_string())?;
    let root = ptr::from_ref(arena.alloc(node));
    Ok((Read { _arena: arena, _value: value.ok() }, root))
}

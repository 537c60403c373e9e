//! The answer to a call of a tool that is as most are.

use crate::json::quoted;
use crate::node::Str;
use crate::shield::{shield, Error};

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

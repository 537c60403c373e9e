//! The text of Server-Sent Events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>), for
//! `src/events.c`. What is not as usual (text that is no UTF-8, a field that must not have line breaks and has) is left
//! to R, which has the error for it.

use crate::node::Str;
use crate::shield::shield;
use std::cell::RefCell;

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Frees the last text, which C no longer reads.
pub(crate) fn forget() {
    TEXT.take();
}

/// The fields of an event; NA for those that it does not have. As `drv_sse` in C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    comment: Str,
    event: Str,
    id: Str,
    retry: Str,
    data: Str,
}

/// The text of an event, valid until the next; empty when it has no fields, NA when R has to look at them.
///
/// # Safety
/// C lends the fields for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_sse_text(event: *const Event) -> Str {
    // SAFETY: the caller's.
    let event = unsafe { *event };
    // SAFETY: the caller's.
    let field = |text: Str| (!text.is_na()).then(|| unsafe { text.as_bytes() });
    let fields = Fields {
        comment: field(event.comment),
        one_line: [("event", field(event.event)), ("id", field(event.id)), ("retry", field(event.retry))],
        data: field(event.data),
    };
    shield(Str::NA, || {
        TEXT.with_borrow_mut(|text| {
            kept::empty(text);
            fields.write(text).map_or(Str::NA, |()| Str::new(text))
        })
    })
}

struct Fields<'a> {
    comment: Option<&'a [u8]>,
    one_line: [(&'static str, Option<&'a [u8]>); 3],
    data: Option<&'a [u8]>,
}

impl Fields<'_> {
    /// `None` when R has to look at them.
    fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        lines("", self.comment, out)?;
        for (name, value) in self.one_line {
            let Some(value) = value else { continue };
            let fits = if name == "retry" {
                !value.is_empty() && value.iter().all(u8::is_ascii_digit)
            } else {
                std::str::from_utf8(value).is_ok() && !value.iter().any(is_break)
            };
            fits.then(|| line(name, value, out))?;
        }
        lines("data", self.data, out)?;
        if !out.is_empty() {
            out.push(b'\n');
        }
        Some(())
    }
}

fn is_break(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn line(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Text of any number of lines, each of which is a field of its own. CR, LF and both together end one. A CR at the very
/// end does not begin an empty line after it: with the line break behind each field it is one.
fn lines(name: &str, text: Option<&[u8]>, out: &mut Vec<u8>) -> Option<()> {
    let Some(text) = text else { return Some(()) };
    std::str::from_utf8(text).ok()?;
    let mut rest = text;
    while let Some(at) = rest.iter().position(is_break) {
        line(name, &rest[..at], out);
        let both = rest[at..].starts_with(b"\r\n");
        if &rest[at..] == b"\r" {
            return Some(());
        }
        rest = &rest[at + 1 + usize::from(both)..];
    }
    line(name, rest, out);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(data: Option<&[u8]>, event: Option<&[u8]>, retry: Option<&[u8]>) -> Option<String> {
        let fields = Fields { comment: None, one_line: [("event", event), ("id", None), ("retry", retry)], data };
        let mut out = Vec::new();
        fields.write(&mut out).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn each_line_is_a_field() {
        let of = |data: &str| text(Some(data.as_bytes()), None, None).unwrap();
        assert_eq!(of("a"), "data: a\n\n");
        assert_eq!(of(""), "data: \n\n");
        assert_eq!(of("a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
        assert_eq!(of("a\r"), "data: a\n\n");
        assert_eq!(of("a\r\r"), "data: a\ndata: \n\n");
        assert_eq!(of("\n\r"), "data: \ndata: \n\n");
        assert_eq!(text(None, None, None).unwrap(), "");
        assert_eq!(text(Some(b"x"), Some(b"tick"), Some(b"10")).unwrap(), "event: tick\nretry: 10\ndata: x\n\n");
    }

    #[test]
    fn what_would_be_another_field_is_left_to_r() {
        for event in [&b"a\nb"[..], b"a\r", b"\xff"] {
            assert_eq!(text(None, Some(event), None), None);
        }
        for retry in [&b""[..], b"-1", b"1.5", b"1\n"] {
            assert_eq!(text(None, None, Some(retry)), None);
        }
        assert_eq!(text(Some(b"\xff"), None, None), None);
    }
}

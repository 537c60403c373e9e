//! Messages of what handlers return: the kinds of value that need no R code to become a reply.
//!
//! String: text. Raw: bytes. `NULL`: 204. A response: as it says. Other lists, data frames and vectors: JSON, as far as
//! the native writer goes. Everything else is left to R (`as_response()`), which comes back with a response or an
//! error.

use crate::json::{self, JsonOptions};
use crate::r::{self, kind, List, Sexp};
use std::borrow::Cow;
use std::os::fd::RawFd;
use wire::{ContentType, ReplyBody, ReplyHead};

/// What is to be sent.
#[derive(Default)]
pub struct Made {
    /// the descriptor that goes with the message; the response has it
    pub file: Option<RawFd>,
    /// it is the head of a stream
    pub streams: bool,
}

/// Appends the reply that `value` is. `None` when R has to look at it; `out` is then as it was.
pub fn value(value: Sexp, out: &mut Vec<u8>) -> Option<Made> {
    let start = out.len();
    let made = try_value(value, out);
    if made.is_none() {
        out.truncate(start);
    }
    made
}

fn try_value(value: Sexp, out: &mut Vec<u8>) -> Option<Made> {
    let attributes = r::attributes(value);
    let bare = attributes.class.is_null() && !r::is_s4(value);
    match r::type_of(value) {
        kind::NULL => {
            head(204, ContentType::None, out);
            Some(Made::default())
        }
        kind::STRING if bare && length(value)? == 1 && attributes.dim.is_null() && attributes.names.is_null() => {
            let text = text(value)?;
            head(200, ContentType::Text, out);
            out.extend_from_slice(&text);
            Some(Made::default())
        }
        kind::RAW if bare => {
            // SAFETY: a raw vector, protected by the caller.
            let bytes = unsafe { r::elements::<u8>(value) }?;
            head(200, ContentType::Octet, out);
            out.extend_from_slice(bytes);
            Some(Made::default())
        }
        kind::LIST if is_response(attributes.class) => response(value, attributes.names, out),
        kind::LIST | kind::LOGICAL | kind::INTEGER | kind::DOUBLE | kind::STRING => {
            // classes that are more than data (a promise, a connection) are for R to see
            if !bare && !is_data(attributes.class) {
                return None;
            }
            head(200, ContentType::Json, out);
            json::write(value, &JsonOptions::REPLY, out).ok().map(|()| Made::default())
        }
        _ => None,
    }
}

fn head(status: u16, content_type: ContentType, out: &mut Vec<u8>) {
    ReplyHead { status, content_type }.encode_before_body(ReplyBody::Bytes(&[]), std::iter::empty, out);
}

fn length(x: Sexp) -> Option<usize> {
    // SAFETY: a character vector, protected by the caller; its elements are pointers.
    unsafe { r::elements::<Sexp>(x) }.map(<[Sexp]>::len)
}

/// The only element of a character vector, as UTF-8. `None` for NA and for what is not text.
fn text<'a>(x: Sexp) -> Option<Cow<'a, [u8]>> {
    // SAFETY: as in `length`.
    match unsafe { r::elements::<Sexp>(x) }? {
        [one] => string(*one).filter(|bytes| std::str::from_utf8(bytes).is_ok()),
        _ => None,
    }
}

fn class_is(class: Sexp, name: &[u8]) -> bool {
    // SAFETY: the class attribute of a protected value is a character vector.
    !class.is_null() && unsafe { r::elements::<Sexp>(class) }.is_some_and(|c| c.iter().any(|s| r::bytes(*s) == name))
}

fn is_response(class: Sexp) -> bool {
    class_is(class, b"dr_response")
}

fn is_data(class: Sexp) -> bool {
    [&b"data.frame"[..], b"factor", b"Date", b"POSIXct"].iter().any(|name| class_is(class, name))
}

/// Name and value of a header field.
type Field<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

/// The parts of a `dr_response`.
#[derive(Default)]
struct Parts<'a> {
    status: Option<u16>,
    content_type: Option<ContentType>,
    headers: Vec<Field<'a>>,
    body: Cow<'a, [u8]>,
    file: Option<Cow<'a, [u8]>>,
    opened: Option<RawFd>,
    streams: bool,
}

fn response(value: Sexp, names: Sexp, out: &mut Vec<u8>) -> Option<Made> {
    let names = non_null(names)?;
    // SAFETY: a list and its names, protected by the caller.
    let (list, names) = unsafe { (List::new(value)?, r::elements::<Sexp>(names)?) };
    let mut parts = Parts::default();
    for (i, name) in names.iter().enumerate() {
        let item = list.get(i);
        match r::bytes(*name) {
            b"status" => parts.status = Some(status(item)?),
            b"body" => parts.body = body(item)?,
            b"headers" => headers(item, &mut parts)?,
            b"file" if !r::is_null(item) => {
                parts.file = Some(text(item)?);
                parts.opened = r::opened(item);
            }
            b"stream" => parts.streams = !r::is_null(item),
            _ => {}
        }
    }
    let head = ReplyHead { status: parts.status?, content_type: parts.content_type.unwrap_or(ContentType::None) };
    let body = match &parts.file {
        Some(path) if parts.opened.is_some() => ReplyBody::Opened(path),
        Some(path) => ReplyBody::File(path),
        None if parts.streams => ReplyBody::Stream,
        None => ReplyBody::Bytes(&parts.body),
    };
    head.encode(body, || parts.headers.iter().map(|(n, v)| (&**n, &**v)), out);
    Some(Made { file: parts.opened, streams: body == ReplyBody::Stream })
}

/// One whole number that is a status.
fn status(x: Sexp) -> Option<u16> {
    let number = match r::type_of(x) {
        // SAFETY: a vector of the type just seen, part of a protected list.
        kind::INTEGER => match unsafe { r::elements::<i32>(x) }? {
            [one] => f64::from(*one),
            _ => return None,
        },
        // SAFETY: as above.
        kind::DOUBLE => match unsafe { r::elements::<f64>(x) }? {
            [one] => *one,
            _ => return None,
        },
        _ => return None,
    };
    ((100.0..=599.0).contains(&number) && number.fract() == 0.0).then_some(number as u16)
}

fn body<'a>(x: Sexp) -> Option<Cow<'a, [u8]>> {
    match r::type_of(x) {
        kind::NULL => Some(Cow::Borrowed(&[])),
        // SAFETY: a raw vector, part of a protected list.
        kind::RAW => unsafe { r::elements::<u8>(x) }.map(Cow::Borrowed),
        kind::STRING => text(x),
        _ => None,
    }
}

/// Header fields: a named list of character vectors, or a named character vector. A value of several strings is several
/// fields.
fn headers<'a>(x: Sexp, parts: &mut Parts<'a>) -> Option<()> {
    let names = r::attributes(x).names;
    match r::type_of(x) {
        kind::NULL => Some(()),
        kind::LIST => {
            // SAFETY: as the type says, part of a protected list.
            let list = unsafe { List::new(x) }?;
            if list.is_empty() {
                return Some(());
            }
            // SAFETY: names are a character vector.
            let names = unsafe { r::elements::<Sexp>(non_null(names)?) }?;
            names.iter().enumerate().try_for_each(|(i, name)| {
                // SAFETY: checked to be a character vector first.
                let values = (r::type_of(list.get(i)) == kind::STRING)
                    .then(|| unsafe { r::elements::<Sexp>(list.get(i)) })??;
                values.iter().try_for_each(|value| header(*name, *value, parts))
            })
        }
        kind::STRING => {
            // SAFETY: as the type says; names are a character vector.
            let values = unsafe { r::elements::<Sexp>(x) }?;
            if values.is_empty() {
                return Some(());
            }
            // SAFETY: as above.
            let names = unsafe { r::elements::<Sexp>(non_null(names)?) }?;
            names.iter().zip(values).try_for_each(|(name, value)| header(*name, *value, parts))
        }
        _ => None,
    }
}

fn non_null(x: Sexp) -> Option<Sexp> {
    (!x.is_null()).then_some(x)
}

fn header<'a>(name: Sexp, value: Sexp, parts: &mut Parts<'a>) -> Option<()> {
    let (name, value) = (string(name)?, string(value)?);
    if name.eq_ignore_ascii_case(b"content-type") {
        parts.content_type = ContentType::of_value(&value);
        if parts.content_type.is_some() {
            return Some(());
        }
    }
    parts.headers.push((name, value));
    Some(())
}

fn string<'a>(s: Sexp) -> Option<Cow<'a, [u8]>> {
    if r::is_na_string(s) {
        return None;
    }
    match r::encoding(s) {
        r::Encoding::Utf8 => Some(Cow::Borrowed(r::bytes(s))),
        r::Encoding::Bytes => None,
        r::Encoding::Other => r::translate(s).map(Cow::Owned),
    }
}

/// Appends a reply by which the server makes an error response of `status` itself. Headers that cannot be read are left
/// out.
pub fn failure(status: i32, detail: &[u8], extra: Sexp, out: &mut Vec<u8>) {
    let status = u16::try_from(status).ok().filter(|s| (400..=599).contains(s)).unwrap_or(500);
    let mut parts = Parts::default();
    if headers(extra, &mut parts).is_none() {
        parts.headers.clear();
    }
    let head = ReplyHead { status, content_type: ContentType::None };
    head.encode(ReplyBody::Failure(detail), || parts.headers.iter().map(|(n, v)| (&**n, &**v)), out);
}

//! The response that a worker's reply describes. What a handler set is checked here: a header that would split the response,
//! or a status that is not one, becomes 500.

use super::{add_nosniff, from_asset, Body, Failure, PipeReader, Response};
use crate::assets;
use crate::head::Fields;
use bytes::{Buf, Bytes};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::Path;
use wire::{ContentType, Reply, ReplyBody};

/// What came of a reply.
pub enum Replied {
    /// a response
    Response(Response),
    /// a failure of this status, to be told by the server
    Failure(Failure),
    /// the handler did something impossible: 500, with this for the log
    Wrong(String),
}

/// Reads the message of a reply. `method` and `request` are those of the request, for files (ranges, conditions); long bodies
/// are in the folder `spool`.
pub fn from_reply(mut message: Bytes, method: &Method, request: &Fields, spool: &Path) -> Replied {
    let reply = match Reply::decode(&message) {
        Ok(reply) => reply,
        Err(e) => return Replied::Wrong(format!("the reply of the worker is unreadable: {e}")),
    };
    let (status, headers) = match head_of(&reply) {
        Ok(head) => head,
        Err(why) => return Replied::Wrong(why),
    };
    match reply.body {
        ReplyBody::Failure(detail) => {
            let mut failure = Failure::new(status, String::from_utf8_lossy(detail));
            failure.headers = headers;
            Replied::Failure(failure)
        }
        ReplyBody::Bytes(bytes) => {
            // the body is the end of the message: it stays where it is
            let before = message.len() - bytes.len();
            message.advance(before);
            let body = if is_bodiless(status) { Body::empty() } else { Body::bytes(message) };
            let mut response = Response::new(body);
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Replied::Response(response)
        }
        ReplyBody::Stream => Replied::Wrong("the worker streams where it cannot".to_owned()),
        ReplyBody::File(path) => file(path, status, headers, method, request),
        ReplyBody::Spooled(name) => match take(spool, name) {
            Ok((file, len)) => {
                let mut response = Response::new(Body::file(file, 0, len));
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Replied::Response(response)
            }
            Err(e) => Replied::Wrong(format!("the body of the reply cannot be read: {e}")),
        },
    }
}

/// Reads the message of a head whose body comes through a pipe.
pub fn from_head(message: &[u8], reader: PipeReader) -> Replied {
    let head = Reply::decode(message).map_err(|e| format!("the reply of the worker is unreadable: {e}"));
    match head.and_then(|reply| head_of(&reply)) {
        Ok((status, headers)) => {
            let mut response = Response::new(if is_bodiless(status) { Body::empty() } else { Body::pipe(reader) });
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Replied::Response(response)
        }
        Err(why) => Replied::Wrong(why),
    }
}

/// Status and headers, checked.
fn head_of(reply: &Reply<'_>) -> Result<(StatusCode, HeaderMap), String> {
    Ok((is_final(reply.status)?, headers_of(reply)?))
}

/// Opens the file of a spooled body, and removes its name. Only plain names of workers' making are touched.
fn take(spool: &Path, name: &[u8]) -> io::Result<(File, u64)> {
    let name = std::str::from_utf8(name).ok().filter(|n| n.starts_with("drover-reply-") && !n.contains('/'));
    let path = spool.join(name.ok_or_else(|| io::Error::other("its name is not one of ours"))?);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    std::fs::remove_file(&path)?;
    let len = file.metadata()?.len();
    Ok((file, len))
}

/// A reply that nobody wants: what it left in the folder `spool` goes.
pub fn discard(message: &[u8], spool: &Path) {
    if let Ok(Reply { body: ReplyBody::Spooled(name), .. }) = Reply::decode(message) {
        // one that is not there needs no removing
        let _ = take(spool, name);
    }
}

fn headers_of(reply: &Reply<'_>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(4);
    let content_type = match reply.content_type {
        ContentType::None => None,
        ContentType::Text => Some("text/plain; charset=utf-8"),
        ContentType::Json => Some("application/json"),
        ContentType::Html => Some("text/html; charset=utf-8"),
        ContentType::Octet => Some("application/octet-stream"),
    };
    if let Some(content_type) = content_type {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    fields(reply.headers(), &mut headers)?;
    Ok(headers)
}

/// The status, when it is one that ends an exchange.
pub(super) fn is_final(status: u16) -> Result<StatusCode, String> {
    match StatusCode::from_u16(status) {
        Ok(s) if !s.is_informational() => Ok(s),
        _ => Err(format!("the handler's status {status} is not a final one")),
    }
}

/// Whether responses of this status have no body, whatever the handler gave.
pub(super) fn is_bodiless(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Adds what a handler set, and what every response has.
pub(super) fn fields<'h>(
    given: impl Iterator<Item = (&'h [u8], &'h [u8])>,
    headers: &mut HeaderMap,
) -> Result<(), String> {
    for (name, value) in given {
        let wrong =
            |what| format!("the handler set a header with an invalid {what}: {}", String::from_utf8_lossy(name));
        let name = HeaderName::from_bytes(name).map_err(|_| wrong("name"))?;
        // framing is the server's: a length or coding of the handler's could only contradict it
        if [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION].contains(&name) {
            continue;
        }
        let value = HeaderValue::from_bytes(value).map_err(|_| wrong("value"))?;
        if name == CONTENT_TYPE {
            headers.insert(name, value);
        } else {
            headers.append(name, value);
        }
    }
    add_nosniff(headers);
    Ok(())
}

fn file(path: &[u8], status: StatusCode, headers: HeaderMap, method: &Method, request: &Fields) -> Replied {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    match assets::file_response(path, status, headers, method, request) {
        Ok(asset) => from_asset(asset).map_or_else(Replied::Failure, Replied::Response),
        Err(e) => Replied::Wrong(format!("dr_file: cannot send {}: {e}", path.display())),
    }
}

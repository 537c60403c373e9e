//! The response that a worker's reply describes. What a handler set is checked here: a header that would split the
//! response, or a status that is not one, becomes 500.

use super::from_asset;
use crate::assets::{self, AssetBody};
use bytes::{Buf, Bytes};
use exchange::PipeReader;
use http::header::TRAILER;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use httpd::Fields;
use httpd::{is_final, Body, Failure, Response, ResponseFields};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use wire::{Reply, ReplyBody, SESSION};

/// What came of a reply.
pub enum Replied {
    /// a response
    Response(Response),
    /// a failure of this status, to be told by the server
    Failure(Failure),
    /// the handler did something impossible: 500, with this for the log
    Wrong(String),
}

/// Reads the message of a reply, with the file that came with it: its body when that is long, or a file that the
/// handler opened. `method` and `request` are those of the request, for files (ranges, conditions).
pub fn from_reply(mut message: Bytes, sent: Option<OwnedFd>, method: &Method, request: &Fields) -> Replied {
    let reply = match Reply::decode(&message) {
        Ok(reply) => reply,
        Err(e) => return Replied::Wrong(format!("the reply of the worker is unreadable: {e}")),
    };
    let (status, fields) = match head_of(&reply) {
        Ok(head) => head,
        Err(why) => return Replied::Wrong(why),
    };
    match reply.body {
        ReplyBody::Failure(detail) => {
            let mut failure = Failure::new(status, String::from_utf8_lossy(detail)).of_handler();
            failure.fields = fields;
            Replied::Failure(failure)
        }
        ReplyBody::Bytes(bytes) => {
            // the body is the end of the message: it stays where it is
            let before = message.len() - bytes.len();
            message.advance(before);
            Replied::Response(Response::new(status, fields, Body::bytes(message)))
        }
        ReplyBody::Stream => Replied::Wrong("the worker streams where it cannot".to_owned()),
        ReplyBody::File(path) => {
            from_file(path, &fields, |path, fields| assets::file_response(path, status, fields, method, request))
        }
        ReplyBody::Opened(path) => from_file(path, &fields, |path, fields| {
            assets::opened_response(path, expected(sent)?, status, fields, method, request)
        }),
        ReplyBody::Spooled => match measured(sent) {
            Ok((file, len)) => Replied::Response(Response::new(status, fields, Body::spooled(file, len))),
            Err(e) => Replied::Wrong(format!("the body of the reply cannot be read: {e}")),
        },
    }
}

/// Reads the message of a head whose body comes through a pipe.
pub fn from_head(message: &[u8], reader: PipeReader) -> Replied {
    let head = Reply::decode(message).map_err(|e| format!("the reply of the worker is unreadable: {e}"));
    match head.and_then(|reply| head_of(&reply).map(|(status, fields)| (status, announced(&reply, fields)))) {
        Ok((status, fields)) => Replied::Response(Response::new(status, fields, Body::pipe(reader))),
        Err(why) => Replied::Wrong(why),
    }
}

/// With the names of the trailers that a handler says will come: only a stream has any.
fn announced(reply: &Reply<'_>, mut fields: ResponseFields) -> ResponseFields {
    let names = reply.headers().filter(|(name, _)| name.eq_ignore_ascii_case(TRAILER.as_str().as_bytes())).last();
    if let Some(names) = names.and_then(|(_, names)| HeaderValue::from_bytes(names).ok()) {
        fields.set(&TRAILER, &names);
    }
    fields
}

/// Status and fields, checked.
fn head_of(reply: &Reply<'_>) -> Result<(StatusCode, ResponseFields), String> {
    let fields = fields_of(reply.content_type.value(), reply)?;
    Ok((is_final(reply.status)?, fields))
}

/// The fields of a reply, checked, and the session that it has among them.
pub fn fields_of(content_type: Option<&[u8]>, reply: &Reply<'_>) -> Result<ResponseFields, String> {
    checked(content_type, || reply.headers())
}

/// Fields that a handler gave, checked: the session, which is none, goes aside.
pub fn checked<'a, I>(content_type: Option<&[u8]>, given: impl Fn() -> I) -> Result<ResponseFields, String>
where
    I: Iterator<Item = (&'a [u8], &'a [u8])>,
{
    let mut fields = ResponseFields::of_handler(content_type, || given().filter(|(name, _)| *name != SESSION))?;
    fields.aside = given().filter(|(name, _)| *name == SESSION).last().map(|(_, text)| text.to_vec());
    Ok(fields)
}

/// A file that a worker has sent, and its length.
fn measured(file: Option<OwnedFd>) -> io::Result<(File, u64)> {
    let file = File::from(expected(file)?);
    let len = file.metadata()?.len();
    Ok((file, len))
}

fn expected(file: Option<OwnedFd>) -> io::Result<OwnedFd> {
    file.ok_or_else(|| io::Error::other("no regular file came with it"))
}

fn from_file(
    path: &[u8],
    fields: &ResponseFields,
    response: impl FnOnce(&Path, HeaderMap) -> io::Result<http::Response<AssetBody>>,
) -> Replied {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    match response(path, fields.to_map()).map(from_asset) {
        Ok(Ok(mut response)) => {
            // no field, so the file's fields do not have it
            response.fields.aside.clone_from(&fields.aside);
            Replied::Response(response)
        }
        Ok(Err(failure)) => Replied::Failure(failure),
        Err(e) => Replied::Wrong(format!("dr_file: cannot send {}: {e}", path.display())),
    }
}

//! An open file as a response: conditions, ranges, validators, body.

use super::media_type;
use super::range::{parts, total, Parts};
use super::root::{open_file, regular_file, Opened};
use super::validators::{Validators, Verdict};
use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use httpd::Fields;
use rustix::buffer::spare_capacity;
use rustix::io::{pread, Errno};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::SystemTime;

/// A part up to this long is read at once, by the thread that answers: from the page cache that costs less than handing
/// the file on.
const READ_AT_ONCE: u64 = 64 << 10;

/// Several ranges are put together in memory; longer ones are answered with the whole file, which is streamed.
const MAX_MULTIPART: u64 = 1 << 20;

/// The body of a response from a file.
#[derive(Debug)]
pub enum AssetBody {
    /// No body; in the answer to a `HEAD`, `Content-Length` says what a `GET` would get.
    Empty,
    /// Nothing is sent: the status, 400 or above, and the headers say why, and the text is the engine's, as for all its
    /// errors.
    Refused,
    /// The whole body.
    Bytes(Bytes),
    /// Bytes `offset .. offset + len` of an open regular file, to be streamed. The file may turn out shorter, if
    /// someone cuts it off meanwhile: then the response cannot be completed.
    File {
        /// open for reading
        file: File,
        /// in bytes
        offset: u64,
        /// in bytes
        len: u64,
    },
}

/// The response with the file at `path`, for `dr_file()`.
///
/// `path` is the app's choice: links are followed and nothing is hidden. `headers` are the app's; `Content-Type`,
/// `ETag` and `Last-Modified` are added where it gave none. Conditions and ranges of the `request` are followed when
/// `status` is 200 and the method `GET` or `HEAD`; 412 and 416 are [`AssetBody::Refused`] and come without the app's
/// headers.
///
/// An error when there is no readable regular file at `path`.
pub fn file_response(
    path: &Path,
    status: StatusCode,
    headers: HeaderMap,
    method: &Method,
    request: &Fields,
) -> io::Result<Response<AssetBody>> {
    at_path(path, open_file(path)?, status, headers, method, request)
}

/// The same for a file that is open already, and may have no path any more.
pub fn opened_response(
    path: &Path,
    file: OwnedFd,
    status: StatusCode,
    headers: HeaderMap,
    method: &Method,
    request: &Fields,
) -> io::Result<Response<AssetBody>> {
    at_path(path, regular_file(file)?, status, headers, method, request)
}

fn at_path(
    path: &Path,
    opened: Opened,
    status: StatusCode,
    mut headers: HeaderMap,
    method: &Method,
    request: &Fields,
) -> io::Result<Response<AssetBody>> {
    if !headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, media_type::of(&path.to_string_lossy()).header);
    }
    deliver(opened, status, headers, method, request)
}

/// The response with an open file. `headers` has its `Content-Type`, and what else is known of it.
pub(super) fn deliver(
    opened: Opened,
    status: StatusCode,
    mut headers: HeaderMap,
    method: &Method,
    request: &Fields,
) -> io::Result<Response<AssetBody>> {
    let size = opened.size();
    let validators = Validators::new(&opened, &headers, SystemTime::now());
    let selectable = status == StatusCode::OK && (method == Method::GET || method == Method::HEAD);
    if selectable {
        match validators.judge(request) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                validators.write_etag(&mut headers);
                for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH] {
                    headers.remove(name);
                }
                return Ok(response(StatusCode::NOT_MODIFIED, headers, AssetBody::Empty));
            }
            Verdict::Failed => return Ok(refusal(StatusCode::PRECONDITION_FAILED, HeaderMap::new())),
        }
    }
    // the framing of the message is the engine's
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    validators.write(&mut headers);
    if selectable {
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    }
    if method == Method::HEAD {
        headers.insert(CONTENT_LENGTH, size.into());
        return Ok(response(status, headers, AssetBody::Empty));
    }
    // Range is defined for GET only (RFC 9110 section 14.2)
    let parts = if selectable && validators.allows_range(request) { parts(request, size) } else { Parts::Whole };
    match parts {
        Parts::Unsatisfiable => {
            let headers = HeaderMap::from_iter([(CONTENT_RANGE, header(format!("bytes */{size}"))?)]);
            Ok(refusal(StatusCode::RANGE_NOT_SATISFIABLE, headers))
        }
        Parts::Ranges(ranges) if ranges.len() == 1 => {
            let range = ranges[0].clone();
            headers.insert(CONTENT_RANGE, header(content_range(&range, size))?);
            Ok(response(StatusCode::PARTIAL_CONTENT, headers, body(opened, range)?))
        }
        Parts::Ranges(ranges) if total(&ranges) <= MAX_MULTIPART => {
            let body = multipart(&opened, &ranges, &mut headers)?;
            Ok(response(StatusCode::PARTIAL_CONTENT, headers, body))
        }
        Parts::Ranges(_) | Parts::Whole => Ok(response(status, headers, body(opened, 0..size)?)),
    }
}

/// A response without its optional parts.
pub(super) fn response(status: StatusCode, headers: HeaderMap, body: AssetBody) -> Response<AssetBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// A response that the engine has yet to give a text.
pub(super) fn refusal(status: StatusCode, headers: HeaderMap) -> Response<AssetBody> {
    response(status, headers, AssetBody::Refused)
}

/// A part of the file.
pub(super) fn body(opened: Opened, range: Range<u64>) -> io::Result<AssetBody> {
    let len = range.end - range.start;
    if len == 0 {
        return Ok(AssetBody::Empty);
    }
    if len > READ_AT_ONCE {
        return Ok(AssetBody::File { file: File::from(opened.fd), offset: range.start, len });
    }
    let mut bytes = Vec::new();
    read(&opened, range, &mut bytes)?;
    Ok(AssetBody::Bytes(bytes.into()))
}

/// Appends a part of the file to `bytes`. An error when the file is shorter by now.
fn read(opened: &Opened, range: Range<u64>, bytes: &mut Vec<u8>) -> io::Result<()> {
    let start = bytes.len();
    let len = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
    bytes.reserve_exact(len);
    while bytes.len() - start < len {
        let done = bytes.len() - start;
        match pread(&opened.fd, spare_capacity(bytes), range.start + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => bytes.truncate(start + len),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Several ranges as `multipart/byteranges` (RFC 9110 section 14.6).
fn multipart(opened: &Opened, ranges: &[Range<u64>], headers: &mut HeaderMap) -> io::Result<AssetBody> {
    let size = opened.size();
    // keyed at random, so that no file can hold the boundary on purpose
    let boundary = format!("{:016x}", RandomState::new().hash_one(size));
    let content_type = header(format!("multipart/byteranges; boundary={boundary}"))?;
    let part_type = headers.insert(CONTENT_TYPE, content_type);
    let mut bytes = Vec::new();
    for range in ranges {
        bytes.extend_from_slice(format!("\r\n--{boundary}\r\n").as_bytes());
        if let Some(part_type) = &part_type {
            bytes.extend_from_slice(b"Content-Type: ");
            bytes.extend_from_slice(part_type.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("Content-Range: {}\r\n\r\n", content_range(range, size)).as_bytes());
        read(opened, range.clone(), &mut bytes)?;
    }
    bytes.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    Ok(AssetBody::Bytes(bytes.into()))
}

fn content_range(range: &Range<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end - 1)
}

fn header(text: String) -> io::Result<HeaderValue> {
    HeaderValue::try_from(text).map_err(io::Error::other)
}

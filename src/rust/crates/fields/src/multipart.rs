//! `multipart/form-data` bodies (RFC 7578, framed by RFC 2046, section 5.1).
//!
//! Parsed here and not by a crate: the well-kept ones (`multer`) are made for streams, so they would copy a body
//! that is already whole in memory, do not bound a part's header section, and look for `name=` anywhere in
//! Content-Disposition, also inside a quoted file name. On a slice the framing is a search for one delimiter;
//! the headers of a part are read by `httparse`.
//!
//! Not for urlencoded forms (`query`), nor for where big bodies wait while they arrive (the engine).

use std::borrow::Cow;
use std::path::Path;

use memchr::memmem;

use crate::disposition::Parameterised;
use crate::error::FieldError;
use crate::spool::SpooledFile;
use crate::{text, Pair};

/// Longest header section of a part, in bytes: room for a 4 KB file name, percent-encoded in part.
const MAX_PART_HEADER: usize = 8 << 10;
/// Header fields of a part; form-data knows three (RFC 7578, section 4.8).
const MAX_PART_HEADERS: usize = 16;
/// RFC 2046, section 5.1.1.
const MAX_BOUNDARY: usize = 70;

/// What bounds a body, by the names of the server's settings.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// parts of any sort
    pub max_parts: usize,
    /// text fields
    pub max_fields: usize,
    /// a file of more bytes goes to disk
    pub spool_above: u64,
    /// where it goes; must exist
    pub dir: &'a Path,
}

/// The fields and files of a body, each in the order sent.
#[derive(Debug, Default)]
pub struct Multipart<'a> {
    /// parts without a file name
    pub fields: Vec<Pair<'a>>,
    /// parts with one, even an empty one (a form sent with no file chosen)
    pub files: Vec<FilePart<'a>>,
}

/// An uploaded file.
#[derive(Debug)]
pub struct FilePart<'a> {
    /// name of the form field
    pub field: String,
    /// the client's name for the file: its last path component without control characters; may be empty
    pub filename: String,
    /// media type as the client states it; `application/octet-stream` when it does not
    pub content_type: String,
    /// length in bytes
    pub size: u64,
    /// the bytes, or where they are
    pub content: Content<'a>,
}

/// The bytes of a file.
#[derive(Debug)]
pub enum Content<'a> {
    /// a piece of the body
    Inline(&'a [u8]),
    /// on disk, until dropped
    Spooled(SpooledFile),
}

/// Reads `body`, sent with the header value `content_type`.
///
/// # Errors
/// Status 400 when the content type is not multipart/form-data with a valid boundary; the first or the final
/// delimiter is missing; a part has no name, malformed or oversized headers, or a transfer encoding (RFC 7578,
/// section 4.7); a text field is not UTF-8 or has a NUL; or a limit is passed. Status 500 or 507 when a file
/// cannot be written; files already written are removed.
pub fn parse<'a>(content_type: &[u8], body: &'a [u8], limits: Limits<'_>) -> Result<Multipart<'a>, FieldError> {
    let delimiter = [b"\r\n--", boundary(content_type)?.as_bytes()].concat();
    let finder = memmem::Finder::new(&delimiter);
    // The first delimiter needs no line break before it; a preamble before it is ignored, as the RFC asks.
    let opening = if body.starts_with(&delimiter[2..]) {
        delimiter.len() - 2
    } else {
        finder.find(body).ok_or_else(|| FieldError::malformed("the multipart body lacks its boundary"))?
            + delimiter.len()
    };

    let mut multipart = Multipart::default();
    let mut parts = 0;
    let mut rest = &body[opening..];
    loop {
        if rest.starts_with(b"--") {
            return Ok(multipart);
        }
        if parts == limits.max_parts {
            return Err(FieldError::too_many(format!(
                "the multipart body has more than {} parts (`max_parts`)",
                limits.max_parts
            )));
        }
        parts += 1;
        let head = after_padding(rest)?;
        let (part, content_at) = Part::parse(head)?;
        // From the empty line on: a part without content may end with the line break that ends its headers.
        let from = content_at - 2;
        let end = finder.find(&head[from..]).ok_or_else(incomplete)? + from;
        multipart.add(part, &head[content_at.min(end)..end], limits)?;
        rest = &head[end + delimiter.len()..];
    }
}

/// What follows the blanks and the line break after a delimiter.
fn after_padding(rest: &[u8]) -> Result<&[u8], FieldError> {
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match &rest[blanks..] {
        [b'\r', b'\n', head @ ..] => Ok(head),
        [] | [b'\r'] | [b'-'] => Err(incomplete()),
        _ => Err(FieldError::malformed("a line of the multipart body begins like its boundary, but is not")),
    }
}

fn incomplete() -> FieldError {
    FieldError::malformed("the multipart body ends before its final boundary")
}

fn boundary(content_type: &[u8]) -> Result<String, FieldError> {
    const WHAT: &str = "Content-Type";
    let header = Parameterised::parse(text::checked(content_type, WHAT)?, WHAT)?;
    if !header.value.eq_ignore_ascii_case("multipart/form-data") {
        return Err(FieldError::malformed("the Content-Type is not multipart/form-data"));
    }
    let boundary = header.get("boundary", WHAT)?.unwrap_or_default();
    // RFC 2046, section 5.1.1: bchars, and the last one no blank
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    if boundary.is_empty() || boundary.len() > MAX_BOUNDARY || boundary.ends_with(' ') || !boundary.bytes().all(valid) {
        return Err(FieldError::malformed("the Content-Type has no valid boundary"));
    }
    Ok(boundary.to_owned())
}

/// The headers of a part, as far as they matter.
struct Part {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
}

impl Part {
    /// Reads the headers at the beginning of `head`; also gives the offset of the content.
    fn parse(head: &[u8]) -> Result<(Part, usize), FieldError> {
        const WHAT: &str = "Content-Disposition of a part";
        let window = &head[..head.len().min(MAX_PART_HEADER)];
        let mut headers = [httparse::EMPTY_HEADER; MAX_PART_HEADERS];
        let (content_at, headers) = match httparse::parse_headers(window, &mut headers) {
            Ok(httparse::Status::Complete(complete)) => complete,
            Ok(httparse::Status::Partial) if window.len() == head.len() => return Err(incomplete()),
            Ok(httparse::Status::Partial) => return Err(oversized()),
            Err(httparse::Error::TooManyHeaders) => return Err(oversized()),
            Err(_) => return Err(FieldError::malformed("the headers of a part are malformed")),
        };
        // httparse also takes a bare line feed for a line's end; two readings of one body are one too many
        if has_bare_line_feed(&window[..content_at]) {
            return Err(FieldError::malformed("the headers of a part have a bare line feed"));
        }

        if let Some(encoding) = unique(headers, "content-transfer-encoding")? {
            if !["7bit", "8bit", "binary"].iter().any(|identity| encoding.eq_ignore_ascii_case(identity)) {
                return Err(FieldError::malformed("a part has a Content-Transfer-Encoding, which form data must not"));
            }
        }
        let disposition = unique(headers, "content-disposition")?
            .ok_or_else(|| FieldError::malformed("a part has no Content-Disposition"))?;
        let disposition = Parameterised::parse(disposition, WHAT)?;
        if !disposition.value.eq_ignore_ascii_case("form-data") {
            return Err(FieldError::malformed("the Content-Disposition of a part is not form-data"));
        }
        let name = disposition.get("name", WHAT)?.ok_or_else(|| FieldError::malformed("a part has no name"))?;
        let filename = match (disposition.get("filename", WHAT)?, disposition.get("filename*", WHAT)?) {
            (Some(filename), _) => Some(base_name(filename)),
            (None, Some(extended)) => Some(base_name(&extended_value(extended)?)),
            (None, None) => None,
        };
        let content_type = unique(headers, "content-type")?.map(str::to_owned);
        Ok((Part { name: name.to_owned(), filename, content_type }, content_at))
    }
}

fn oversized() -> FieldError {
    FieldError::too_many(format!(
        "the headers of a part are longer than {MAX_PART_HEADER} bytes or more than {MAX_PART_HEADERS}"
    ))
}

/// Whether some line feed does not follow a carriage return.
fn has_bare_line_feed(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| at == 0 || bytes[at - 1] != b'\r')
}

/// The value of the header called `name`; an error when it is there twice.
fn unique<'h>(headers: &[httparse::Header<'h>], name: &str) -> Result<Option<&'h str>, FieldError> {
    let mut values = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let value = values.next().map(|header| text::checked(header.value, "header of a part")).transpose()?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(FieldError::malformed(format!("a part has {name} twice"))),
    }
}

/// `UTF-8'language'percent-encoded` (RFC 8187). RFC 7578 forbids it here, but clients send it for names that
/// are not ASCII.
fn extended_value(extended: &str) -> Result<Cow<'_, str>, FieldError> {
    let mut pieces = extended.splitn(3, '\'');
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(charset), Some(_), Some(value)) if charset.eq_ignore_ascii_case("utf-8") => {
            text::decode(value.as_bytes(), false, "file name of a part")
        }
        _ => Err(FieldError::malformed("the file name of a part is not in UTF-8''... form")),
    }
}

/// The last component of a path of any system, without control characters: what may be shown or logged. Empty
/// for names that mean a directory.
fn base_name(filename: &str) -> String {
    let last = filename.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|character| !character.is_control()).collect();
    match name.as_str() {
        "." | ".." => String::new(),
        _ => name,
    }
}

impl<'a> Multipart<'a> {
    fn add(&mut self, part: Part, content: &'a [u8], limits: Limits<'_>) -> Result<(), FieldError> {
        let Some(filename) = part.filename else {
            if self.fields.len() == limits.max_fields {
                return Err(FieldError::too_many(format!(
                    "the form has more than {} fields (`max_fields`)",
                    limits.max_fields
                )));
            }
            let value = text::checked(content, "form field")?;
            self.fields.push((part.name.into(), value.into()));
            return Ok(());
        };
        let size = content.len() as u64;
        let content = if size > limits.spool_above {
            Content::Spooled(SpooledFile::write(limits.dir, content)?)
        } else {
            Content::Inline(content)
        };
        let content_type = part.content_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        self.files.push(FilePart { field: part.name, filename, content_type, size, content });
        Ok(())
    }
}

#[cfg(test)]
mod tests;

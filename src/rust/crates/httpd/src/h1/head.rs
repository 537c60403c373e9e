//! Strict reading of an HTTP/1.1 header section (RFC 9112), line by line as it comes.
//!
//! What two parsers could read in two ways is a way to smuggle a request past a proxy, so it is refused: bare line
//! feeds, two lengths, a length beside a transfer coding, a missing or second `Host`, and sizes beyond the limits.
//! Names with `_`, which CGI-style names confuse with `-`, are noted: see `underscores`. Neighbours: `target`, `body`
//! (what comes after it), `connection` (which feeds it).

use super::target::{is_host_of_request, set_target};
use super::{refuse, refuse_over, Refusal};
use crate::head::{Head, Version};
use admission::Limits;
use grammar::bytes::{is_plain_token, is_tchar, is_token, is_value};
use http::header::HOST;
use http::Method;
use memchr::memchr;

/// A method may have this many bytes: twice what the longest registered one has. What is longer is refused when it is,
/// however much is still to come.
const MAX_METHOD: usize = 40;

/// What a header section says of what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    pub body: BodyLength,
    /// the client may send another request on this connection
    pub keep_alive: bool,
    /// the client wants to be told before it sends the body (RFC 9110 section 10.1.1)
    pub expects_continue: bool,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// this many bytes
    Fixed(u64),
    Chunked,
}

/// Reads one header section after the other.
#[derive(Debug, Default)]
pub struct HeadReader {
    /// of the section that has begun
    head: Option<Head>,
    known: Known,
    /// an empty line came where a request line should
    stray: bool,
}

/// What is known so far of the section that is being read.
#[derive(Debug, Default)]
struct Known {
    /// bytes of its fields
    size: usize,
    hosts: u32,
    length: Option<u64>,
    codings: Codings,
    /// options of `Connection`
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    /// the authority of a target in absolute form
    authority: Option<Box<str>>,
}

/// What `Transfer-Encoding` says in all its fields (RFC 9112 section 6.1).
#[derive(Debug, Default)]
struct Codings {
    /// there is one
    any: bool,
    /// the last one is `chunked`
    chunked: bool,
    /// there is another
    others: bool,
    /// one is none, or comes after `chunked`
    malformed: bool,
}

impl HeadReader {
    /// Whether any of a section has come, even an empty line.
    pub fn has_begun(&self) -> bool {
        self.head.is_some() || self.stray
    }

    /// Bytes of the section that has begun.
    pub fn size(&self) -> usize {
        self.head.as_ref().map_or(0, |head| head.size())
    }

    /// Reads the whole lines of `input`, up to the end of the section: gives how many bytes that is, and the section if
    /// it is complete.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn read(&mut self, input: &[u8], limits: &Limits) -> Result<(usize, Option<(Head, Framing)>), Refusal> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let method = if self.head.is_none() { method(rest, limits)? } else { 0 };
            let Some(end) = memchr(b'\n', rest) else {
                self.too_long(rest.len(), limits)?;
                return Ok((at, None));
            };
            let n = end + 1;
            self.too_long(n, limits)?;
            let Some(line) = rest[..n].strip_suffix(b"\r\n") else {
                return Err(refuse(400, "line not ended by CR LF"));
            };
            at += n;
            match self.head.take() {
                // RFC 9112 section 2.2: an empty line before the request line is to be ignored
                None if line.is_empty() => self.stray = true,
                None => {
                    let mut head = Head::new();
                    self.known.authority = request_line(line, method, &mut head)?;
                    self.head = Some(head);
                }
                Some(head) if line.is_empty() => {
                    self.stray = false;
                    return std::mem::take(&mut self.known).end(head).map(|request| (at, Some(request)));
                }
                Some(mut head) => {
                    self.known.size += n;
                    self.known.field(line, &mut head, limits)?;
                    self.head = Some(head);
                }
            }
        }
    }

    fn too_long(&self, len: usize, limits: &Limits) -> Result<(), Refusal> {
        if self.head.is_none() {
            if len > limits.max_request_line + 2 {
                let most = limits.max_request_line as u64;
                return Err(refuse_over(414, "request line too long", "max_request_line", most));
            }
            return Ok(());
        }
        if len > limits.max_header_field + 2 {
            let most = limits.max_header_field as u64;
            return Err(refuse_over(431, "header field too long", "max_header_field", most));
        }
        if self.known.size + len > limits.max_header_size + 2 {
            let most = limits.max_header_size as u64;
            return Err(refuse_over(431, "header section too large", "max_header_size", most));
        }
        Ok(())
    }
}

impl Known {
    /// `name ":" OWS value OWS` (RFC 9112 section 5).
    fn field(&mut self, line: &[u8], head: &mut Head, limits: &Limits) -> Result<(), Refusal> {
        if head.fields.len() >= limits.max_headers {
            return Err(refuse_over(431, "too many header fields", "max_headers", limits.max_headers as u64));
        }
        if matches!(line.first(), Some(b' ' | b'\t')) {
            return Err(refuse(400, "folded header field"));
        }
        let Some(colon) = memchr(b':', line) else {
            return Err(refuse(400, "header field without a colon"));
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if !is_plain_token(name) {
            if !is_token(name) {
                return Err(refuse(400, "malformed header name"));
            }
            head.notes_underscore();
        }
        if !is_value(value) {
            return Err(refuse(400, "control character in a header value"));
        }
        let value = value.trim_ascii();
        // only these names matter here, told apart by their lengths first
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value)?,
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects_continue |= expectations(value).any(is_continue);
            }
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.transfer_encoding(value, head.version)?;
            }
            _ => {}
        }
        head.fields.push_with(|text| text.extend(name.iter().map(u8::to_ascii_lowercase)), value);
        Ok(())
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.hosts += 1;
        if is_host_of_request(value) {
            Ok(())
        } else {
            Err(refuse(400, "malformed Host"))
        }
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        // one number has one form: others take leading zeros for octal, or leave them out
        let is_number = matches!(value, [b'0'] | [b'1'..=b'9', ..]) && value.iter().all(u8::is_ascii_digit);
        let length = is_number
            .then(|| std::str::from_utf8(value).ok()?.parse::<u64>().ok())
            .flatten()
            .ok_or(refuse(400, "malformed Content-Length"))?;
        if self.length.replace(length).is_some() {
            return Err(refuse(400, "repeated Content-Length"));
        }
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &[u8], version: Version) -> Result<(), Refusal> {
        // RFC 9112 section 6.1: its mere presence is a sign of faulty framing
        if version == Version::Http10 {
            return Err(refuse(400, "Transfer-Encoding in HTTP/1.0"));
        }
        self.codings.add(value);
        Ok(())
    }

    fn end(self, mut head: Head) -> Result<(Head, Framing), Refusal> {
        let http10 = head.version == Version::Http10;
        if self.hosts > 1 || (self.hosts == 0 && !http10) {
            return Err(refuse(400, if self.hosts == 0 { "missing Host" } else { "repeated Host" }));
        }
        // RFC 9112 section 3.2.2: the host of the target counts, and what the client gives as Host does not
        if let Some(authority) = self.authority {
            head.fields.set(HOST.as_str().as_bytes(), authority.as_bytes());
        }
        let body = match (self.codings.any, self.length) {
            (true, Some(_)) => return Err(refuse(400, "both Content-Length and Transfer-Encoding")),
            (true, None) => self.codings.are_chunked_alone().map(|()| BodyLength::Chunked)?,
            (false, length) => BodyLength::Fixed(length.unwrap_or(0)),
        };
        let framing = Framing {
            body,
            keep_alive: !self.close && (!http10 || self.keep_alive),
            expects_continue: self.expects_continue && !http10,
        };
        Ok((head, framing))
    }
}

impl Codings {
    /// `#transfer-coding`, here without the empty elements that a list may have: others do not take them.
    fn add(&mut self, value: &[u8]) {
        self.any = true;
        for coding in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            let name = coding.split(|&b| b == b';').next().unwrap_or_default().trim_ascii_end();
            self.malformed |= self.chunked || !is_token(name);
            // which has no parameters
            self.chunked = coding.eq_ignore_ascii_case(b"chunked");
            self.others |= !self.chunked;
        }
    }

    /// RFC 9112 section 6.3: where `chunked` is not the last one, the end of the body is unknown.
    fn are_chunked_alone(&self) -> Result<(), Refusal> {
        if self.malformed || !self.chunked {
            return Err(refuse(400, "Transfer-Encoding that does not end in chunked"));
        }
        if self.others {
            return Err(refuse(501, "Transfer-Encoding not supported"));
        }
        Ok(())
    }
}

/// The length of the method at the beginning of a request line, of which more may come; 0 while that is not known, and
/// for an empty line.
fn method(line: &[u8], limits: &Limits) -> Result<usize, Refusal> {
    let most = MAX_METHOD.min(limits.max_request_line);
    let n = line.iter().take(most + 1).take_while(|&&b| is_tchar(b)).count();
    if n > most {
        return Err(refuse(501, "method too long"));
    }
    match &line[n..] {
        [] => Ok(0),
        [b' ', ..] if n > 0 => Ok(n),
        [b'\r'] | [b'\r', b'\n', ..] if n == 0 => Ok(0),
        [b'\n', ..] => Err(refuse(400, "line not ended by CR LF")),
        [b' ' | b'\r', ..] => Err(refuse(400, "malformed request line")),
        _ => Err(refuse(400, "malformed method")),
    }
}

/// `method SP target SP HTTP/1.x` (RFC 9112 section 3), with a method of this length. Returns the authority of a target
/// in absolute form.
fn request_line(line: &[u8], method: usize, head: &mut Head) -> Result<Option<Box<str>>, Refusal> {
    let (method, rest) = line.split_at(method);
    let mut parts = rest.split(|&b| b == b' ').skip(1);
    let (Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(refuse(400, "malformed request line"));
    };
    head.method = Method::from_bytes(method).map_err(|_| refuse(400, "malformed method"))?;
    head.version = match version {
        b"HTTP/1.1" => Version::Http11,
        b"HTTP/1.0" => Version::Http10,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
            match major {
                // RFC 9110 section 2.5: a higher minor version is read as the highest one known
                b'1' => Version::Http11,
                _ => return Err(refuse(505, "HTTP version not supported")),
            }
        }
        _ => return Err(refuse(400, "malformed HTTP version")),
    };
    set_target(target, head).ok_or(refuse(400, "malformed request target"))
}

/// What `Expect` names.
pub fn expectations(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|expectation| !expectation.is_empty())
}

/// The only expectation that is known (RFC 9110 section 10.1.1).
pub fn is_continue(expectation: &[u8]) -> bool {
    expectation.eq_ignore_ascii_case(b"100-continue")
}

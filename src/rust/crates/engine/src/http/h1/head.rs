//! Strict reading of an HTTP/1.1 header section (RFC 9112), line by line as it comes.
//!
//! What two parsers could read in two ways is a way to smuggle a request past a proxy, so it is refused: bare line feeds, two
//! lengths, a length beside a transfer coding, a missing or second `Host`, names with `_` (which CGI-style names confuse with `-`), and
//! sizes beyond the limits. Neighbours: `body` (what comes after it), `connection` (who feeds it).

use super::refuse;
use super::Refusal;
use crate::head::{Head, Version};
use admission::Limits;
use http::header::HOST;
use http::{Method, Uri};
use memchr::{memchr, memmem};

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
    /// so many bytes
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
    chunked: bool,
    /// options of `Connection`
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    /// the authority of a target in absolute form
    authority: Option<Box<str>>,
}

impl HeadReader {
    /// Whether anything of a section has come, be it an empty line.
    pub fn has_begun(&self) -> bool {
        self.head.is_some() || self.stray
    }

    /// Reads the whole lines of `input`, up to the end of the section: gives how many bytes that is, and the section if it is complete.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn read(&mut self, input: &[u8], limits: &Limits) -> Result<(usize, Option<(Head, Framing)>), Refusal> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
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
                    self.known.authority = request_line(line, &mut head)?;
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
            return if len > limits.max_request_line + 2 { Err(refuse(414, "request line too long")) } else { Ok(()) };
        }
        if len > limits.max_header_field + 2 {
            return Err(refuse(431, "header field too long"));
        }
        if self.known.size + len > limits.max_header_size + 2 {
            return Err(refuse(431, "header section too large"));
        }
        Ok(())
    }
}

impl Known {
    /// `name ":" OWS value OWS` (RFC 9112 section 5).
    fn field(&mut self, line: &[u8], head: &mut Head, limits: &Limits) -> Result<(), Refusal> {
        if head.fields.len() >= limits.max_headers {
            return Err(refuse(431, "too many header fields"));
        }
        if matches!(line.first(), Some(b' ' | b'\t')) {
            return Err(refuse(400, "folded header field"));
        }
        let Some(colon) = memchr(b':', line) else {
            return Err(refuse(400, "header field without a colon"));
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.is_empty() || !name.iter().all(|&b| is_token(b)) {
            return Err(refuse(400, "malformed header name"));
        }
        if memchr(b'_', name).is_some() {
            return Err(refuse(400, "header name with an underscore"));
        }
        if !is_value(value) {
            return Err(refuse(400, "control character in a header value"));
        }
        let value = value.trim_ascii();
        // only these names matter here, told apart by their lengths first
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value)?,
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
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
        if is_host(value) {
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
        let length = (!value.is_empty() && value.iter().all(u8::is_ascii_digit))
            .then(|| std::str::from_utf8(value).ok()?.parse::<u64>().ok())
            .flatten()
            .ok_or(refuse(400, "malformed Content-Length"))?;
        if self.length.replace(length).is_some() {
            return Err(refuse(400, "repeated Content-Length"));
        }
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &[u8], version: Version) -> Result<(), Refusal> {
        if self.chunked {
            return Err(refuse(400, "repeated Transfer-Encoding"));
        }
        if version == Version::Http10 {
            return Err(refuse(400, "Transfer-Encoding in HTTP/1.0"));
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(refuse(501, "Transfer-Encoding not supported"));
        }
        self.chunked = true;
        Ok(())
    }

    fn end(self, mut head: Head) -> Result<(Head, Framing), Refusal> {
        let http10 = head.version == Version::Http10;
        if self.hosts > 1 || (self.hosts == 0 && !http10) {
            return Err(refuse(400, if self.hosts == 0 { "missing Host" } else { "repeated Host" }));
        }
        if let Some(authority) = self.authority.filter(|_| self.hosts == 0) {
            head.fields.push(HOST.as_str().as_bytes(), authority.as_bytes());
        }
        let body = match (self.chunked, self.length) {
            (true, Some(_)) => return Err(refuse(400, "both Content-Length and Transfer-Encoding")),
            (true, None) => BodyLength::Chunked,
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

/// `method SP target SP HTTP/1.x` (RFC 9112 section 3). Gives the authority of a target in absolute form.
fn request_line(line: &[u8], head: &mut Head) -> Result<Option<Box<str>>, Refusal> {
    let mut parts = line.split(|&b| b == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(refuse(400, "malformed request line"));
    };
    if method.is_empty() || !method.iter().all(|&b| is_token(b)) {
        return Err(refuse(400, "malformed method"));
    }
    head.method = Method::from_bytes(method).map_err(|_| refuse(400, "malformed method"))?;
    head.version = match version {
        b"HTTP/1.1" => Version::Http11,
        b"HTTP/1.0" => Version::Http10,
        v if v.starts_with(b"HTTP/") => return Err(refuse(505, "HTTP version not supported")),
        _ => return Err(refuse(400, "malformed HTTP version")),
    };
    set_target(target, head).ok_or(refuse(400, "malformed request target"))
}

/// Gives the authority of a target in absolute form; `None` when the target is malformed.
fn set_target(target: &[u8], head: &mut Head) -> Option<Option<Box<str>>> {
    // nearly all are a path of plain bytes, with or without a query
    if target.first() == Some(&b'/') {
        let path = target.iter().position(|&b| !PATH[b as usize]).unwrap_or(target.len());
        if target[path..].first().is_none_or(|&b| b == b'?') && target[path..].iter().all(|&b| QUERY[b as usize]) {
            let target = std::str::from_utf8(target).ok()?;
            head.set_target(&target[..path], target.get(path + 1..));
            return Some(None);
        }
    }
    if target.is_empty() || !target.iter().all(|&b| b.is_ascii_graphic()) || !is_authority_sound(target) {
        return None;
    }
    let uri = Uri::try_from(target).ok()?;
    let authority_alone = uri.scheme().is_none() && uri.authority().is_some();
    if authority_alone && head.method != Method::CONNECT {
        return None;
    }
    head.set_target(if authority_alone { "" } else { uri.path() }, uri.query());
    Some(uri.authority().map(|authority| authority.as_str().into()))
}

/// `tchar` (RFC 9110 section 5.6.2).
pub fn is_token(b: u8) -> bool {
    TOKEN[b as usize]
}

const TOKEN: [bool; 256] = alphanumeric_or(b"!#$%&'*+-.^_`|~");
/// `reg-name` (RFC 3986 section 3.2.2).
const HOST_NAME: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%");
/// What a path is made of, and a query with its `?` (RFC 3986 sections 3.3 and 3.4).
const PATH: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%:@/");
const QUERY: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%:@/?");

const fn alphanumeric_or(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = (b as u8).is_ascii_alphanumeric();
        b += 1;
    }
    let mut i = 0;
    while i < others.len() {
        table[others[i] as usize] = true;
        i += 1;
    }
    table
}

/// Bytes of a field's value (RFC 9110 section 5.5), blanks included. Looks at all of them, as that can be done many at a time.
pub fn is_value(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |sound, &b| sound & ((b >= 0x20 && b != 0x7f) || b == b'\t'))
}

/// Whether a target in absolute form names a host and no user (RFC 9110 section 4.2.4); true for other forms.
fn is_authority_sound(target: &[u8]) -> bool {
    if target[0] == b'/' {
        return true;
    }
    match memmem::find(target, b"://") {
        None => true,
        Some(at) => is_host(target[at + 3..].split(|b| matches!(b, b'/' | b'?' | b'#')).next().unwrap_or_default()),
    }
}

/// `uri-host [ ":" port ]` (RFC 9110 section 7.2): a name, an IPv4 address, or an IPv6 address in brackets.
pub fn is_host(value: &[u8]) -> bool {
    let (name, port) = match value.strip_prefix(b"[") {
        Some(rest) => match memchr(b']', rest) {
            Some(end) => {
                let address = std::str::from_utf8(&rest[..end]).ok().and_then(|a| a.parse::<std::net::Ipv6Addr>().ok());
                if address.is_none() {
                    return false;
                }
                (&b"v6"[..], &rest[end + 1..])
            }
            None => return false,
        },
        None => {
            let end = memchr(b':', value).unwrap_or(value.len());
            (&value[..end], &value[end..])
        }
    };
    let name_ok = !name.is_empty() && name.len() <= 255 && name.iter().all(|&b| HOST_NAME[b as usize]);
    let port_ok = match port {
        [] => true,
        [b':', digits @ ..] => {
            digits.iter().all(u8::is_ascii_digit)
                && (digits.is_empty() || std::str::from_utf8(digits).is_ok_and(|d| d.parse::<u16>().is_ok()))
        }
        _ => false,
    };
    name_ok && port_ok
}

//! Strict reading of HTTP/1.1 framing (RFC 9112), before the HTTP library sees the bytes.
//!
//! The library is lenient where a proxy in front may read the same bytes differently: bare LF as a line end, `Content-Length`
//! beside `Transfer-Encoding`, repeated lengths. Each of these is a way to smuggle a request, so each is refused here, as are
//! sizes beyond the limits, names with `_` (which CGI-style names confuse with `-`), and a missing or repeated `Host`.
//! The audit changes nothing: it lets bytes pass, or says why not.
//!
//! States: `Line` (request line or header fields) -> `Fixed` / `Chunk*` when there is a body -> `Line` again.

use admission::Limits;
use memchr::{memchr, memmem};

/// Why bytes are refused: an HTTP status and words for the log and the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// 4xx or 5xx
    pub status: u16,
    /// what was wrong
    pub why: &'static str,
}

const fn refuse(status: u16, why: &'static str) -> Refusal {
    Refusal { status, why }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// in the header section; `fields` counts the lines after the request line
    Head,
    /// this many bytes of body left
    Fixed(u64),
    /// in a chunk-size line
    ChunkSize,
    /// this many bytes of chunk left
    ChunkData(u64),
    /// the line end after a chunk
    ChunkEnd,
    /// in the trailer section
    Trailer,
}

/// The audit of one connection.
#[derive(Debug)]
pub struct Audit {
    state: State,
    /// the line so far, when it came in more than one piece
    line: Vec<u8>,
    head: Head,
    /// header sections that are complete
    heads: u64,
    /// an empty line came where a request line should
    stray: bool,
    /// the client sends nothing after the last request that is complete
    last: bool,
}

/// What is known of the header section that is being read.
#[derive(Debug, Default)]
struct Head {
    started: bool,
    /// bytes so far
    size: usize,
    fields: usize,
    hosts: u32,
    http10: bool,
    length: Option<u64>,
    chunked: bool,
    /// bytes that the chunks have announced
    body: u64,
    /// options of `Connection`
    close: bool,
    keep_alive: bool,
}

/// Chunk-size lines with their extensions, and trailers, need no more than this.
const MAX_CHUNK_LINE: usize = 256;
const MAX_TRAILER: usize = 4096;

impl Audit {
    pub fn new() -> Self {
        Audit { state: State::Head, line: Vec::new(), head: Head::default(), heads: 0, stray: false, last: false }
    }

    /// Whether the next byte would begin a new request.
    pub fn between_requests(&self) -> bool {
        self.state == State::Head && !self.head.started && self.line.is_empty()
    }

    /// Whether a header section is incomplete.
    pub fn in_head(&self) -> bool {
        self.state == State::Head && !self.between_requests()
    }

    /// Whether all bytes so far belong to complete requests.
    pub fn is_clean(&self) -> bool {
        self.between_requests() && !self.stray
    }

    /// Whether the client has said in its last header section that no request comes after it (RFC 9112 section 9.3).
    pub fn was_last(&self) -> bool {
        self.last
    }

    /// Header sections read completely.
    pub fn heads(&self) -> u64 {
        self.heads
    }

    /// Looks at the next bytes.
    ///
    /// # Errors
    /// The refusal, and how many of the bytes come before the request that is refused.
    pub fn read(&mut self, bytes: &[u8], limits: &Limits) -> Result<(), (usize, Refusal)> {
        let mut at = 0;
        // where the request began that is being read: what comes before it is sound
        let mut sound = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let step = match self.state {
                State::Fixed(left) => {
                    let n = left.min(rest.len() as u64);
                    self.state = if n == left { State::Head } else { State::Fixed(left - n) };
                    Ok(n as usize)
                }
                State::ChunkData(left) => {
                    let n = left.min(rest.len() as u64);
                    self.state = if n == left { State::ChunkEnd } else { State::ChunkData(left - n) };
                    Ok(n as usize)
                }
                _ => self.line(rest, limits),
            };
            at += step.map_err(|refusal| (sound, refusal))?;
            if self.between_requests() || !matches!(self.state, State::Head) {
                sound = at;
            }
        }
        Ok(())
    }

    /// Takes one line, or the piece of it that is there.
    fn line(&mut self, rest: &[u8], limits: &Limits) -> Result<usize, Refusal> {
        let Some(end) = memchr(b'\n', rest) else {
            self.line.extend_from_slice(rest);
            self.too_long(self.line.len(), limits)?;
            return Ok(rest.len());
        };
        let n = end + 1;
        if self.line.is_empty() {
            self.whole_line(&rest[..n], limits)?;
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&rest[..n]);
            self.whole_line(&line, limits)?;
            line.clear();
            // the buffer is kept only while a line may come in pieces again
            if self.state == State::Head && self.head.started {
                self.line = line;
            }
        }
        Ok(n)
    }

    fn too_long(&self, len: usize, limits: &Limits) -> Result<(), Refusal> {
        let (most, refusal) = match self.state {
            State::Head if !self.head.started => (limits.max_request_line + 2, refuse(414, "request line too long")),
            State::Head => (limits.max_header_field + 2, refuse(431, "header field too long")),
            State::Trailer => (MAX_TRAILER, refuse(431, "trailers too long")),
            _ => (MAX_CHUNK_LINE, refuse(400, "chunk line too long")),
        };
        if len > most {
            return Err(refusal);
        }
        if self.state == State::Head && self.head.started && self.head.size + len > limits.max_header_size + 2 {
            return Err(refuse(431, "header section too large"));
        }
        Ok(())
    }

    fn whole_line(&mut self, line: &[u8], limits: &Limits) -> Result<(), Refusal> {
        self.too_long(line.len(), limits)?;
        let Some(text) = line.strip_suffix(b"\r\n") else {
            return Err(refuse(400, "line not ended by CR LF"));
        };
        match self.state {
            State::Head if !self.head.started => self.request_line(text),
            State::Head if text.is_empty() => self.end_of_head(),
            State::Head => self.field(text, line.len(), limits),
            State::ChunkSize => self.chunk_size(text, limits),
            State::ChunkEnd if text.is_empty() => {
                self.state = State::ChunkSize;
                Ok(())
            }
            State::ChunkEnd => Err(refuse(400, "chunk longer than its size")),
            State::Trailer => self.trailer(text, line.len()),
            State::Fixed(_) | State::ChunkData(_) => Ok(()),
        }
    }

    /// `method SP target SP HTTP/1.x` (RFC 9112 section 3).
    fn request_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        // RFC 9112 section 2.2: an empty line before the request line is to be ignored
        if line.is_empty() {
            self.stray = true;
            return Ok(());
        }
        let mut parts = line.split(|&b| b == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse(400, "malformed request line"));
        };
        if method.is_empty() || !method.iter().all(|&b| is_token(b)) {
            return Err(refuse(400, "malformed method"));
        }
        if target.is_empty() || !target.iter().all(|&b| b.is_ascii_graphic()) || !is_authority_sound(target) {
            return Err(refuse(400, "malformed request target"));
        }
        self.head.http10 = match version {
            b"HTTP/1.1" => false,
            b"HTTP/1.0" => true,
            v if v.starts_with(b"HTTP/") => return Err(refuse(505, "HTTP version not supported")),
            _ => return Err(refuse(400, "malformed HTTP version")),
        };
        self.head.started = true;
        Ok(())
    }

    /// `name ":" OWS value OWS` (RFC 9112 section 5).
    fn field(&mut self, line: &[u8], size: usize, limits: &Limits) -> Result<(), Refusal> {
        self.head.size += size;
        self.head.fields += 1;
        if self.head.fields > limits.max_headers {
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
        // only these names matter here, told apart by their lengths first
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value.trim_ascii()),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.connection(value);
                Ok(())
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value.trim_ascii()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.transfer_encoding(value.trim_ascii()),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.head.hosts += 1;
        if is_host(value) {
            Ok(())
        } else {
            Err(refuse(400, "malformed Host"))
        }
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            self.head.close |= option.eq_ignore_ascii_case(b"close");
            self.head.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        let length = (!value.is_empty() && value.iter().all(u8::is_ascii_digit))
            .then(|| std::str::from_utf8(value).ok()?.parse::<u64>().ok())
            .flatten()
            .ok_or(refuse(400, "malformed Content-Length"))?;
        if self.head.length.replace(length).is_some() {
            return Err(refuse(400, "repeated Content-Length"));
        }
        Ok(())
    }

    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.head.chunked {
            return Err(refuse(400, "repeated Transfer-Encoding"));
        }
        if self.head.http10 {
            return Err(refuse(400, "Transfer-Encoding in HTTP/1.0"));
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(refuse(501, "Transfer-Encoding not supported"));
        }
        self.head.chunked = true;
        Ok(())
    }

    fn end_of_head(&mut self) -> Result<(), Refusal> {
        let head = std::mem::take(&mut self.head);
        if head.hosts > 1 || (head.hosts == 0 && !head.http10) {
            return Err(refuse(400, if head.hosts == 0 { "missing Host" } else { "repeated Host" }));
        }
        self.state = match (head.chunked, head.length) {
            (true, Some(_)) => return Err(refuse(400, "both Content-Length and Transfer-Encoding")),
            (true, None) => State::ChunkSize,
            (false, Some(n)) if n > 0 => State::Fixed(n),
            (false, _) => State::Head,
        };
        self.heads += 1;
        self.stray = false;
        self.last = head.close || (head.http10 && !head.keep_alive);
        Ok(())
    }

    /// `1*HEXDIG [ ";" extension ]` (RFC 9112 section 7.1).
    fn chunk_size(&mut self, line: &[u8], limits: &Limits) -> Result<(), Refusal> {
        let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        // sixteen digits would be 2^64 and more
        if digits == 0 || digits > 15 {
            return Err(refuse(400, "malformed chunk size"));
        }
        let extension = &line[digits..];
        let sound = extension.iter().all(|&b| b == b'\t' || (0x20..0x7f).contains(&b) || b >= 0x80);
        if !sound || !matches!(extension.trim_ascii_start().first(), None | Some(b';')) {
            return Err(refuse(400, "malformed chunk extension"));
        }
        let size =
            line[..digits].iter().fold(0, |n: u64, b| n << 4 | u64::from((*b as char).to_digit(16).unwrap_or(0)));
        self.head.body = self.head.body.saturating_add(size);
        if self.head.body > limits.max_body {
            return Err(refuse(413, "the chunks are longer than a body may be"));
        }
        self.state = if size == 0 { State::Trailer } else { State::ChunkData(size) };
        Ok(())
    }

    fn trailer(&mut self, line: &[u8], size: usize) -> Result<(), Refusal> {
        if line.is_empty() {
            self.state = State::Head;
            self.head = Head::default();
            return Ok(());
        }
        self.head.size += size;
        if self.head.size > MAX_TRAILER {
            return Err(refuse(431, "trailers too long"));
        }
        match memchr(b':', line) {
            Some(colon) if colon > 0 && line[..colon].iter().all(|&b| is_token(b)) && is_value(&line[colon + 1..]) => {
                Ok(())
            }
            _ => Err(refuse(400, "malformed trailer")),
        }
    }
}

/// `tchar` (RFC 9110 section 5.6.2).
fn is_token(b: u8) -> bool {
    TOKEN[b as usize]
}

const TOKEN: [bool; 256] = alphanumeric_or(b"!#$%&'*+-.^_`|~");
/// `reg-name` (RFC 3986 section 3.2.2).
const HOST: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%");

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
fn is_value(bytes: &[u8]) -> bool {
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
pub(super) fn is_host(value: &[u8]) -> bool {
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
    let name_ok = !name.is_empty() && name.len() <= 255 && name.iter().all(|&b| HOST[b as usize]);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(bytes: &[u8]) -> Result<u64, (usize, Refusal)> {
        let limits = Limits::default();
        let mut whole = Audit::new();
        let result = whole.read(bytes, &limits).map(|()| whole.heads());
        // the same, one byte at a time, must come to the same end
        let (last, clean) = (whole.was_last(), whole.is_clean());
        let mut piecewise = Audit::new();
        let mut end = Ok(());
        for b in bytes.chunks(1) {
            end = piecewise.read(b, &limits).map_err(|(_, refusal)| refusal);
            if end.is_err() {
                break;
            }
        }
        assert_eq!(result.map_err(|(_, r)| r), end.map(|()| piecewise.heads()), "{:?}", String::from_utf8_lossy(bytes));
        if result.is_ok() {
            assert_eq!((last, clean), (piecewise.was_last(), piecewise.is_clean()));
        }
        result
    }

    fn why(bytes: &[u8]) -> (u16, &'static str) {
        let (_, refusal) = audit(bytes).expect_err("must be refused");
        (refusal.status, refusal.why)
    }

    #[test]
    fn sound_requests_pass() {
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(audit(get), Ok(1));
        assert_eq!(audit(&get.repeat(16)), Ok(16));
        assert_eq!(audit(b"\r\nGET / HTTP/1.0\r\n\r\n"), Ok(1));
        assert_eq!(
            audit(
                b"POST / HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\n\r\na\nbGET / HTTP/1.1\r\nHost: a\r\n\r\n"
            ),
            Ok(2)
        );
        let chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
        assert_eq!(audit(&chunked.repeat(2)), Ok(2));
    }

    #[test]
    fn what_others_read_differently_is_refused() {
        assert_eq!(why(b"GET / HTTP/1.1\nHost: a\r\n\r\n").1, "line not ended by CR LF");
        assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a\n\r\n").1, "line not ended by CR LF");
        assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n").1, "control character in a header value");
        assert_eq!(why(b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n").1, "malformed request line");
        assert_eq!(why(b"GET / HTTP/1.1\r\n\r\n").1, "missing Host");
        assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").1, "repeated Host");
        assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n").1, "malformed Host");
        assert_eq!(why(b"GET / HTTP/2.0\r\n\r\n").0, 505);
        let with = |h: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{h}\r\n\r\n");
        let both = "both Content-Length and Transfer-Encoding";
        assert_eq!(why(with("Content-Length: 1\r\nTransfer-Encoding: chunked").as_bytes()).1, both);
        assert_eq!(why(with("Transfer-Encoding: chunked\r\nContent-Length: 1").as_bytes()).1, both);
        assert_eq!(why(with("Content-Length: 1\r\nContent-Length: 1").as_bytes()).1, "repeated Content-Length");
        assert_eq!(why(with("Content-Length: +1").as_bytes()).1, "malformed Content-Length");
        assert_eq!(why(with("Content-Length: 1, 1").as_bytes()).1, "malformed Content-Length");
        assert_eq!(why(with("Transfer-Encoding: gzip, chunked").as_bytes()).0, 501);
        assert_eq!(why(with("X_Y: 1").as_bytes()).1, "header name with an underscore");
        assert_eq!(why(with("X : 1").as_bytes()).1, "malformed header name");
        assert_eq!(why(with(" folded").as_bytes()).1, "folded header field");
        let chunk = |c: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{c}");
        assert_eq!(why(chunk("3\nabc\r\n0\r\n\r\n").as_bytes()).1, "line not ended by CR LF");
        assert_eq!(why(chunk("2\r\nabc\r\n0\r\n\r\n").as_bytes()).1, "chunk longer than its size");
        assert_eq!(why(chunk("g\r\n").as_bytes()).1, "malformed chunk size");
        assert_eq!(why(chunk("-1\r\n").as_bytes()).1, "malformed chunk size");
        assert_eq!(why(chunk("fffffffffffffffff\r\n").as_bytes()).1, "malformed chunk size");
        assert_eq!(why(chunk("0\r\nT: a\rb\r\n\r\n").as_bytes()).1, "malformed trailer");
        let target = |t: &str| format!("GET {t} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(audit(target("http://a:80/x?y://z").as_bytes()), Ok(1));
        assert_eq!(audit(target("/x?y=http://").as_bytes()), Ok(1));
        assert_eq!(why(target("http:///x").as_bytes()).1, "malformed request target");
        assert_eq!(why(target("http://user@a/x").as_bytes()).1, "malformed request target");
    }

    #[test]
    fn limits_hold_whole_and_piecewise() {
        let chunk = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n";
        assert_eq!(why(chunk.as_bytes()).0, 413);
        let with = |h: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{h}\r\n\r\n");
        assert_eq!(why(format!("GET /{} HTTP/1.1\r\n", "a".repeat(9000)).as_bytes()).0, 414);
        assert_eq!(why(with(&format!("X: {}", "a".repeat(9000))).as_bytes()).1, "header field too long");
        let many = (0..101).map(|i| format!("X{i}: 1")).collect::<Vec<_>>().join("\r\n");
        assert_eq!(why(with(&many).as_bytes()).1, "too many header fields");
        let large = (0..5).map(|i| format!("X{i}: {}", "a".repeat(8000))).collect::<Vec<_>>().join("\r\n");
        assert_eq!(why(with(&large).as_bytes()).1, "header section too large");
    }

    #[test]
    fn a_client_says_that_a_request_is_its_last() {
        let was_last = |head: &str| {
            let mut audit = Audit::new();
            audit.read(head.as_bytes(), &Limits::default()).unwrap();
            audit.was_last() && audit.is_clean()
        };
        assert!(was_last("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(was_last("GET / HTTP/1.1\r\nHost: a\r\nCONNECTION: upgrade ,\tClose\r\n\r\n"));
        assert!(was_last("GET / HTTP/1.0\r\n\r\n"));
        assert!(!was_last("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
        assert!(!was_last("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n"));
        let close = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
        assert!(!was_last(close) && !was_last(&format!("{close}a")) && was_last(&format!("{close}ab")));
        // what stands behind it is not of it
        assert!(!was_last(&format!("{close}ab\r\n")) && !was_last(&format!("{close}abG")));
    }

    #[test]
    fn what_came_before_is_sound() {
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut bytes = get.repeat(2);
        bytes.extend_from_slice(b"BAD\r\n");
        assert_eq!(audit(&bytes), Err((2 * get.len(), refuse(400, "malformed request line"))));
    }
}

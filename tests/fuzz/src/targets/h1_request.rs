//! A stream of HTTP/1.1 requests: however it is cut, it is read the same; and what is accepted, `httparse` and a plain
//! decoder of chunks read the same.
//!
//! Input: flags, cuts, then what a client sends.

use crate::input::Input;
use admission::Limits;
use engine::fuzzing::{BodyLength, BodyReader, Framing, HeadReader, Piece, Refusal, Version};

#[derive(Debug, PartialEq)]
struct Request {
    method: String,
    target: String,
    version: Version,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    framing: Framing,
    body: Vec<u8>,
    /// where in the stream it begins, its body begins, and it ends
    at: [usize; 3],
    whole: bool,
}

#[derive(Debug, Default, PartialEq)]
struct Read {
    requests: Vec<Request>,
    /// its status: which of two limits is named may depend on what is here of a section that passes both
    refusal: Option<u16>,
}

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let limits = if input.byte() & 1 == 0 { Limits::default() } else { tight() };
    let sizes = input.cuts();
    let whole = read(&[input.0], &limits);
    assert_eq!(whole, read(&input.pieces(&sizes), &limits), "cut in {sizes:?}");
    whole.requests.iter().for_each(|request| compare(request, input.0));
}

/// Limits that a small input can pass.
fn tight() -> Limits {
    Limits {
        max_request_line: 40,
        max_header_field: 40,
        max_header_size: 120,
        max_headers: 4,
        max_body: 60,
        ..Limits::default()
    }
}

fn read(pieces: &[&[u8]], limits: &Limits) -> Read {
    let mut reader = Reader { heads: HeadReader::default(), body: BodyReader::none(), used: 0, read: Read::default() };
    let mut waiting = Vec::new();
    for piece in pieces {
        waiting.extend_from_slice(piece);
        match reader.advance(&waiting, limits) {
            Ok(used) => drop(waiting.drain(..used)),
            Err(refusal) => {
                reader.read.refusal = Some(refusal.status);
                break;
            }
        }
    }
    reader.read
}

struct Reader {
    heads: HeadReader,
    body: BodyReader,
    /// bytes of the stream
    used: usize,
    read: Read,
}

impl Reader {
    /// Reads as much of `input` as can be, and gives how much that is.
    fn advance(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Refusal> {
        let start = self.used;
        loop {
            let rest = &input[self.used - start..];
            let Some(request) = self.read.requests.last_mut().filter(|request| !request.whole) else {
                let begun = self.heads.has_begun();
                let (used, request) = self.heads.read(rest, limits)?;
                assert!(used <= rest.len());
                let Some((head, framing)) = request else {
                    // where the head began is known by what follows it
                    self.used += used;
                    assert!(used > 0 || begun || !rest.contains(&b'\n'));
                    return Ok(self.used - start);
                };
                self.used += used;
                self.body = BodyReader::new(&framing);
                let owned = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
                let ended = self.read.requests.last().map_or(0, |request| request.at[2]);
                self.read.requests.push(Request {
                    method: head.method.to_string(),
                    target: head.target().to_owned(),
                    version: head.version,
                    fields: head.fields.iter().map(owned).collect(),
                    framing,
                    body: Vec::new(),
                    at: [ended, self.used, self.used],
                    whole: false,
                });
                continue;
            };
            let (used, piece) = self.body.read(rest, limits.max_body)?;
            assert!(used <= rest.len());
            self.used += used;
            match piece {
                Piece::Data(data) => request.body.extend_from_slice(data),
                Piece::Wanting => return Ok(self.used - start),
                Piece::End => {
                    request.whole = true;
                    request.at[2] = self.used;
                }
            }
            assert!(request.body.len() as u64 <= limits.max_body || request.framing.body != BodyLength::Chunked);
        }
    }
}

/// What others make of the bytes of a request that was accepted.
fn compare(request: &Request, stream: &[u8]) {
    let [begin, body, end] = request.at;
    // httparse lets lines end otherwise, and names have any character of a token
    let head = &stream[begin..body];
    let ends = head.iter().filter(|b| matches!(b, b'\r' | b'\n')).count();
    assert_eq!(ends, 2 * head.windows(2).filter(|two| two == b"\r\n").count(), "a line does not end with CR LF");
    let hosts = request.fields.iter().filter(|(name, _)| name == b"host").count();
    assert!(hosts == 1 || (hosts == 0 && request.version == Version::Http10));
    let mut fields = [httparse::EMPTY_HEADER; 128];
    let mut theirs = httparse::Request::new(&mut fields);
    let length = match theirs.parse(&stream[begin..]) {
        // it knows 1.0 and 1.1; a higher minor version may be read as 1.1 (RFC 9110 section 2.5)
        Err(httparse::Error::Version) => return,
        length => length.expect("accepted here, refused there"),
    };
    assert_eq!(length, httparse::Status::Complete(body - begin));
    assert_eq!(theirs.method, Some(&request.method[..]));
    assert_eq!(theirs.version, Some(u8::from(request.version == Version::Http11)));
    let target = theirs.path.unwrap_or_default();
    let origin_form = target.starts_with('/');
    if origin_form {
        assert_eq!(target, request.target);
    }
    let field = |field: &httparse::Header| (field.name.to_ascii_lowercase().into_bytes(), field.value.to_vec());
    // the host of a target in absolute form counts
    let named = |fields: &[(Vec<u8>, Vec<u8>)]| -> Vec<_> {
        fields.iter().filter(|(name, _)| origin_form || name != b"host").cloned().collect()
    };
    let theirs: Vec<_> = theirs.headers.iter().map(field).collect();
    assert_eq!(named(&theirs), named(&request.fields));

    let value = |name: &[u8]| theirs.iter().find(|(n, _)| n == name).map(|(_, value)| &value[..]);
    match (value(b"transfer-encoding"), value(b"content-length")) {
        (Some(coding), None) => {
            assert!(coding.eq_ignore_ascii_case(b"chunked") && request.framing.body == BodyLength::Chunked);
            if request.whole {
                assert_eq!(unchunked(&stream[body..end]), Some(request.body.clone()));
            }
        }
        (None, length) => {
            let length = length.map_or(Some(0), |text| std::str::from_utf8(text).ok()?.parse::<u64>().ok());
            assert_eq!(length.map(BodyLength::Fixed), Some(request.framing.body));
            if request.whole {
                assert_eq!(length, Some(request.body.len() as u64));
                assert_eq!(request.body, stream[body..end]);
            }
        }
        both => panic!("{both:?} was accepted"),
    }
}

/// A whole chunked body, decoded with no thought of limits; `None` when it is none, or something follows it.
pub fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(&mut rest)?.split(|&b| b == b';').next()?.trim_ascii_end();
        let size = usize::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()?;
        if size == 0 {
            while !line(&mut rest)?.is_empty() {}
            return rest.is_empty().then_some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest[size..].strip_prefix(b"\r\n")?;
    }
}

fn line<'i>(rest: &mut &'i [u8]) -> Option<&'i [u8]> {
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Some(line)
}

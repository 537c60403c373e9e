//! Strict reading of a request's body: of a known length, or in chunks (RFC 9112 section 7.1).

use super::head::{BodyLength, Framing};
use super::{refuse, too_large, Refusal};
use grammar::bytes::{is_tchar, is_token, is_value};
use memchr::memchr;

/// Chunk-size lines with their extensions, and trailers, need no more than this.
const MAX_CHUNK_LINE: usize = 256;
const MAX_TRAILER: usize = 4096;
/// Extensions of all chunks of a body together: nothing uses them, so they are only work.
const MAX_EXTENSIONS: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// this many bytes of body left
    Fixed(u64),
    /// in a chunk-size line
    ChunkSize,
    /// this many bytes of chunk left
    ChunkData(u64),
    /// the line end after a chunk
    ChunkEnd,
    /// in the trailer section, of which this many bytes have come
    Trailer(usize),
}

/// Reads one body.
#[derive(Debug)]
pub struct BodyReader {
    state: State,
    /// bytes that the chunks have announced
    announced: u64,
    /// bytes of the chunks' extensions
    extensions: usize,
    /// the client waits for a word before it sends the body
    expected: bool,
}

/// What comes next of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'i> {
    Data(&'i [u8]),
    /// more has to be read
    Wanting,
    /// that was all
    End,
}

impl BodyReader {
    /// None, which has ended.
    pub fn none() -> Self {
        BodyReader { state: State::Fixed(0), announced: 0, extensions: 0, expected: false }
    }

    pub fn new(framing: &Framing) -> Self {
        let (state, announced) = match framing.body {
            BodyLength::Fixed(n) => (State::Fixed(n), n),
            BodyLength::Chunked => (State::ChunkSize, 0),
        };
        let mut reader = BodyReader { state, announced, extensions: 0, expected: false };
        reader.expected = framing.expects_continue && !reader.has_ended();
        reader
    }

    /// Whether all of it has been read.
    pub fn has_ended(&self) -> bool {
        self.state == State::Fixed(0)
    }

    /// Bytes of it that are left, when the client has said how many there are.
    pub fn left(&self) -> Option<u64> {
        match self.state {
            State::Fixed(left) => Some(left),
            _ => None,
        }
    }

    /// Whether the client waits for a word before it sends the body.
    pub fn is_expected(&self) -> bool {
        self.expected
    }

    /// The client has got its word, or sends without.
    pub fn begins(&mut self) {
        self.expected = false;
    }

    /// Takes the next piece from `input`: gives how many bytes of it are used up, and the piece. A body may have
    /// `max_body` bytes.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn read<'i>(&mut self, input: &'i [u8], max_body: u64) -> Result<(usize, Piece<'i>), Refusal> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match &mut self.state {
                State::Fixed(0) => return Ok((at, Piece::End)),
                State::Fixed(left) | State::ChunkData(left) => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    if n == 0 {
                        return Ok((at, Piece::Wanting));
                    }
                    *left -= n as u64;
                    if self.state == State::ChunkData(0) {
                        self.state = State::ChunkEnd;
                    }
                    return Ok((at + n, Piece::Data(&rest[..n])));
                }
                State::ChunkSize | State::ChunkEnd | State::Trailer(_) => match self.line(rest, max_body)? {
                    0 => return Ok((at, Piece::Wanting)),
                    n => at += n,
                },
            }
        }
    }

    /// Takes one line, and gives its length; 0 when it has not come as a whole.
    fn line(&mut self, rest: &[u8], max_body: u64) -> Result<usize, Refusal> {
        let end = memchr(b'\n', rest);
        let n = end.map_or(rest.len(), |end| end + 1);
        match self.state {
            State::Trailer(size) if size + n > MAX_TRAILER => return Err(refuse(431, "trailers too long")),
            State::Trailer(_) => {}
            _ if n > MAX_CHUNK_LINE => return Err(refuse(400, "chunk line too long")),
            _ => {}
        }
        if end.is_none() {
            return Ok(0);
        }
        let Some(line) = rest[..n].strip_suffix(b"\r\n") else {
            return Err(refuse(400, "line not ended by CR LF"));
        };
        self.state = match self.state {
            State::ChunkEnd if line.is_empty() => State::ChunkSize,
            State::ChunkEnd => return Err(refuse(400, "chunk longer than its size")),
            State::Trailer(_) if line.is_empty() => State::Fixed(0),
            State::Trailer(size) => {
                trailer(line)?;
                State::Trailer(size + n)
            }
            _ => match self.chunk_size(line, max_body)? {
                0 => State::Trailer(0),
                size => State::ChunkData(size),
            },
        };
        Ok(n)
    }

    /// `1*HEXDIG [ chunk-ext ]` (RFC 9112 section 7.1).
    fn chunk_size(&mut self, line: &[u8], max_body: u64) -> Result<u64, Refusal> {
        let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        // sixteen digits would be 2^64 and more
        if digits == 0 || digits > 15 {
            return Err(refuse(400, "malformed chunk size"));
        }
        let extension = &line[digits..];
        if !are_extensions(extension) {
            return Err(refuse(400, "malformed chunk extension"));
        }
        self.extensions += extension.len();
        if self.extensions > MAX_EXTENSIONS {
            return Err(refuse(400, "chunk extensions too long"));
        }
        let size =
            line[..digits].iter().fold(0, |n: u64, b| n << 4 | u64::from((*b as char).to_digit(16).unwrap_or(0)));
        self.announced = self.announced.saturating_add(size);
        if self.announced > max_body {
            return Err(too_large(max_body));
        }
        Ok(size)
    }
}

/// `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )` (RFC 9112 section 7.1.1).
fn are_extensions(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let Some(extension) = after(rest, b';').and_then(after_token) else { return false };
        rest = match after(extension, b'=') {
            None => extension,
            Some(value) => match after_quoted(value).or_else(|| after_token(value)) {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
    true
}

/// What comes after `BWS mark BWS`, if that is here.
fn after(text: &[u8], mark: u8) -> Option<&[u8]> {
    after_blanks(text).strip_prefix(&[mark]).map(after_blanks)
}

fn after_blanks(text: &[u8]) -> &[u8] {
    let n = text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    &text[n..]
}

fn after_token(text: &[u8]) -> Option<&[u8]> {
    let n = text.iter().take_while(|&&b| is_tchar(b)).count();
    (n > 0).then(|| &text[n..])
}

/// RFC 9110 section 5.6.4.
fn after_quoted(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        rest = match rest {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', b, rest @ ..] if is_value(&[*b]) => rest,
            [b'\\', ..] => return None,
            [b, rest @ ..] if is_value(&[*b]) => rest,
            _ => return None,
        }
    }
}

fn trailer(line: &[u8]) -> Result<(), Refusal> {
    match memchr(b':', line) {
        Some(colon) if is_token(&line[..colon]) && is_value(&line[colon + 1..]) => Ok(()),
        _ => Err(refuse(400, "malformed trailer")),
    }
}

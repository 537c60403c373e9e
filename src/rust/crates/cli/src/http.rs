//! HTTP/1.1 as a client: heads of answers, and bodies piece by piece, over any stream; and header fields as users write
//! them. Neighbours: `bench`, which wants to know where an answer ends, `mcp`, which wants what is in it, and `replay`.

use std::io::{self, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longer heads, and longer lines between chunks, are no answers.
const LONGEST_HEAD: usize = 256 << 10;

/// A connection, and what was read of it beyond the last answer.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    read: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// in lower case, without parameters
    pub(crate) content_type: String,
    /// `Mcp-Session-Id`, as it is
    pub(crate) session: Option<String>,
    framing: Framing,
    stays: bool,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked,
    UntilEnd,
}

/// The body of an answer, while it is read.
#[derive(Debug)]
pub(crate) struct Body<'a, S> {
    connection: &'a mut Connection<S>,
    left: Left,
    stays: bool,
}

/// What is still to come of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// this many bytes
    Bytes(u64),
    /// this many bytes of a chunk, and the end of its line
    OfChunk(u64),
    /// a line with the size of a chunk
    Size,
    UntilEnd,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Connection { stream, read: Vec::with_capacity(16 << 10) }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The head of the next answer; those of 1xx, which are before it, are passed over.
    pub(crate) async fn head(&mut self) -> io::Result<Head> {
        loop {
            let head = self.any_head().await?;
            if head.status >= 200 {
                return Ok(head);
            }
        }
    }

    async fn any_head(&mut self) -> io::Result<Head> {
        loop {
            let mut fields = [httparse::EMPTY_HEADER; 128];
            let mut response = httparse::Response::new(&mut fields);
            let parsed = response.parse(&self.read).map_err(|e| io::Error::other(format!("no HTTP: {e}")))?;
            if let httparse::Status::Complete(len) = parsed {
                let status = response.code.unwrap_or_default();
                let head = head_of(status, response.version, response.headers);
                self.read.drain(..len);
                return Ok(head);
            }
            if self.read.len() > LONGEST_HEAD {
                return Err(io::Error::other("the head of the answer has no end"));
            }
            self.fill_some().await?;
        }
    }

    /// The body that follows this head; none after HEAD.
    pub(crate) fn body(&mut self, head: &Head, is_head: bool) -> Body<'_, S> {
        let left = match head.framing {
            _ if is_head || matches!(head.status, 204 | 304) => Left::Bytes(0),
            Framing::Length(n) => Left::Bytes(n),
            Framing::Chunked => Left::Size,
            Framing::UntilEnd => Left::UntilEnd,
        };
        Body { connection: self, left, stays: head.stays && left != Left::UntilEnd }
    }

    /// Reads more: how many bytes; 0 at the end.
    async fn fill(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.read).await
    }

    async fn fill_some(&mut self) -> io::Result<()> {
        match self.fill().await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// At most `most` bytes, and at least one.
    async fn some(&mut self, most: u64) -> io::Result<Vec<u8>> {
        if self.read.is_empty() {
            self.fill_some().await?;
        }
        let n = most.min(self.read.len() as u64) as usize;
        Ok(self.read.drain(..n).collect())
    }

    /// A line, without its end.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.read.iter().position(|&b| b == b'\n') {
                let mut line: Vec<u8> = self.read.drain(..=end).collect();
                line.truncate(end);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            if self.read.len() > LONGEST_HEAD {
                return Err(io::Error::other("a line of the answer has no end"));
            }
            self.fill_some().await?;
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Body<'_, S> {
    /// The next bytes of the body, as they arrive; `None` at its end.
    pub(crate) async fn piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.left {
                Left::Bytes(0) => return Ok(None),
                Left::Bytes(n) => {
                    let piece = self.connection.some(n).await?;
                    self.left = Left::Bytes(n - piece.len() as u64);
                    return Ok(Some(piece));
                }
                Left::OfChunk(0) => {
                    if !self.connection.line().await?.is_empty() {
                        return Err(io::Error::other("a chunk is longer than its size"));
                    }
                    self.left = Left::Size;
                }
                Left::OfChunk(n) => {
                    let piece = self.connection.some(n).await?;
                    self.left = Left::OfChunk(n - piece.len() as u64);
                    return Ok(Some(piece));
                }
                // RFC 9112 section 7.1
                Left::Size => {
                    let line = self.connection.line().await?;
                    let size = line.split(|&b| b == b';').next().and_then(|size| std::str::from_utf8(size).ok());
                    let size = size.and_then(|size| u64::from_str_radix(size.trim(), 16).ok());
                    let size = size.ok_or_else(|| io::Error::other("a chunk has no size"))?;
                    if size == 0 {
                        // trailers, and the empty line
                        while !self.connection.line().await?.is_empty() {}
                        self.left = Left::Bytes(0);
                    } else {
                        self.left = Left::OfChunk(size);
                    }
                }
                Left::UntilEnd => {
                    if self.connection.read.is_empty() && self.connection.fill().await? == 0 {
                        self.left = Left::Bytes(0);
                    } else {
                        return Ok(Some(std::mem::take(&mut self.connection.read)));
                    }
                }
            }
        }
    }

    /// All of it that is left.
    pub(crate) async fn whole(mut self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(piece) = self.piece().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }

    /// Passes over what is left of it. Whether another request may follow on the connection.
    pub(crate) async fn skip(mut self) -> io::Result<bool> {
        while self.piece().await?.is_some() {}
        Ok(self.stays)
    }
}

/// RFC 9112 section 6.3, and whether the connection stays.
fn head_of(status: u16, version: Option<u8>, fields: &[httparse::Header<'_>]) -> Head {
    let text = |name: &str| {
        let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        field.and_then(|field| std::str::from_utf8(field.value).ok())
    };
    let value = |name: &str| text(name).map(str::to_ascii_lowercase);
    let connection = value("connection").unwrap_or_default();
    let stays = if version == Some(0) { connection == "keep-alive" } else { connection != "close" };
    let framing = if value("transfer-encoding").is_some_and(|coding| coding.ends_with("chunked")) {
        Framing::Chunked
    } else {
        value("content-length").and_then(|n| n.trim().parse().ok()).map_or(Framing::UntilEnd, Framing::Length)
    };
    let content_type = value("content-type").unwrap_or_default();
    let content_type = content_type.split(';').next().unwrap_or_default().trim().to_owned();
    Head { status, content_type, session: text("mcp-session-id").map(str::to_owned), framing, stays }
}

/// A header field as somebody writes it on a command line, with one space behind the colon.
///
/// # Errors
/// When it is none, or is one of those that frame the message, which are this program's own.
pub(crate) fn field(text: &str) -> Result<String, String> {
    let wrong = || "must be a header field such as 'Accept: text/html'".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    // RFC 9110 section 5.6.2
    let is_in_name = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let right = !name.is_empty() && name.bytes().all(is_in_name) && !value.chars().any(char::is_control);
    let framing = ["content-length", "transfer-encoding", "connection"];
    if framing.contains(&&*name.to_ascii_lowercase()) {
        return Err(format!("cannot be {name}, which drover sets itself"));
    }
    right.then(|| format!("{name}: {}", value.trim())).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statuses and bodies of what a server sends at once, until the connection is not to be used again.
    fn answers(bytes: &'static [u8]) -> Vec<Result<(u16, String), ErrorKind>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (server, client) = tokio::io::duplex(bytes.len().max(1));
            let mut server = Connection::new(server);
            server.send(bytes).await.unwrap();
            drop(server);
            let mut connection = Connection::new(client);
            let mut answers = Vec::new();
            loop {
                let answer = async {
                    let head = connection.head().await?;
                    let mut body = connection.body(&head, false);
                    let mut text = String::new();
                    while let Some(piece) = body.piece().await? {
                        text.push_str(&String::from_utf8_lossy(&piece));
                    }
                    io::Result::Ok(((head.status, text), body.stays))
                };
                match answer.await {
                    Ok((answer, stays)) => {
                        answers.push(Ok(answer));
                        if !stays {
                            return answers;
                        }
                    }
                    Err(e) => {
                        answers.push(Err(e.kind()));
                        return answers;
                    }
                }
            }
        })
    }

    #[test]
    fn bodies_have_what_their_framing_says() {
        let all = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
            HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n\
            HTTP/1.1 204 No Content\r\n\r\n\
            HTTP/1.1 404 Not Found\r\n\r\nuntil the end";
        let ok = |status, text: &str| Ok((status, text.to_owned()));
        assert_eq!(answers(all), [ok(200, "abc"), ok(201, "abcde"), ok(204, ""), ok(404, "until the end")]);
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let broken = [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
            b"HTTP/1.1 200",
        ];
        for bytes in broken {
            assert_eq!(answers(bytes), [Err(ErrorKind::UnexpectedEof)]);
        }
        assert_eq!(
            answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"),
            [Err(ErrorKind::Other)]
        );
    }

    #[test]
    fn fields_cannot_split_a_request_or_frame_it() {
        assert_eq!(field("A:b"), Ok("A: b".to_owned()));
        assert!(field("Authorization: Bearer x").is_ok() && field("a:").is_ok());
        for wrong in ["", "A", ": b", "A b: c", "A\"b: c", "A: b\r\nC: d", "Content-Length: 3"] {
            assert!(field(wrong).is_err(), "{wrong}");
        }
    }
}

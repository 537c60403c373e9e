//! A connection of `drover bench`: requests and their answers, of which only the end has to be found.

use super::target::Target;
use std::io::{self, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection, and what was read of it beyond the last answer.
pub(super) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// One request and its answer: the status. The connection stays if another request may follow.
pub(super) async fn exchange(target: &Target, connection: &mut Option<Connection>) -> io::Result<u16> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => {
            let stream = TcpStream::connect(target.address).await?;
            stream.set_nodelay(true)?;
            Connection { stream, read: Vec::with_capacity(16 << 10) }
        }
    };
    open.stream.write_all(&target.request).await?;
    let (head, status) = loop {
        let head = open.head().await?;
        // 1xx are before the answer
        if head.status >= 200 {
            break (head.framing, head.status);
        }
    };
    let (framing, stays) = head;
    let has_body = !target.is_head && !matches!(status, 204 | 304);
    match framing {
        _ if !has_body => {}
        Framing::Length(n) => open.skip(n).await?,
        Framing::Chunked => open.skip_chunks().await?,
        Framing::UntilEnd => {
            while open.fill().await? > 0 {
                open.read.clear();
            }
            return Ok(status);
        }
    }
    if stays {
        *connection = Some(open);
    }
    Ok(status)
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked,
    UntilEnd,
}

struct AnswerHead {
    status: u16,
    /// and whether another request may follow
    framing: (Framing, bool),
}

/// Longer heads are no answers.
const LONGEST_HEAD: usize = 256 << 10;

impl Connection {
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

    async fn head(&mut self) -> io::Result<AnswerHead> {
        loop {
            let mut fields = [httparse::EMPTY_HEADER; 128];
            let mut response = httparse::Response::new(&mut fields);
            let parsed = response.parse(&self.read).map_err(|e| io::Error::other(format!("no HTTP: {e}")))?;
            if let httparse::Status::Complete(len) = parsed {
                let status = response.code.unwrap_or_default();
                let framing = framing(response.version, response.headers);
                self.read.drain(..len);
                return Ok(AnswerHead { status, framing });
            }
            if self.read.len() > LONGEST_HEAD {
                return Err(io::Error::other("the head of the answer has no end"));
            }
            self.fill_some().await?;
        }
    }

    /// Reads and discards `n` bytes.
    async fn skip(&mut self, mut n: u64) -> io::Result<()> {
        loop {
            let here = n.min(self.read.len() as u64);
            self.read.drain(..here as usize);
            n -= here;
            if n == 0 {
                return Ok(());
            }
            self.fill_some().await?;
        }
    }

    /// RFC 9112 section 7.1.
    async fn skip_chunks(&mut self) -> io::Result<()> {
        loop {
            let line = self.line().await?;
            let size = line.split(|&b| b == b';').next().and_then(|size| std::str::from_utf8(size).ok());
            let size = size.and_then(|size| u64::from_str_radix(size.trim(), 16).ok());
            let size = size.ok_or_else(|| io::Error::other("a chunk has no size"))?;
            if size == 0 {
                // trailers, and the empty line
                while !self.line().await?.is_empty() {}
                return Ok(());
            }
            self.skip(size.saturating_add(2)).await?;
        }
    }

    async fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.read.windows(2).position(|window| window == b"\r\n") {
                let line = self.read[..end].to_vec();
                self.read.drain(..end + 2);
                return Ok(line);
            }
            if self.read.len() > LONGEST_HEAD {
                return Err(io::Error::other("a line of the answer has no end"));
            }
            self.fill_some().await?;
        }
    }
}

/// RFC 9112 section 6.3, and whether the connection stays.
fn framing(version: Option<u8>, fields: &[httparse::Header<'_>]) -> (Framing, bool) {
    let value = |name: &str| {
        let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        field.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::to_ascii_lowercase)
    };
    let connection = value("connection").unwrap_or_default();
    let stays = if version == Some(0) { connection == "keep-alive" } else { connection != "close" };
    let framing = if value("transfer-encoding").is_some_and(|coding| coding.ends_with("chunked")) {
        Framing::Chunked
    } else {
        value("content-length").and_then(|n| n.trim().parse().ok()).map_or(Framing::UntilEnd, Framing::Length)
    };
    (framing, stays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::time::Duration;

    /// Answers each request of one connection after the other with the next of these, the last one for ever.
    fn server(answers: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut next = answers.iter().chain(std::iter::repeat(answers.last().unwrap()));
            for mut stream in listener.incoming().flatten() {
                let (mut read, mut piece) = (Vec::new(), [0; 1024]);
                while let Ok(n @ 1..) = stream.read(&mut piece) {
                    read.extend_from_slice(&piece[..n]);
                    while let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                        read.drain(..end + 4);
                        let answer = next.next().unwrap();
                        stream.write_all(answer.as_bytes()).unwrap();
                        if answer.contains("close") {
                            stream.shutdown(std::net::Shutdown::Both).unwrap();
                        }
                    }
                }
            }
        });
        address
    }

    fn statuses(answers: &'static [&'static str], requests: usize) -> Vec<Result<u16, ErrorKind>> {
        let target = Target {
            address: server(answers),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            is_head: false,
            timeout: Duration::from_secs(10),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut connection, mut statuses) = (None, Vec::new());
            for _ in 0..requests {
                statuses.push(exchange(&target, &mut connection).await.map_err(|e| e.kind()));
            }
            statuses
        })
    }

    #[test]
    fn answers_end_where_their_framing_says() {
        let answers = &[
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nuntil the end",
            "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        ];
        assert_eq!(statuses(answers, 6), [Ok(200), Ok(201), Ok(204), Ok(404), Ok(503), Ok(503)]);
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let answers = &["HTTP/1.1 200 OK\r\nContent-Length: 30\r\nConnection: close\r\n\r\nabc"];
        assert_eq!(statuses(answers, 1), [Err(ErrorKind::UnexpectedEof)]);
    }
}

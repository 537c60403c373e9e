//! `drover bench URL`: a small load test. A closed loop: each connection has one request at a time, and the next follows its answer.
//! Not for comparing servers, which a client beside them on one machine disturbs: `benchmarks/` does that.

use crate::exit::{Code, Error};
use crate::latencies::Latencies;
use crate::manage;
use clap::Args;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout, timeout_at, Instant};

const EXAMPLES: &str = "\
Examples:
  drover bench http://127.0.0.1:8080/
  drover bench http://127.0.0.1:8080/predict --connections 64 --duration 30s
  drover bench http://127.0.0.1:8080/predict -X POST -H 'Content-Type: application/json' --body @input.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// Where to: http://HOST:PORT/PATH
    url: String,
    /// Connections, each with one request at a time
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: u16,
    /// For how long
    #[arg(short, long, value_name = "SECONDS", default_value = "10s", value_parser = positive)]
    duration: f64,
    /// Longest wait for an answer
    #[arg(short, long, value_name = "SECONDS", default_value = "30s", value_parser = positive)]
    timeout: f64,
    /// The method
    #[arg(short = 'X', long, default_value = "GET", value_parser = method)]
    method: String,
    /// A header field, as in 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = field)]
    headers: Vec<String>,
    /// The body: a text, or the file behind an @
    #[arg(long)]
    body: Option<String>,
}

fn positive(text: &str) -> Result<f64, String> {
    admission::units::seconds(text)
        .filter(|seconds| (0.01..=86_400.0).contains(seconds))
        .ok_or_else(|| "must be a number of seconds in 0.01..86400, or a time such as 500ms, 30s or 2m".to_owned())
}

fn method(text: &str) -> Result<String, String> {
    let right = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic());
    right.then(|| text.to_ascii_uppercase()).ok_or_else(|| "must be a method such as GET or POST".to_owned())
}

/// Those that frame the message are this program's own.
fn field(text: &str) -> Result<String, String> {
    let wrong = || "must be a header field such as 'Accept: text/html'".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let right = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()) && !value.chars().any(char::is_control);
    let framing = ["content-length", "transfer-encoding", "connection"];
    if framing.contains(&&*name.to_ascii_lowercase()) {
        return Err(format!("cannot be {name}, which bench sets itself"));
    }
    right.then(|| format!("{name}: {}", value.trim())).ok_or_else(wrong)
}

/// Where requests go, and what they are.
#[derive(Debug)]
struct Target {
    address: SocketAddr,
    request: Vec<u8>,
    /// whether its answers have no body
    is_head: bool,
    timeout: Duration,
}

/// What came of them.
#[derive(Debug, Default)]
struct Counts {
    latencies: Latencies,
    statuses: BTreeMap<u16, u64>,
    errors: BTreeMap<String, u64>,
}

/// Host, with port, and the rest of `http://HOST:PORT/PATH?QUERY`.
fn parts(url: &str) -> Result<(String, String), String> {
    let wrong = || format!("the URL must be http://HOST:PORT/PATH, not '{url}'");
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    if host.is_empty() || host.contains('@') || !is_plain(host) || !is_plain(target) {
        return Err(wrong());
    }
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    Ok((host.to_owned(), target))
}

/// The bytes of a request.
fn request(args: &BenchArgs, host: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let mut head = format!("{} {target} HTTP/1.1\r\n", args.method);
    let has = |name: &str| {
        args.headers.iter().any(|field| field.split(':').next().is_some_and(|known| known.eq_ignore_ascii_case(name)))
    };
    for (name, value) in
        [("Host", host), ("User-Agent", concat!("drover-bench/", env!("CARGO_PKG_VERSION"))), ("Accept", "*/*")]
    {
        if !has(name) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    for field in &args.headers {
        let _ = write!(head, "{field}\r\n");
    }
    if args.body.is_some() {
        let _ = write!(head, "Content-Length: {}\r\n", body.len());
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends requests for as long as was asked for, and prints what came of them.
///
/// # Errors
/// When the URL is wrong, nobody listens, or nothing was answered.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Error> {
    let (host, target) = parts(&args.url).map_err(|e| Error::new(Code::Usage, e))?;
    let body = match args.body.as_deref().map(|body| body.strip_prefix('@').ok_or(body)) {
        Some(Ok(file)) => fs::read(file).map_err(|e| Error::new(Code::Missing, format!("cannot read {file}: {e}")))?,
        Some(Err(text)) => text.as_bytes().to_vec(),
        None => Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Error::new(Code::System, e.to_string()))?;
    let (counts, seconds) = runtime.block_on(async {
        let address = reach(&host).await?;
        let request = request(args, &host, &target, &body);
        let timeout = Duration::from_secs_f64(args.timeout);
        let target = Arc::new(Target { address, request, is_head: args.method == "HEAD", timeout });
        let began = Instant::now();
        let until = began + Duration::from_secs_f64(args.duration);
        let clients: Vec<_> = (0..args.connections).map(|_| tokio::spawn(client(target.clone(), until))).collect();
        let mut all = Counts::default();
        for one in clients {
            let counts = one.await.map_err(|e| Error::new(Code::System, e.to_string()))?;
            all.latencies.join(&counts.latencies);
            counts.statuses.into_iter().for_each(|(status, n)| *all.statuses.entry(status).or_default() += n);
            counts.errors.into_iter().for_each(|(error, n)| *all.errors.entry(error).or_default() += n);
        }
        Ok::<_, Error>((all, began.elapsed().as_secs_f64()))
    })?;
    manage::print(&report(args, &counts, seconds))?;
    if counts.latencies.total() == 0 {
        return Err(Error::new(Code::App, format!("no request was answered within {} s", args.duration)));
    }
    Ok(())
}

/// Where a host is that somebody listens on.
async fn reach(host: &str) -> Result<SocketAddr, Error> {
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(before, port)| port.parse::<u16>().is_ok() && (!before.contains(':') || before.ends_with(']')));
    let place = if has_port { host.to_owned() } else { format!("{host}:80") };
    let mut problem = format!("{host} is no host");
    for address in tokio::net::lookup_host(&place).await.map_err(|e| Error::new(Code::Usage, format!("{host}: {e}")))? {
        match timeout(Duration::from_secs(5), TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(address),
            Ok(Err(e)) => problem = e.to_string(),
            Err(_) => problem = "no answer".to_owned(),
        }
    }
    Err(Error::new(Code::Address, format!("cannot connect to {host}: {problem}")))
}

/// One connection, and others in its place when it ends, until the time is over. What is under way then does not count.
async fn client(target: Arc<Target>, until: Instant) -> Counts {
    let mut counts = Counts::default();
    let mut connection = None;
    while Instant::now() < until {
        let began = Instant::now();
        let Ok(outcome) = timeout_at(until, timeout(target.timeout, exchange(&target, &mut connection))).await else {
            break;
        };
        let why = match outcome {
            Ok(Ok(status)) => {
                counts.latencies.add(began.elapsed().as_micros() as u64);
                *counts.statuses.entry(status).or_default() += 1;
                continue;
            }
            Ok(Err(e)) => match e.kind() {
                ErrorKind::UnexpectedEof => "the connection ended before the answer did".to_owned(),
                _ => e.to_string(),
            },
            Err(_) => format!("no answer within {} s", target.timeout.as_secs_f64()),
        };
        *counts.errors.entry(why).or_default() += 1;
        connection = None;
        // a server that refuses is not to be asked as fast as the system can
        sleep(Duration::from_millis(10)).await;
    }
    counts
}

/// A connection, and what was read of it beyond the last answer.
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// One request and its answer: the status. The connection stays if another request may follow.
async fn exchange(target: &Target, connection: &mut Option<Connection>) -> io::Result<u16> {
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

    /// Reads so many bytes, which nobody wants.
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

fn report(args: &BenchArgs, counts: &Counts, seconds: f64) -> String {
    let Counts { latencies, statuses, errors } = counts;
    let total = latencies.total();
    let mut text = format!(
        "{} {} for {seconds:.1} s, {}\n",
        args.method,
        args.url,
        manage::count(args.connections.into(), "connection")
    );
    let _ = writeln!(text, "requests  {total}, {:.1} per second", total as f64 / seconds);
    if total > 0 {
        let at = |part| milliseconds(latencies.quantile(part));
        let longest = milliseconds(latencies.longest());
        let _ = writeln!(text, "latency   p50 {}, p90 {}, p99 {}, max {longest}", at(0.5), at(0.9), at(0.99));
        let each: Vec<String> = statuses.iter().map(|(status, n)| format!("{status}: {n}")).collect();
        let _ = writeln!(text, "statuses  {}", each.join(", "));
    }
    for (error, n) in errors {
        let _ = writeln!(text, "errors    {n}: {error}");
    }
    text
}

fn milliseconds(micros: u64) -> String {
    format!("{:.2} ms", micros as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn urls_are_plain_http() {
        let parts = |url: &str| parts(url).ok();
        let pair = |host: &str, target: &str| Some((host.to_owned(), target.to_owned()));
        assert_eq!(parts("http://a:80/b?c#d"), pair("a:80", "/b?c"));
        assert_eq!(parts("http://[::1]:8080"), pair("[::1]:8080", "/"));
        assert_eq!(parts("http://a?x=1"), pair("a", "/?x=1"));
        for wrong in ["https://a/", "a", "http://", "http:///x", "http://u@a/", "http://a/b c", "http://a/\r\nX: 1"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn fields_cannot_split_a_request_or_frame_it() {
        assert_eq!(field("A:b"), Ok("A: b".to_owned()));
        for wrong in ["A", ": b", "A b: c", "A: b\r\nC: d", "Content-Length: 3"] {
            assert!(field(wrong).is_err(), "{wrong}");
        }
        assert!(method("G T").is_err() && method("post").unwrap() == "POST");
    }

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

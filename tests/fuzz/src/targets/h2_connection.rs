//! A connection of HTTP/2: for any bytes that a client sends, in any pieces, however much it reads and however long it
//! waits, the server answers in frames and closes the connection in time; then no task, no file and no counted byte of
//! it is left.
//!
//! Input: flags, then steps, a byte each with what it needs. Time is the target's.

use crate::input::Input;
use admission::Limits;
use bytes::Bytes;
use exchange::{pipe, set_now, PipeWriter};
use http::{Method, StatusCode};
use httpd::fuzzing_http2::{Http2, Left, Served};
use httpd::{
    receive, Answering, Body, Connection, End, Failure, Head, Incoming, OpenRequest, Received, Response, Service,
};
use std::fs::File;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const PATHS: [&str; 8] = ["/now", "/large", "/file", "/body", "/later", "/pipe", "/now?q=1", "*"];

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;

const LARGE: usize = 200_000;
/// Streams at a time; bytes that they may keep waiting.
const STREAMS: u32 = 20;
const MOST_WAITING: usize = STREAMS as usize * (LARGE + (64 << 10));

/// The server gives up any client within this many ms: all timeouts one after the other, with room.
const PATIENCE: u64 = 300_000;

/// Answers that others have still to make.
#[derive(Default)]
struct Promised {
    answers: Vec<oneshot::Sender<()>>,
    pipes: Vec<PipeWriter>,
    /// files are being sent, or were
    has_files: bool,
    /// responses whose end was not told yet
    open: usize,
}

/// The app.
struct App(Arc<Mutex<Promised>>);

impl Service for App {
    fn answer(&self, head: Head, mut body: Incoming, connection: Arc<Connection>) -> Answering {
        let open = OpenRequest::new(connection);
        let asks_head = head.method == Method::HEAD;
        let mut promised = self.0.lock().expect("nobody panics with it");
        let source = match head.path() {
            "/now" => Body::bytes("now"),
            "/large" => Body::bytes(Bytes::from_static(&[b'l'; LARGE])),
            "/file" => {
                promised.has_files = true;
                Body::file(File::open("/proc/self/exe").expect("this program"), 0, LARGE as u64)
            }
            "/body" => {
                let of = self.0.clone();
                return Answering::Later(Box::pin(async move {
                    let (status, text) = match receive(&mut body, open.connection(), None, 100_000).await {
                        Ok(Received::Empty) => (StatusCode::OK, Body::empty()),
                        Ok(Received::Memory(bytes)) => (StatusCode::OK, Body::bytes(bytes)),
                        Ok(Received::Spooled(_, len)) => (StatusCode::OK, Body::bytes(len.to_string())),
                        Err(failure) => (failure.status, Body::empty()),
                    };
                    kept(&of, asks_head, status, text, open, body)
                }));
            }
            "/later" => {
                let (answer, promise) = oneshot::channel();
                promised.answers.push(answer);
                let of = self.0.clone();
                return Answering::Later(Box::pin(async move {
                    let status = promise.await.map_or(StatusCode::GATEWAY_TIMEOUT, |()| StatusCode::OK);
                    kept(&of, asks_head, status, Body::bytes("later"), open, body)
                }));
            }
            "/pipe" => {
                let (writer, reader) = pipe(None);
                promised.pipes.push(writer);
                Body::pipe(reader)
            }
            _ => Body::empty(),
        };
        drop(promised);
        let mut source = if asks_head { Body::empty() } else { source };
        if source.take_place(open.connection().server()).is_err() {
            source = Body::empty();
        }
        Answering::Now(Some(kept(&self.0, asks_head, StatusCode::OK, source, open, body)))
    }

    fn refused(&self, _: &Connection, _: u64, _: &Failure) {
        panic!("the preface is not this connection's to refuse");
    }

    fn expire(&self) -> bool {
        false
    }
}

/// Checks how a response ends whose body has `len` bytes.
struct Ends {
    of: Arc<Mutex<Promised>>,
    len: Option<u64>,
}

impl End for Ends {
    fn end(self: Box<Self>, bytes: u64, whole: bool) {
        assert!(!whole || self.len.is_none_or(|len| len == bytes), "{bytes} of {:?} are whole", self.len);
        self.of.lock().expect("nobody panics with it").open -= 1;
    }
}

fn kept(
    of: &Arc<Mutex<Promised>>,
    asks_head: bool,
    status: StatusCode,
    body: Body,
    open: OpenRequest,
    incoming: Incoming,
) -> Response {
    of.lock().expect("nobody panics with it").open += 1;
    let end = Ends { of: of.clone(), len: body.len().filter(|_| !asks_head) };
    let body = body.keeping(Some(open), incoming.into_unread());
    Response { status, fields: Default::default(), body, end: Some(Box::new(end)) }
}

struct World {
    http: Http2,
    promised: Arc<Mutex<Promised>>,
    uploads: tempfile::TempDir,
}

thread_local! {
    static WORLD: World = World::new();
}

/// See the module.
pub fn run(data: &[u8]) {
    WORLD.with(|world| world.meets(Input(data)));
}

impl World {
    fn new() -> World {
        let promised = Arc::<Mutex<Promised>>::default();
        let uploads = tempfile::tempdir().expect("a folder");
        let limits = Limits { max_streams: STREAMS, max_body: 100_000, spool_above: 30_000, ..Limits::default() };
        let http = Http2::new(Arc::new(App(promised.clone())), limits, uploads.path().into());
        World { http, promised, uploads }
    }

    fn promised(&self) -> MutexGuard<'_, Promised> {
        self.promised.lock().expect("nobody panics with it")
    }

    fn has_files(&self) -> bool {
        self.promised().has_files
    }

    fn turn(&self) {
        self.http.turn(3, self.has_files());
    }

    fn meets(&self, mut input: Input) {
        set_now(1);
        *self.promised() = Promised::default();
        let flags = input.byte();
        let (mine, theirs) = UnixStream::pair().expect("sockets");
        for socket in [&mine, &theirs] {
            socket.set_nonblocking(true).expect("a socket");
        }
        let served = self.http.serve(theirs.into());
        let mut client = Client { socket: Some(mine), last: 0, now: 1, read: Vec::new(), frames: 0 };
        if flags & 1 == 0 {
            client.send(PREFACE);
            client.frame(SETTINGS, 0, 0, &[]);
        }
        while !input.0.is_empty() && !served.has_ended() {
            self.step(&mut client, &served, &mut input);
            if flags & 2 == 0 {
                self.turn();
            }
            let (bytes, streams) = served.waiting();
            assert!(bytes <= MOST_WAITING, "{bytes} bytes wait");
            assert!(streams <= 2 * STREAMS as usize, "{streams} streams");
        }
        self.turn();
        // the app makes no more answers; what remains is up to the client
        self.promised().answers.clear();
        self.promised().pipes.clear();
        if flags & 4 == 0 {
            client.socket = None;
        } else {
            // it stays, and does nothing any more
            let until = client.now + PATIENCE;
            while !served.has_ended() && client.now < until {
                client.now += 1000;
                set_now(client.now);
                self.http.look(&served);
                self.turn();
            }
        }
        assert!(self.comes_true(|| served.has_ended()), "the connection does not end");
        client.takes(usize::MAX);
        drop(client);
        self.comes_true(|| self.http.left() == Left::default() && self.promised().open == 0 && served.is_alone());
        assert_eq!(self.http.left(), Left::default());
        assert_eq!(served.waiting(), (0, 0));
        assert_eq!(self.promised().open, 0, "responses whose end nobody hears of");
        assert!(served.is_alone(), "somebody holds the connection");
        let kept = std::fs::read_dir(self.uploads.path()).expect("a folder").count();
        assert_eq!(kept, 0, "bodies stay on disk");
    }

    /// Files are read and written by other threads, and those take as long as they take.
    fn comes_true(&self, what: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while !what() && began.elapsed() < Duration::from_secs(10) {
            self.http.turn(3, true);
        }
        what()
    }

    fn step(&self, client: &mut Client, served: &Served, input: &mut Input) {
        match input.byte() & 15 {
            0 | 1 => {
                let n = usize::from(input.byte());
                client.send(input.bytes(n));
            }
            2..=5 => client.asks(input),
            6 => {
                let (stream, len) = (client.stream(input), usize::from(input.word()) % 16_400);
                client.frame(DATA, input.byte() & 9, stream, &[b'b'; 16_400][..len]);
            }
            7 => {
                let (kind, flags, stream) = (input.byte(), input.byte(), client.stream(input));
                let n = usize::from(input.byte());
                client.frame(kind, flags, stream, input.bytes(n));
            }
            8 => {
                let stream = client.stream(input);
                let more = u32::from(input.word()) << (input.byte() & 15);
                client.frame(WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
            }
            9 => {
                let mut payload = u16::from(input.byte()).to_be_bytes().to_vec();
                payload.extend((u32::from(input.word()) << (input.byte() & 15)).to_be_bytes());
                client.frame(SETTINGS, 0, 0, &payload);
            }
            10 => {
                let stream = client.stream(input);
                client.frame(RST_STREAM, 0, stream, &u32::from(input.byte()).to_be_bytes());
            }
            11 => {
                client.now += u64::from(input.word());
                set_now(client.now);
                self.http.look(served);
            }
            12 => client.takes(usize::from(input.word())),
            13 => {
                let (what, len) = (input.byte(), usize::from(input.word()));
                let mut promised = self.promised();
                match what & 3 {
                    0 => drop(promised.answers.pop().map(|answer| answer.send(()))),
                    1 => drop(promised.answers.pop()),
                    2 => {
                        if let Some(pipe) = promised.pipes.last() {
                            pipe.write(Bytes::from(vec![b'p'; len]), false);
                        }
                    }
                    _ => {
                        let pipe = promised.pipes.pop();
                        drop(promised);
                        pipe.into_iter().for_each(|pipe| pipe.end(what & 4 == 0));
                    }
                }
            }
            14 => match input.byte() & 3 {
                0 => served.drain(),
                1 => client.ends_its_side(),
                _ => client.frame(SETTINGS, 1, 0, &[]),
            },
            _ => self.turn(),
        }
    }
}

struct Client {
    socket: Option<UnixStream>,
    /// the last stream that it began
    last: u32,
    now: u64,
    /// what was read of a frame that is not whole
    read: Vec<u8>,
    frames: usize,
}

impl Client {
    /// Sends as much as there is room for: a client may be cut off anywhere.
    fn send(&mut self, bytes: &[u8]) {
        if let Some(socket) = &mut self.socket {
            // it may have been ended by the server
            let _ = socket.write(bytes);
        }
    }

    fn ends_its_side(&mut self) {
        if let Some(socket) = &self.socket {
            // as above
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.send(&frame);
    }

    /// A stream that it has begun, mostly.
    fn stream(&self, input: &mut Input) -> u32 {
        self.last.saturating_sub(u32::from(input.byte() & 31))
    }

    /// A request; the names of its fields are those of the static table (RFC 7541 appendix A).
    fn asks(&mut self, input: &mut Input) {
        let (what, which) = (input.byte(), input.byte());
        self.last = if what & 128 == 0 { self.last + 1 | 1 } else { u32::from(which) };
        let mut block = match what & 3 {
            0 | 1 => vec![0x82],
            2 => vec![0x83],
            _ => literal(2, b"HEAD"),
        };
        block.push(0x86);
        block.extend(literal(1, b"a"));
        block.extend(literal(4, PATHS[usize::from(which & 7)].as_bytes()));
        if what & 4 != 0 {
            block.extend(literal(28, input.word().to_string().as_bytes()));
        }
        if what & 8 != 0 {
            block.extend(literal(35, b"100-continue"));
        }
        // END_STREAM, and END_HEADERS unless a CONTINUATION is promised
        let flags = u8::from(what & 16 == 0) | if what & 96 == 96 { 0 } else { 4 };
        self.frame(HEADERS, flags, self.last, &block);
    }

    /// Reads up to `most` bytes, and checks the frames in them.
    fn takes(&mut self, most: usize) {
        let Some(socket) = &mut self.socket else { return };
        // an error is the connection's end
        let mut left = most;
        let mut buffer = [0; 16 << 10];
        while left > 0 {
            let end = buffer.len().min(left);
            match socket.read(&mut buffer[..end]) {
                Ok(n) if n > 0 => self.read.extend_from_slice(&buffer[..n]),
                _ => break,
            }
            left -= end;
        }
        let mut rest = &self.read[..];
        while let Some((header, after)) = rest.split_first_chunk::<9>() {
            let [a, b, c, kind, _, stream @ ..] = *header;
            let len = u32::from_be_bytes([0, a, b, c]) as usize;
            let stream = u32::from_be_bytes(stream);
            match kind {
                DATA | HEADERS | 9 => assert!(stream & 1 == 1 && stream >> 31 == 0, "{header:?}"),
                // also of a stream that a client cannot have
                RST_STREAM => assert!(stream > 0 && stream >> 31 == 0, "{header:?}"),
                SETTINGS | 6 | 7 => assert_eq!(stream, 0, "{header:?}"),
                WINDOW_UPDATE => {}
                _ => panic!("no frame of a server: {header:?}"),
            }
            assert!(self.frames > 0 || kind == SETTINGS, "a server begins with its settings");
            let Some(after) = after.get(len..) else { break };
            self.frames += 1;
            rest = after;
        }
        self.read = rest.to_vec();
    }
}

/// A field that is not to be remembered, with a name of the static table.
fn literal(name: u8, value: &[u8]) -> Vec<u8> {
    let mut field = match name.checked_sub(15) {
        None => vec![name],
        Some(rest) => vec![15, rest],
    };
    field.push(value.len() as u8);
    field.extend(value);
    field
}

//! HTTP/2 over sockets: clients that let the server wait, each within its own limits and at no other client's cost.
//! `tests/conformance` has what is refused frame by frame.

mod service;
mod settings;

use admission::Limits;
use bytes::Bytes;
use engine::{AppConfig, MountConfig, Runs};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::{Request, StatusCode};
use patience::patience;
use service::Service;
use std::borrow::Cow;
use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILE: usize = 300_000;

/// Answers with the body of the request, which may be in a file.
struct Echo;

impl Handlers for Echo {
    fn run(&self, _: u32, request: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        use std::os::unix::ffi::OsStrExt;
        let body = match request.body() {
            wire::BodyRef::Inline(body) => body.to_vec(),
            wire::BodyRef::Spooled { path, .. } => std::fs::read(std::ffi::OsStr::from_bytes(path)).unwrap(),
        };
        let head = Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain")), headers: Vec::new() };
        Some(Answer::Response(Response { head, body: body.into() }))
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

/// `/echo`, and `/f/large`, a file.
fn serve(limits: Limits) -> (Service, tempfile::TempDir) {
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("large"), vec![b'x'; FILE]).unwrap();
    let service = Service::new(1, limits);
    let mount =
        MountConfig { mount: "/f".into(), dir: files.path().to_str().unwrap().into(), links: false, types: None };
    let echo = settings::route("POST", "/echo", 1, Runs::Inline);
    let app = AppConfig { routes: vec![echo], mounts: vec![mount], ..AppConfig::default() };
    service.runs(app, Arc::new(Echo));
    (service, files)
}

/// A second for what is not read.
fn impatient() -> Limits {
    Limits { write_timeout: 1.0, ..Limits::default() }
}

struct Client {
    send: SendRequest<Bytes>,
}

impl Client {
    /// With a window of this many bytes for each response.
    async fn new(service: &Service, window: u32) -> Client {
        let io = tokio::net::TcpStream::connect(service.server.address().inet().unwrap()).await.unwrap();
        io.set_nodelay(true).unwrap();
        let (send, connection) = Builder::new().initial_window_size(window).handshake::<_, Bytes>(io).await.unwrap();
        tokio::spawn(connection);
        Client { send }
    }

    fn get(&mut self, path: &str) -> ResponseFuture {
        let request = Request::get(format!("http://a{path}")).body(()).unwrap();
        self.send.send_request(request, true).unwrap().0
    }

    fn post(&mut self) -> (ResponseFuture, SendStream<Bytes>) {
        let request = Request::post("http://a/echo").body(()).unwrap();
        self.send.send_request(request, false).unwrap()
    }
}

/// Runs a test to its end, which must come in time.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(patience(60), test).await.expect("it takes too long") });
}

/// How the body ends: its length, or the reason of the reset.
async fn whole(response: http::Response<h2::RecvStream>) -> Result<usize, Option<Reason>> {
    let mut body = response.into_body();
    let mut length = 0;
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|e| e.reason())?;
        let _ = body.flow_control().release_capacity(piece.len());
        length += piece.len();
    }
    Ok(length)
}

#[test]
fn files_and_bodies_arrive_whole_through_small_windows() {
    let (service, _files) = serve(Limits::default());
    run(async {
        for window in [1 << 20, 65_535, 1000] {
            let mut client = Client::new(&service, window).await;
            let (a, b) = (client.get("/f/large"), client.get("/f/large"));
            let a = a.await.unwrap();
            assert_eq!((a.status(), a.headers()["content-length"].to_str().unwrap()), (StatusCode::OK, "300000"));
            assert!(a.headers().contains_key("date"));
            let (a, b) = tokio::join!(whole(a), whole(b.await.unwrap()));
            assert_eq!((a, b), (Ok(FILE), Ok(FILE)));
            for length in [0, 1, 200_000] {
                let (response, mut body) = client.post();
                body.send_data(vec![b'y'; length].into(), true).unwrap();
                assert_eq!(whole(response.await.unwrap()).await, Ok(length));
            }
        }
    });
    service.until_open(0);
}

#[test]
fn a_response_that_is_not_read_ends_with_its_stream_and_nothing_else() {
    let (service, _files) = serve(impatient());
    run(async {
        let mut client = Client::new(&service, 0).await;
        let stalled: Vec<_> = (0..90).map(|_| client.get("/f/large")).collect();
        let mut ended = Vec::new();
        for response in stalled {
            ended.push(tokio::spawn(whole(response.await.unwrap())));
        }
        let (response, mut body) = client.post();
        body.send_data(Bytes::from_static(b"hello"), true).unwrap();
        ended.push(tokio::spawn(whole(response.await.unwrap())));
        let before = Instant::now();
        for ended in ended {
            assert_eq!(ended.await.unwrap(), Err(Some(Reason::CANCEL)));
        }
        // one after the other they would take a minute and a half
        assert!(before.elapsed() < patience(10));
        // the connection goes on
        assert_eq!(client.get("/nowhere").await.unwrap().status(), StatusCode::NOT_FOUND);
    });
}

#[test]
fn a_response_that_is_read_byte_by_byte_ends_too() {
    let (service, _files) = serve(impatient());
    run(async {
        let mut client = Client::new(&service, 1).await;
        let mut body = client.get("/f/large").await.unwrap().into_body();
        let mut length = 0;
        let reason = loop {
            match body.data().await {
                Some(Ok(piece)) => {
                    length += piece.len();
                    // the pace of this client
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    let _ = body.flow_control().release_capacity(piece.len());
                }
                Some(Err(e)) => break e.reason(),
                None => panic!("it was sent"),
            }
        };
        assert_eq!(reason, Some(Reason::CANCEL));
        assert!(length < 100, "{length}");
    });
}

#[test]
fn a_slow_reader_that_goes_on_gets_all_of_it() {
    // so long that a pause of this machine is none of the client's
    let clock = patience(2);
    let (service, _files) = serve(Limits { write_timeout: clock.as_secs_f64(), ..Limits::default() });
    run(async {
        // longer for the whole, and never more than a tenth of it without reading
        let mut client = Client::new(&service, 37_500).await;
        let mut body = client.get("/f/large").await.unwrap().into_body();
        let mut length = 0;
        while length < FILE {
            let piece = body.data().await.unwrap().unwrap();
            length += piece.len();
            tokio::time::sleep(clock.mul_f64(1.5 * piece.len() as f64 / FILE as f64)).await;
            body.flow_control().release_capacity(piece.len()).unwrap();
        }
    });
}

#[test]
fn bodies_that_stop_are_given_up_each_by_its_own_clock() {
    // so long that a pause of this machine is none of the body that moves
    let clock = patience(2);
    let (service, _files) = serve(Limits { body_timeout: clock.as_secs_f64(), ..Limits::default() });
    run(async {
        let mut client = Client::new(&service, 65_535).await;
        let stopped: Vec<_> = (0..50).map(|_| client.post()).collect();
        let (moving, mut body) = client.post();
        let mut ended = client.post();
        ended.1.send_data(Bytes::from_static(b"x"), true).unwrap();
        // that another one ends, or moves, is nothing to those that do not
        assert_eq!(ended.0.await.unwrap().status(), StatusCode::OK);
        let before = Instant::now();
        let stopped = tokio::spawn(async {
            for (response, _body) in stopped {
                assert_eq!(response.await.unwrap().status(), StatusCode::REQUEST_TIMEOUT);
            }
        });
        let mut sent = 0;
        while !stopped.is_finished() {
            body.send_data(vec![b'z'; 5000].into(), false).unwrap();
            sent += 5000;
            tokio::time::sleep(clock / 8).await;
        }
        stopped.await.unwrap();
        // one after the other they would take fifty times as long as one
        assert!(before.elapsed() < 10 * clock);
        body.send_data(Bytes::new(), true).unwrap();
        assert_eq!(whole(moving.await.unwrap()).await, Ok(sent));
    });
}

#[test]
fn a_body_below_the_rate_is_given_up_however_it_began() {
    let (service, _files) = serve(Limits { body_timeout: 1.0, ..Limits::default() });
    run(async {
        let mut client = Client::new(&service, 65_535).await;
        let (response, mut body) = client.post();
        body.send_data(vec![b'z'; 60_000].into(), false).unwrap();
        let trickle = async {
            loop {
                // the pace of this client
                tokio::time::sleep(Duration::from_millis(100)).await;
                if body.send_data(Bytes::from_static(b"z"), false).is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            response = response => assert_eq!(response.unwrap().status(), StatusCode::REQUEST_TIMEOUT),
            () = trickle => {}
        }
    });
}

#[test]
fn a_client_is_told_to_send_its_body_when_it_is_wanted() {
    let (service, _files) = serve(Limits::default());
    run(async {
        let mut client = Client::new(&service, 65_535).await;
        let ask = |length: &str| {
            let request = Request::post("http://a/echo").header("expect", "100-continue");
            request.header("content-length", length).body(()).unwrap()
        };
        let (mut response, mut body) = client.send.send_request(ask("2"), false).unwrap();
        let told = std::future::poll_fn(|cx| response.poll_informational(cx)).await.unwrap().unwrap();
        assert_eq!(told.status(), StatusCode::CONTINUE);
        body.send_data(Bytes::from_static(b"ok"), true).unwrap();
        assert_eq!(whole(response.await.unwrap()).await, Ok(2));
        // one that is not wanted is not asked for
        let (mut response, _body) = client.send.send_request(ask("99999999"), false).unwrap();
        assert!(std::future::poll_fn(|cx| response.poll_informational(cx)).await.is_none());
        assert_eq!(response.await.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
    });
}

/// A connection that has begun, for frames written byte by byte.
fn raw(service: &Service) -> TcpStream {
    let mut client = service.connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    client
}

/// The payload of the last frame of this kind among those that come until the connection ends. `read` has been read
/// before.
fn last_frame(client: &mut TcpStream, kind: u8, read: &[u8]) -> Option<Vec<u8>> {
    let mut all = read.to_vec();
    let ended = client.read_to_end(&mut all);
    let kind_of_end = ended.map_err(|e| e.kind());
    assert!(!matches!(kind_of_end, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "the connection goes on");
    let (mut at, mut found) = (0, None);
    while let Some(header) = all.get(at..at + 9) {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        if header[3] == kind {
            found = all.get(at + 9..at + 9 + length).map(<[u8]>::to_vec);
        }
        at += 9 + length;
    }
    found
}

#[test]
fn half_of_a_header_section_ends_with_the_connection_in_time() {
    // no other clock ends a connection here
    let limits = Limits {
        header_timeout: 1.0,
        body_timeout: 600.0,
        write_timeout: 600.0,
        keep_alive: 600.0,
        ..Limits::default()
    };
    let (service, _files) = serve(limits);
    // HEADERS that a CONTINUATION is to follow; half of a frame's header; half of a HEADERS; and no preface at all
    let halves: [&[u8]; 3] = [b"\0\0\x01\x01\0\0\0\0\x01\x82", b"\0\0\x05", b"\0\0\x05\x01\x05\0\0\0\x01\x82"];
    for half in halves {
        let mut client = raw(&service);
        client.write_all(half).unwrap();
        last_frame(&mut client, 7, &[]);
    }
    let mut client = service.connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM").unwrap();
    last_frame(&mut client, 7, &[]);
    service.until_open(0);
}

#[test]
fn frames_that_ask_for_nothing_end_with_the_connection() {
    let (service, _files) = serve(Limits::default());
    let ping = [&b"\0\0\x08\x06\0\0\0\0\0"[..], &[7; 8]].concat();
    let mut client = raw(&service);
    // as many as are allowed are answered
    client.write_all(&ping.repeat(900)).unwrap();
    let mut byte = [0];
    client.read_exact(&mut byte).unwrap();
    client.write_all(&ping.repeat(200)).unwrap();
    let goaway = last_frame(&mut client, 7, &byte).expect("a GOAWAY");
    assert_eq!(goaway[4..8], u32::from(Reason::ENHANCE_YOUR_CALM).to_be_bytes());
    service.until_open(0);
}

#[test]
fn those_who_let_much_wait_have_less_time() {
    // far more than the fifth of it that stalled clients get, even on a busy machine
    let whole_time = patience(12);
    let write_timeout = whole_time.as_secs_f64();
    let (service, _files) =
        serve(Limits { write_timeout, max_body: 2 << 20, spool_above: 2 << 20, ..Limits::default() });
    run(async {
        let mut client = Client::new(&service, 0).await;
        let before = Instant::now();
        let mut stalled = Vec::new();
        for _ in 0..40 {
            let (response, mut body) = client.post();
            body.send_data(vec![b'y'; 1 << 20].into(), true).unwrap();
            stalled.push(tokio::spawn(whole(response.await.unwrap())));
        }
        // 40 MB wait: those that have waited for the longest go, until it is no more than 32
        assert_eq!(stalled.remove(0).await.unwrap(), Err(Some(Reason::CANCEL)));
        // of the server's own clock, which nothing else shows that has the same length
        assert!(before.elapsed() < whole_time);
    });
}

//! WebSockets without R: over HTTP/2 (RFC 8441), and what is sent to them from elsewhere. `tests/websocket` has frames
//! that break rules, `tests/process` what handlers in R do.

mod service;
mod settings;

use admission::Limits;
use bytes::{Bytes, BytesMut};
use engine::{AppConfig, RouteConfig, Runs, WebSocketConfig};
use h2::client::{Builder, SendRequest};
use h2::ext::Protocol;
use h2::{RecvStream, SendStream};
use http::{Method, Request, StatusCode};
use patience::{patience, until_async};
use service::Service;
use std::future::Future;
use tokio::time::sleep;
use wire::command::{Answer, Command};

/// `/ws`, which everybody may use: R is not asked.
fn serve(limits: Limits) -> Service {
    let service = Service::new(1, limits);
    let socket = WebSocketConfig { events: 1, max_message: Some(1000.0), ..WebSocketConfig::default() };
    let route = RouteConfig { websocket: Some(socket), ..settings::route("GET", "/ws", 0, Runs::R) };
    service.server.pool().add_generation(2, &AppConfig { routes: vec![route], ..AppConfig::default() }, None).unwrap();
    service.server.pool().switch_to(2);
    service
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(patience(60), test).await.expect("it takes too long") });
}

async fn client(service: &Service, window: u32) -> SendRequest<Bytes> {
    let io = tokio::net::TcpStream::connect(service.server.address().inet().unwrap()).await.unwrap();
    let (send, connection) = Builder::new().initial_window_size(window).handshake::<_, Bytes>(io).await.unwrap();
    tokio::spawn(connection);
    let send = send.ready().await.unwrap();
    // the server says that it knows this in its first frame
    until_async("the first frame", sleep, || send.is_extended_connect_protocol_enabled()).await;
    send
}

/// One stream that is to be a WebSocket.
struct Socket {
    to: SendStream<Bytes>,
    from: RecvStream,
    come: BytesMut,
}

async fn connect(client: &mut SendRequest<Bytes>, path: &str, protocol: &str) -> Result<Socket, StatusCode> {
    let request = Request::builder()
        .method(Method::CONNECT)
        .uri(format!("http://a{path}"))
        .extension(Protocol::from(protocol.to_owned().leak() as &str))
        .header("sec-websocket-version", "13")
        .body(())
        .unwrap();
    let (response, to) = client.send_request(request, false).unwrap();
    let response = response.await.unwrap();
    match response.status() {
        StatusCode::OK => Ok(Socket { to, from: response.into_body(), come: BytesMut::new() }),
        other => Err(other),
    }
}

impl Socket {
    /// A frame of up to 125 bytes, masked with zeros.
    fn send(&mut self, first: u8, payload: &[u8]) {
        let frame = [&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0], payload].concat();
        self.to.send_data(frame.into(), false).unwrap();
    }

    /// The next frame: its first byte, and the payload, of up to 125 bytes. `None` at the end of the stream.
    async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if self.come.len() >= 2 && self.come.len() >= 2 + usize::from(self.come[1]) {
                let len = usize::from(self.come[1]);
                let frame = self.come.split_to(2 + len);
                return Some((frame[0], frame[2..].to_vec()));
            }
            let piece = self.from.data().await?.unwrap();
            let _ = self.from.flow_control().release_capacity(piece.len());
            self.come.extend_from_slice(&piece);
        }
    }
}

fn say(service: &Service, command: Command<'_>) -> Option<Answer> {
    let mut message = Vec::new();
    command.encode(0, &mut message);
    service.server.commands().execute(message.into(), &|| Box::new(drop)).map(|answer| Answer::decode(&answer).unwrap())
}

/// The names of the connections that there are, in the order in which they came: of a process, and not of a server.
fn connections(service: &Service) -> Vec<u64> {
    let room = &b"of the tests"[..];
    (1..1000).for_each(|connection| drop(say(service, Command::Join { connection, room, name: b"" })));
    say(service, Command::Members { room }).unwrap().0.into_iter().map(|(connection, _)| connection).collect()
}

#[test]
fn a_stream_of_http2_is_a_websocket() {
    let service = serve(Limits::default());
    run(async {
        let mut client = client(&service, 65_535).await;
        let mut a = connect(&mut client, "/ws", "websocket").await.ok().unwrap();
        let mut b = connect(&mut client, "/ws", "websocket").await.ok().unwrap();
        let names = connections(&service);
        for (connection, name) in names.iter().copied().zip([&b"a"[..], b"b"]) {
            say(&service, Command::Join { connection, room: b"x", name });
        }
        say(&service, Command::Send { to: names[0], binary: false, message: b"to a" });
        let told = say(&service, Command::Broadcast { room: b"x", binary: true, message: b"all", except: 0 });
        assert_eq!(told.unwrap().0[0].0, 2);
        assert_eq!(a.next().await, Some((0x81, b"to a".to_vec())));
        assert_eq!(a.next().await, Some((0x82, b"all".to_vec())));
        assert_eq!(b.next().await, Some((0x82, b"all".to_vec())));
        a.send(0x89, b"are you there");
        assert_eq!(a.next().await, Some((0x8a, b"are you there".to_vec())));
        a.send(0x88, b"\x03\xe8bye");
        assert_eq!(a.next().await, Some((0x88, b"\x03\xe8bye".to_vec())));
        assert_eq!(a.next().await, None, "the stream ends");
        b.send(0x83, b"");
        assert_eq!(b.next().await.unwrap().1[..2], [0x03, 0xea], "a frame of an unknown kind");
        until_async("they have left", sleep, || say(&service, Command::Rooms).unwrap() == Answer::default()).await;
    });
}

#[test]
fn what_is_no_websocket_gets_a_status() {
    let service = serve(Limits::default());
    run(async {
        let mut client = client(&service, 65_535).await;
        assert_eq!(connect(&mut client, "/none", "websocket").await.err(), Some(StatusCode::NOT_FOUND));
        assert_eq!(connect(&mut client, "/ws", "other").await.err(), Some(StatusCode::METHOD_NOT_ALLOWED));
        let plain = Request::get("http://a/ws").body(()).unwrap();
        let response = client.send_request(plain, true).unwrap().0.await.unwrap();
        assert_eq!(response.status(), StatusCode::UPGRADE_REQUIRED);
    });
}

#[test]
fn a_client_that_does_not_answer_a_close_is_not_waited_for() {
    let service = serve(Limits::default());
    run(async {
        let mut client = client(&service, 65_535).await;
        let mut socket = connect(&mut client, "/ws", "websocket").await.ok().unwrap();
        say(&service, Command::Close { connection: connections(&service)[0], code: 4000, reason: b"" });
        assert_eq!(socket.next().await, Some((0x88, b"\x0f\xa0".to_vec())));
        assert_eq!(socket.next().await, None);
    });
}

#[test]
fn the_end_of_the_server_is_told_on_every_stream() {
    let service = serve(Limits::default());
    run(async {
        let mut client = client(&service, 65_535).await;
        let mut sockets = Vec::new();
        for _ in 0..5 {
            sockets.push(connect(&mut client, "/ws", "websocket").await.ok().unwrap());
        }
        service.server.drain();
        for socket in &mut sockets {
            let (first, payload) = socket.next().await.unwrap();
            assert_eq!((first, &payload[..2]), (0x88, &[0x03, 0xe9][..]));
            socket.send(0x88, &payload);
            assert_eq!(socket.next().await, None);
        }
    });
}

#[test]
fn a_stream_that_is_not_read_is_given_up_and_the_others_go_on() {
    let service = serve(Limits { write_timeout: 1.0, ..Limits::default() });
    run(async {
        let mut stalled = client(&service, 100).await;
        let mut socket = connect(&mut stalled, "/ws", "websocket").await.ok().unwrap();
        let stuck = connections(&service)[0];
        for _ in 0..40 {
            say(&service, Command::Send { to: stuck, binary: false, message: &[b'x'; 20_000] });
        }
        let mut other = connect(&mut stalled, "/ws", "websocket").await.ok().unwrap();
        say(&service, Command::Send { to: connections(&service)[1], binary: false, message: b"hello" });
        assert_eq!(other.next().await, Some((0x81, b"hello".to_vec())));
        // what was on its way comes, and then the reset
        let mut got = 0;
        let ended = loop {
            match socket.from.data().await {
                Some(Ok(piece)) => got += piece.len(),
                Some(Err(e)) => break e.reason(),
                None => break None,
            }
        };
        assert!(got < 200_000 && ended.is_some(), "{got} bytes came, and then {ended:?}");
    });
}

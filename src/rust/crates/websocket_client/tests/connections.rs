//! Connections to servers that behave, and to others: each is a thread with a socket, which does what the test says.

use patience::patience;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use websocket::{derive_accept_key, head, Came, Kind, Reader};
use websocket_client::{Clients, Close, Event, Message, Options, Target};

/// The clients of a test, and what wakes it.
struct Test {
    clients: Clients,
    wakes: Receiver<()>,
    last: u64,
}

impl Test {
    fn new() -> Test {
        let (wake, wakes) = channel();
        Test { clients: Clients::start(move || wake.send(()).unwrap_or_default()).unwrap(), wakes, last: 0 }
    }

    fn connect(&mut self, options: Options) -> u64 {
        self.last += 1;
        self.clients.connect(self.last, options);
        self.last
    }

    /// The next event.
    fn next(&mut self) -> Event {
        let end = Instant::now() + patience(30);
        loop {
            if let Some((number, event)) = self.clients.take() {
                assert_eq!(number, self.last);
                return event;
            }
            let left = end.saturating_duration_since(Instant::now());
            self.wakes.recv_timeout(left).expect("nothing happens");
        }
    }

    fn send(&self, text: &str) -> bool {
        self.clients.send(self.last, true, text.to_owned().into())
    }
}

fn options(port: u16) -> Options {
    Options {
        target: Target::read(&format!("ws://127.0.0.1:{port}/path?query")).unwrap(),
        headers: websocket_client::headers([("X-Key", "value")].into_iter()).unwrap(),
        protocols: vec!["v2".to_owned(), "v1".to_owned()],
        deflate: true,
        timeout: patience(30),
        max_message: 1 << 20,
        ping_interval: None,
        reconnect: None,
        ca: None,
    }
}

fn text(text: &str) -> Event {
    Event::Message(Message { is_text: true, bytes: text.to_owned().into() })
}

fn closed(code: u16, reason: &str) -> Event {
    Event::Closed { code, reason: reason.to_owned(), failed: false, again: None }
}

/// Starts a server that accepts this many connections; returns its port and its thread.
fn server(mut serve: impl FnMut(usize, TcpStream) + Send + 'static, connections: usize) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        for n in 0..connections {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(patience(30))).unwrap();
            serve(n, stream);
        }
    });
    (port, thread)
}

/// Reads the request, and gives its key.
fn request(stream: &mut impl Read) -> (String, String) {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    let text = String::from_utf8(text).unwrap();
    let key = text.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap().to_owned();
    (text, key)
}

fn answer(stream: &mut (impl Read + Write), more: &str) -> String {
    let (request, key) = request(stream);
    let accept = derive_accept_key(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    request
}

fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    head(kind, payload.len(), None, &mut out);
    out.extend_from_slice(payload);
    out
}

fn words(text: &str) -> Vec<u8> {
    frame(Kind::of(true, false), text.as_bytes())
}

/// What the client says next.
fn hear(stream: &mut impl Read, reader: &mut Reader) -> Came {
    loop {
        if let Some(came) = reader.next(1 << 20, true).unwrap() {
            return came;
        }
        let mut bytes = [0; 4096];
        let n = stream.read(&mut bytes).unwrap();
        assert!(n > 0, "the client has hung up");
        reader.add(&bytes[..n]);
    }
}

const DEFLATE: &str =
    "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n";

#[test]
fn messages_come_and_go_and_pings_are_answered() {
    let (port, server) = server(
        |_, mut stream| {
            let request = answer(&mut stream, &format!("Sec-WebSocket-Protocol: v1\r\n{DEFLATE}"));
            assert!(request.starts_with("GET /path?query HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
            assert!(request.contains("\r\nx-key: value\r\n") && request.contains("Sec-WebSocket-Protocol: v2, v1\r\n"));
            let mut reader = Reader::default();
            stream.write_all(&frame(Kind::Ping, b"there?")).unwrap();
            let mut came = vec![hear(&mut stream, &mut reader), hear(&mut stream, &mut reader)];
            came.retain(|came| *came != Came::Pong);
            let Came::Message(message) = came.remove(0) else { panic!("{came:?}") };
            stream.write_all(&words("so ")).unwrap();
            stream.write_all(&frame(Kind::of(true, true), &websocket::deflate(&message.bytes, 15))).unwrap();
            assert_eq!(hear(&mut stream, &mut reader), Came::Close(Close::new(4001, "enough")));
            stream.write_all(&frame(Kind::Close, &Close::new(4001, "enough").payload())).unwrap();
            assert_eq!(stream.read(&mut [0; 9]).unwrap(), 0, "the client hangs up");
        },
        1,
    );
    let mut test = Test::new();
    let number = test.connect(options(port));
    let long = "said before it is open ".repeat(1000);
    assert!(test.send(&long));
    assert_eq!(test.next(), Event::Open(Some("v1".to_owned())));
    assert_eq!(test.next(), text("so "));
    assert_eq!(test.next(), text(&long));
    assert!(test.clients.close(number, Close::new(4001, "enough")));
    assert_eq!(test.next(), closed(4001, "enough"));
    assert!(!test.send("more") && !test.clients.close(number, Close::new(1000, "")) && test.clients.is_idle());
    server.join().unwrap();
}

#[test]
fn a_server_that_pings_and_does_not_read_is_answered_for_the_last() {
    // more than systems keep for a connection
    const PINGS: u32 = 300_000;
    let (port, thread) = server(
        |_, mut stream| {
            answer(&mut stream, "");
            let payload = |n: u32| [&n.to_be_bytes()[..], &[0; 121]].concat();
            for chunk in (1..=PINGS).collect::<Vec<_>>().chunks(1000) {
                let frames: Vec<u8> = chunk.iter().flat_map(|n| frame(Kind::Ping, &payload(*n))).collect();
                stream.write_all(&frames).unwrap();
            }
            stream.write_all(&words("that was all")).unwrap();
            let (mut pongs, mut last) = (0, 0);
            while last < PINGS {
                // two bytes, the mask, and the bytes of the ping
                let mut pong = [0; 2 + 4 + 125];
                stream.read_exact(&mut pong).unwrap();
                assert_eq!(pong[..2], [0x8a, 0x80 | 125]);
                last = u32::from_be_bytes([0, 1, 2, 3].map(|i| pong[6 + i] ^ pong[2 + i]));
                pongs += 1;
            }
            assert!(pongs < PINGS, "each has an answer, which waited for the server");
        },
        1,
    );
    let mut test = Test::new();
    test.connect(options(port));
    assert_eq!(test.next(), Event::Open(None));
    assert_eq!(test.next(), text("that was all"));
    thread.join().unwrap();
}

#[test]
fn servers_that_want_no_websocket_or_another_one() {
    let good = |key: &str| {
        format!(
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            derive_accept_key(key.as_bytes())
        )
    };
    type Answer = Box<dyn Fn(&str) -> String + Send>;
    let cases: Vec<(Answer, u16, &str)> = vec![
        (
            Box::new(|_| "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".into()),
            403,
            "the server answers 403 Forbidden",
        ),
        (Box::new(|_| "HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n".into()), 301, "301"),
        (Box::new(|_| "SSH-2.0-x\r\n\r\n".into()), 0, "does not speak HTTP"),
        (Box::new(|_| String::new()), 0, "hung up"),
        (Box::new(|_| format!("HTTP/1.1 101 x\r\nX: {}", "x".repeat(70_000))), 0, "does not speak HTTP"),
        (Box::new(move |_| good("another") + "\r\n"), 101, "has not understood"),
        (Box::new(move |key| good(key).replace("upgrade\r\n", "close\r\n") + "\r\n"), 101, "another protocol"),
        (Box::new(move |key| good(key) + "Sec-WebSocket-Protocol: v3\r\n\r\n"), 101, "sub-protocol"),
        (Box::new(move |key| good(key) + "Sec-WebSocket-Extensions: x-zip\r\n\r\n"), 101, "extension"),
        (Box::new(move |key| good(key) + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"), 101, "extension"),
        (Box::new(move |key| good(key) + DEFLATE + DEFLATE + "\r\n"), 101, "extension"),
    ];
    for (answer, status, why) in cases {
        let (port, server) = server(
            move |_, mut stream| {
                let (_, key) = request(&mut stream);
                stream.write_all(answer(&key).as_bytes()).unwrap();
            },
            1,
        );
        let mut test = Test::new();
        test.connect(options(port));
        match test.next() {
            Event::Closed { code, reason, failed: true, again: None } => {
                assert!(code == status && reason.contains(why), "{code} {reason}, not {status} {why}");
            }
            event => panic!("{event:?}, not {why}"),
        }
        server.join().unwrap();
    }
    let mut test = Test::new();
    // nothing listens on this port
    test.connect(options(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()));
    assert!(matches!(test.next(), Event::Closed { code: 0, failed: true, .. }));
}

#[test]
fn servers_that_break_the_rules_vanish_or_say_nothing() {
    let cases: [(Vec<u8>, u16); 5] = [
        (frame(Kind::of(true, false), b"\xff"), Close::INVALID),
        (vec![0x81, 0x81, 1, 2, 3, 4, b'x'], Close::PROTOCOL_ERROR),
        (frame(Kind::of(false, false), &vec![0; 2 << 20]), Close::TOO_BIG),
        (vec![0x82, 100, 1, 2], Close::ABNORMAL),
        (frame(Kind::Close, b""), Close::NO_CODE),
    ];
    for (bytes, code) in cases {
        let (port, server) = server(
            move |_, mut stream| {
                answer(&mut stream, "");
                // it need not be taken
                let _ = stream.write_all(&bytes);
                if code != Close::ABNORMAL && code != Close::NO_CODE {
                    let Came::Close(close) = hear(&mut stream, &mut Reader::default()) else { panic!("no close") };
                    assert_eq!(close.code, code);
                }
            },
            1,
        );
        let mut test = Test::new();
        test.connect(options(port));
        assert_eq!(test.next(), Event::Open(None));
        assert!(matches!(test.next(), Event::Closed { code: its, failed: false, .. } if its == code), "{code}");
        server.join().unwrap();
    }
    // it is asked whether it is there
    let (port, server) = server(
        |_, mut stream| {
            answer(&mut stream, "");
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            assert!(rest.starts_with(&[0x89, 0x80]), "no ping: {rest:?}");
        },
        1,
    );
    let mut test = Test::new();
    test.connect(Options { ping_interval: Some(Duration::from_millis(200)), ..options(port) });
    assert_eq!(test.next(), Event::Open(None));
    assert!(matches!(test.next(), Event::Closed { code: Close::ABNORMAL, .. }));
    server.join().unwrap();
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let (port, server) = server(|_, mut stream| assert!(stream.read_to_end(&mut Vec::new()).is_ok()), 1);
    let mut test = Test::new();
    test.connect(Options { timeout: Duration::from_millis(200), ..options(port) });
    let Event::Closed { code: 0, reason, failed: true, .. } = test.next() else { panic!("it goes on") };
    assert_eq!(reason, "no answer within 0.2 s");
    server.join().unwrap();
}

#[test]
fn a_server_waits_when_nobody_takes_what_it_sends() {
    let (tell, told) = channel();
    let (port, server) = server(
        move |_, mut stream| {
            answer(&mut stream, "");
            // what is taken is taken at once: nothing in so long is a client that takes no more
            stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
            let message = frame(Kind::of(false, false), &[7; 60_000]);
            let mut sent = 0;
            // the system's buffers take some megabytes
            let blocked = loop {
                let mut at = 0;
                while at < message.len() {
                    match stream.write(&message[at..]) {
                        Ok(n) => at += n,
                        Err(_) => break,
                    }
                }
                if at < message.len() {
                    break &message[at..];
                }
                sent += 1;
                assert!(sent < 1000, "60 MB were taken");
            };
            tell.send(sent + 1).unwrap();
            stream.set_write_timeout(None).unwrap();
            stream.write_all(blocked).unwrap();
            stream.write_all(&frame(Kind::Close, &Close::new(1000, "").payload())).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        },
        1,
    );
    let mut test = Test::new();
    test.connect(options(port));
    let sent: usize = told.recv_timeout(patience(30)).expect("it is never kept waiting");
    assert_eq!(test.next(), Event::Open(None));
    for n in 0..sent {
        assert!(matches!(test.next(), Event::Message(message) if message.bytes.len() == 60_000), "{n} of {sent}");
    }
    assert_eq!(test.next(), closed(1000, ""));
    server.join().unwrap();
}

#[test]
fn it_is_connected_again_and_what_was_said_meanwhile_is_sent() {
    let (port, server) = server(
        |n, mut stream| match n {
            0 => {
                answer(&mut stream, "");
            }
            1 => {}
            _ => {
                answer(&mut stream, "");
                let said = hear(&mut stream, &mut Reader::default());
                assert!(matches!(said, Came::Message(message) if &message.bytes[..] == b"again"));
                stream.write_all(&words("welcome")).unwrap();
                let _ = stream.read_to_end(&mut Vec::new());
            }
        },
        3,
    );
    let mut test = Test::new();
    let pauses = [Duration::from_millis(20), Duration::from_millis(80)];
    let number = test.connect(Options { reconnect: Some(pauses), ..options(port) });
    assert_eq!(test.next(), Event::Open(None));
    assert!(matches!(test.next(), Event::Closed { failed: false, again: Some(10..=20), .. }));
    assert!(test.send("again"));
    assert!(matches!(test.next(), Event::Closed { failed: true, again: Some(20..=40), .. }));
    assert_eq!(test.next(), Event::Open(None));
    assert_eq!(test.next(), text("welcome"));
    test.clients.close(number, Close::new(1000, ""));
    assert!(matches!(test.next(), Event::Closed { failed: false, again: None, .. }));
    server.join().unwrap();
}

#[test]
fn all_end_at_once_and_their_servers_are_told() {
    let (go, gone) = channel::<()>();
    let (port, server) = server(
        move |_, mut stream| {
            answer(&mut stream, "");
            assert_eq!(hear(&mut stream, &mut Reader::default()), Came::Close(Close::new(1001, "")));
            // it says nothing, and does not hang up
            let _ = gone.recv();
        },
        1,
    );
    let mut test = Test::new();
    test.connect(options(port));
    assert_eq!(test.next(), Event::Open(None));
    let (tell, told) = channel();
    let clients = test.clients;
    std::thread::spawn(move || {
        clients.stop();
        tell.send(())
    });
    told.recv_timeout(patience(30)).expect("it does not wait for what its servers do");
    drop(go);
    server.join().unwrap();
}

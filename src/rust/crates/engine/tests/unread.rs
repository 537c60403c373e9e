//! Clients that do not read what they get, in HTTP/1.1: they are let go, however their connection is to end.

mod service;
mod settings;

use admission::Limits;
use bytes::Bytes;
use engine::Runs;
use exchange::{streams, Answer, Handlers, Head, RequestView, Response, Sent, Sink};
use patience::{patience, until};
use rustix::net::{connect, getsockname, ipproto, socket, sockopt, AddressFamily, SocketType};
use service::{answer, rest, send, Service, GET};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wire::stream::FIRST;

/// A server whose kernel holds a few kB of answers for each client.
fn small_service(limits: Limits) -> Service {
    let service = Service::new(1, limits);
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let descriptors = descriptors.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // SAFETY: those looked at are open, or looking at them fails; the one that is used is open as long as the server
    // is.
    let listener = descriptors.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) }).find(|fd| {
        let address = getsockname(fd).ok().and_then(|address| SocketAddr::try_from(address).ok());
        address == Some(service.server.address().inet().unwrap()) && sockopt::socket_acceptconn(fd) == Ok(true)
    });
    // its connections inherit it
    sockopt::set_socket_send_buffer_size(listener.expect("a listener"), 2048).unwrap();
    service
}

/// A client that has room for little, and does not wait for room at the server's side.
fn small_client(service: &Service) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::TCP)).unwrap();
    sockopt::set_socket_recv_buffer_size(&socket, 1024).unwrap();
    connect(&socket, &service.server.address().inet().unwrap()).unwrap();
    let client = TcpStream::from(socket);
    client.set_nonblocking(true).unwrap();
    client
}

/// Sends what the server takes.
fn send_some(client: &mut TcpStream, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match client.write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn a_client_that_does_not_read_its_answer_is_let_go() {
    struct Large;
    impl Handlers for Large {
        fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
            let head = Head { status: 200, content_type: None, headers: Vec::new() };
            Some(Answer::Response(Response { head, body: vec![b'x'; 1 << 20].into() }))
        }
        fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}
        fn flush(&self) {}
    }
    let service = small_service(Limits { write_timeout: 0.5, ..Limits::default() });
    let route = settings::route("GET", "/", 1, Runs::Inline);
    service.serves(vec![route], Arc::new(Large));
    for last in [GET, "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nBAD\r\n"] {
        let mut client = small_client(&service);
        send_some(&mut client, last);
        service.until_held(&client);
        service.until_open(0);
    }
}

#[test]
fn a_client_that_is_refused_and_does_not_read_is_let_go() {
    let service = small_service(Limits { write_timeout: 1.0, ..Limits::default() });
    // Unread responses fill all buffers between the client and the server, up to some byte. Whether there is room for
    // the refusal behind them is chance: so 200 clients try it, each with one more response than the last.
    let mut clients: Vec<_> = (0..200).map(|i| (i, small_client(&service))).collect();
    for (i, client) in &mut clients {
        send_some(client, &format!("{}BAD\r\n{}", GET.repeat(*i), "x".repeat(1000)));
    }
    // others are served as ever
    let mut other = service.connect();
    send(&mut other, GET);
    assert!(answer(&mut other).starts_with("HTTP/1.1 404"));
    service.until_open(1);
}

#[test]
fn a_client_that_reads_late_gets_the_refusal_behind_all_its_answers() {
    let service = small_service(Limits::default());
    let mut client = small_client(&service);
    send_some(&mut client, &format!("{}BAD\r\n", GET.repeat(2000)));
    service.until_held(&client);
    client.set_nonblocking(false).unwrap();
    client.set_read_timeout(Some(patience(30))).unwrap();
    let all = rest(&mut client);
    assert_eq!((all.matches("HTTP/1.1 404").count(), all.matches("HTTP/1.1 400").count()), (2000, 1));
}

#[test]
fn a_request_that_waits_for_its_client_to_read_is_not_late() {
    let service = small_service(Limits { header_timeout: 0.3, ..Limits::default() });
    let mut client = small_client(&service);
    // more answers than the kernel holds, and fewer than are written at a time: so the half of a request behind them
    // has been looked at
    let (half, rest) = GET.split_at(8);
    send_some(&mut client, &format!("{}{half}", GET.repeat(60)));
    service.until_held(&client);
    // the server's clock: of a request that does come late it says so by then
    std::thread::sleep(Duration::from_millis(800));
    // before the client reads, after which its time does count
    send_some(&mut client, rest);
    client.set_nonblocking(false).unwrap();
    client.set_read_timeout(Some(patience(30))).unwrap();
    for _ in 0..61 {
        assert!(answer(&mut client).starts_with("HTTP/1.1 404"));
    }
}

#[test]
fn streams_that_nobody_reads_are_held_in_all_no_more_than_there_is_room_for() {
    /// What comes is endless, or one piece of a length.
    #[derive(Default)]
    struct Streams(Mutex<Vec<Arc<dyn Sink>>>);
    impl Handlers for Streams {
        fn run(&self, len: u32, _: &dyn RequestView, sink: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
            let sink = sink();
            assert!(sink.begin(Head { status: 200, content_type: None, headers: Vec::new() }));
            if len != ENDLESS {
                assert_eq!(sink.send(vec![b'x'; len as usize].into(), false), Sent::Done);
                self.0.lock().unwrap().push(sink);
                return None;
            }
            std::thread::spawn(move || {
                let piece = Bytes::from(vec![b'x'; 4 << 10]);
                while sink.send(piece.clone(), true) == Sent::Done {}
            });
            None
        }
        fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}
        fn flush(&self) {}
    }
    const ENDLESS: u32 = 0;
    const LONG: u32 = 60 << 10;
    /// how many would hold far more, and what all of them may hold
    const CLIENTS: usize = 450;
    const MOST: usize = (64 << 20) + CLIENTS * 2 * FIRST;
    engine::make_room(3 * CLIENTS);
    let service = small_service(Limits::default());
    let route = |path, handler| settings::route("GET", path, handler, Runs::Inline);
    service.serves(vec![route("/", ENDLESS), route("/long", LONG)], Arc::<Streams>::default());
    // what is written to the client next counts as well as what it does not wait for yet
    let mut client = small_client(&service);
    send_some(&mut client, &GET.replacen('/', "/long", 1));
    service.until_held(&client);
    until("it counts", || streams().bytes() > LONG as usize / 2);
    drop(client);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| small_client(&service)).collect();
    clients.iter_mut().for_each(|client| send_some(client, GET));
    until("they hold what there is", || streams().bytes() > MOST / 2);
    let mut held = 0;
    until("no stream goes on", || {
        let before = std::mem::replace(&mut held, streams().bytes());
        std::thread::sleep(Duration::from_millis(50));
        held == before
    });
    assert!(held < MOST, "{held} bytes");
    // a client that reads goes on, however little its stream may have ahead
    let mut reader = clients.pop().unwrap();
    reader.set_nonblocking(false).unwrap();
    reader.set_read_timeout(Some(patience(30))).unwrap();
    reader.read_exact(&mut vec![0; 1 << 20]).unwrap();
    drop((clients, reader));
    until("nothing is held for who has gone", || streams().bytes() == 0);
}

//! Clients that do not read what they get, in HTTP/1.1: they are let go, however their connection is to end.

mod service;
mod settings;

use admission::Limits;
use engine::Runs;
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use patience::patience;
use rustix::net::{connect, getsockname, ipproto, socket, sockopt, AddressFamily, SocketType};
use service::{answer, rest, send, Service, GET};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    // Answers that it does not read fill all that is between it and the server, up to some byte. Whether there is room
    // for the refusal behind them is chance: so many try it, each with a few more answers.
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

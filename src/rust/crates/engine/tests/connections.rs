//! How connections begin and end, seen by clients: what is closed at once, what is read on before, and what happens
//! when there are no descriptors or places left.

mod service;
mod settings;

use admission::Limits;
use engine::Runs;
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use patience::{patience, until};
use rustix::net::sockopt;
use service::{answer, rest, send, Service, GET};
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LAST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn a_connection_ends_with_the_answer_to_the_last_request_that_its_client_announced() {
    let service = Service::new(1, Limits::default());
    for request in [LAST, "GET / HTTP/1.0\r\n\r\n"] {
        let mut client = service.connect();
        send(&mut client, request);
        assert!(rest(&mut client).starts_with("HTTP/1."));
        // the client has not closed its side: the server does not wait for that
        service.until_open(0);
    }
}

#[test]
fn what_a_client_still_sends_after_its_last_request_is_read_so_that_it_gets_the_answer() {
    let service = Service::new(1, Limits::default());
    let mut client = service.connect();
    send(&mut client, &format!("{LAST}{}", GET.repeat(100)));
    assert_eq!(rest(&mut client).matches("HTTP/1.1 404").count(), 1);
    // and this does not meet a closed socket, whose reset would take the answer away
    assert_eq!(service.server.connections(), 1);
    send(&mut client, GET);
    drop(client);
    service.until_open(0);
}

#[test]
fn a_refused_request_is_answered_though_more_of_it_comes() {
    let service = Service::new(1, Limits::default());
    let mut client = service.connect();
    send(&mut client, &format!("{GET}BAD\r\n{}", "x".repeat(50_000)));
    let all = rest(&mut client);
    assert!(all.starts_with("HTTP/1.1 404") && all.contains("HTTP/1.1 400"), "{all}");
}

#[test]
fn clients_that_take_turns_get_their_own_answers() {
    let service = Service::new(2, Limits::default());
    let mut clients: Vec<_> = (0..50).map(|_| service.connect()).collect();
    for round in 0..3 {
        // each leaves a request half sent, one after the other, and none may be given the half of another
        for (i, client) in clients.iter_mut().enumerate() {
            let path = format!("/{round}-{i}");
            send(client, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n"));
        }
        for client in &mut clients {
            send(client, "\r\n");
        }
        for client in &mut clients {
            assert!(answer(client).starts_with("HTTP/1.1 404"));
        }
        // an empty line between two requests belongs to neither
        for client in clients.iter_mut().skip(round).step_by(3) {
            send(client, "\r\n");
        }
        for client in &mut clients {
            send(client, GET);
            assert!(answer(client).starts_with("HTTP/1.1 404"));
        }
    }
}

#[test]
fn bytes_that_begin_as_http2_does_but_are_not() {
    let service = Service::new(1, Limits::default());
    let mut client = service.connect();
    for piece in ["P", "R", "O", "PFIND / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        service.until_read(&client);
        send(&mut client, piece);
    }
    assert!(answer(&mut client).starts_with("HTTP/1.1 404"));
    // no request line of HTTP/2's preface is one of HTTP/1.1, unless it says that it is
    for (text, status) in [
        ("PRI / HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
        ("PRI * HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", "505"),
        ("\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    ] {
        let mut client = service.connect();
        send(&mut client, text);
        assert!(answer(&mut client).starts_with(&format!("HTTP/1.1 {status} ")), "{text:?}");
    }
    // one that ends there is gone without a word
    let mut client = service.connect();
    send(&mut client, "PR");
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client), "");
}

#[test]
fn a_client_that_has_said_all_it_will_say_gets_its_answer() {
    let service = Service::new(1, Limits::default());
    let mut client = service.connect();
    send(&mut client, GET);
    client.shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut client).starts_with("HTTP/1.1 404"));
    service.until_open(0);
}

const LARGE: usize = 32 << 20;

/// `/large` has an answer of [`LARGE`] bytes: there is more of it than fits into any buffer on its way.
fn serves_large(service: &Service) {
    struct Large;
    impl Handlers for Large {
        fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
            let head = Head { status: 200, content_type: None, headers: Vec::new() };
            Some(Answer::Response(Response { head, body: vec![b'x'; LARGE].into() }))
        }
        fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}
        fn flush(&self) {}
    }
    let route = settings::route("GET", "/large", 1, Runs::Inline);
    service.serves(vec![route], Arc::new(Large));
}

fn body_size(text: &str) -> Option<usize> {
    text.split_once("\r\n\r\n").map(|(_, body)| body.len())
}

#[test]
fn so_does_one_whose_answer_is_still_being_written_when_its_end_is_seen() {
    let service = Service::new(1, Limits::default());
    serves_large(&service);
    let mut client = service.connect();
    send(&mut client, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut first = [0];
    client.read_exact(&mut first).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(body_size(&rest(&mut client)), Some(LARGE));
    service.until_open(0);
}

#[test]
fn a_client_that_takes_its_time_for_a_large_answer_is_not_idle() {
    let service = Service::new(1, Limits { keep_alive: 0.3, ..Limits::default() });
    serves_large(&service);
    let mut client = service.connect();
    send(&mut client, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_exact(&mut [0]).unwrap();
    std::thread::sleep(Duration::from_millis(1800));
    assert_eq!(body_size(&rest(&mut client)), Some(LARGE));
    service.until_open(0);
}

#[test]
fn connections_do_not_wait_for_acknowledgements() {
    let service = Service::new(1, Limits::default());
    let mut client = service.connect();
    send(&mut client, GET);
    answer(&mut client);
    let mine = client.local_addr().unwrap();
    let accepted = descriptors().into_iter().find(|&fd| peer(fd) == Some(mine)).expect("the server's end");
    // SAFETY: it is open as long as the connection is, which nothing ends here.
    let accepted = unsafe { BorrowedFd::borrow_raw(accepted) };
    assert!(sockopt::tcp_nodelay(accepted).unwrap());
}

fn descriptors() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn peer(fd: i32) -> Option<SocketAddr> {
    // SAFETY: the worst is that it is not open any more, which the call reports.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    SocketAddr::try_from(rustix::net::getpeername(fd).ok()??).ok()
}

#[test]
fn places_are_given_to_those_who_wait_as_others_leave() {
    for threads in [1, 2] {
        let limits = Limits { max_connections: 2, ..Limits::default() };
        let service = Service::new(threads, limits);
        let mut first: Vec<_> = (0..2).map(|_| service.connect()).collect();
        for client in &mut first {
            send(client, GET);
            answer(client);
        }
        let mut waiting = service.connect();
        send(&mut waiting, GET);
        // what would come if there were a place for it comes at once
        waiting.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let nothing = waiting.read(&mut [0]).unwrap_err();
        assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
        drop(first.pop());
        waiting.set_read_timeout(Some(patience(30))).unwrap();
        assert!(answer(&mut waiting).starts_with("HTTP/1.1 404"));
        // and again, many times, with everybody in a hurry
        drop((first, waiting));
        let address = service.server.address().inet().unwrap();
        let crowd: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(move || {
                    for _ in 0..50 {
                        let mut client = TcpStream::connect(address).unwrap();
                        client.set_read_timeout(Some(patience(30))).unwrap();
                        send(&mut client, LAST);
                        assert!(rest(&mut client).starts_with("HTTP/1.1 404"));
                    }
                })
            })
            .collect();
        for one in crowd {
            one.join().unwrap();
        }
        service.until_open(0);
    }
}

#[test]
fn a_server_that_is_told_to_end_answers_those_who_had_connected() {
    for threads in [1, 2] {
        let service = Service::new(threads, Limits::default());
        let mut clients: Vec<_> = (0..20).map(|_| service.connect()).collect();
        service.server.drain();
        for client in &mut clients {
            // whether it was taken before or at the last call
            send(client, GET);
            assert!(answer(client).starts_with("HTTP/1.1 404"));
        }
        drop(clients);
        until("it is drained", || service.server.is_drained());
        assert!(TcpStream::connect(service.server.address().inet().unwrap()).is_err(), "the door is open");
    }
}

#[test]
fn connections_are_served_whenever_their_first_bytes_come() {
    let service = Service::new(1, Limits::default());
    for late in [Duration::ZERO, Duration::from_millis(10), Duration::from_millis(300)] {
        // more than are looked after at a time; some go without a word, some begin and go
        let mut clients: Vec<_> = (0..100).map(|_| service.connect()).collect();
        std::thread::sleep(late);
        drop(clients.split_off(80));
        for client in &mut clients[60..] {
            send(client, "GET / HT");
        }
        drop(clients.split_off(70));
        for (i, client) in clients.iter_mut().enumerate().take(60) {
            send(client, if i % 2 == 0 { LAST } else { GET });
        }
        for client in &mut clients[60..] {
            send(client, "TP/1.1\r\nHost: a\r\n\r\n");
        }
        for client in &mut clients {
            assert!(answer(client).starts_with("HTTP/1.1 404"));
        }
        for client in clients.iter_mut().skip(61) {
            send(client, GET);
            assert!(answer(client).starts_with("HTTP/1.1 404"));
        }
        drop(clients);
        service.until_open(0);
    }
}

#[test]
fn silent_connections_end_in_time() {
    let limits = Limits { keep_alive: 0.4, header_timeout: 0.4, ..Limits::default() };
    let service = Service::new(1, limits);
    let mut silent = service.connect();
    let mut slow = service.connect();
    send(&mut slow, "G");
    assert_eq!(rest(&mut silent), "");
    assert!(rest(&mut slow).starts_with("HTTP/1.1 408"));
    service.until_open(0);
}

#[test]
fn a_silent_connection_ends_whenever_it_came() {
    // an idle server checks timeouts less often, and then not at all: that begins a second after its start
    let late = |after: u64| {
        std::thread::spawn(move || {
            let service = Service::new(1, Limits { keep_alive: 0.4, header_timeout: 0.4, ..Limits::default() });
            std::thread::sleep(Duration::from_millis(after));
            let mut silent = service.connect();
            assert_eq!(rest(&mut silent), "");
            service.until_open(0);
        })
    };
    let all: Vec<_> = (0..60).map(|i| late(800 + 10 * i)).collect();
    all.into_iter().for_each(|one| one.join().unwrap());
}

#[test]
fn an_inline_handler_that_blocks_its_thread_keeps_nobody_from_another_one() {
    /// Tells that it has begun, and goes on when it may.
    struct Blocks(Mutex<(Sender<()>, Receiver<()>)>);
    impl Handlers for Blocks {
        fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
            let gate = self.0.lock().unwrap();
            gate.0.send(()).unwrap();
            // a test that fails lets it go, too
            let _ = gate.1.recv();
            None
        }
        fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}
        fn flush(&self) {}
    }
    let service = Service::new(2, Limits::default());
    let ((tell, begun), (go, gone)) = (channel(), channel());
    let route = settings::route("GET", "/", 1, Runs::Inline);
    service.serves(vec![route], Arc::new(Blocks(Mutex::new((tell, gone)))));
    // one after the other, so that one thread has stepped back when the other is blocked
    for _ in 0..50 {
        let mut client = service.connect();
        send(&mut client, "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        rest(&mut client);
    }
    let mut blocked = service.connect();
    send(&mut blocked, GET);
    begun.recv_timeout(patience(30)).unwrap();
    for _ in 0..20 {
        let mut client = service.connect();
        send(&mut client, "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer(&mut client).starts_with("HTTP/1.1 404"));
    }
    go.send(()).unwrap();
    assert!(answer(&mut blocked).starts_with("HTTP/1.1 500"));
}

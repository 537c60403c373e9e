//! HTTP/1.1 over sockets: bodies that are wanted and not, answers that are long or do not end, clients that go.
//! The corpus of `tests/conformance` has single requests and what is refused; here is what needs time or a handler.

mod service;
mod settings;

use admission::Limits;
use engine::Runs;
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use patience::until;
use service::{answer, rest, send, Service, GET};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// `/echo` answers with its body; `/later` never, but keeps its sink; `/pieces` with two pieces and no end; `/reset`
/// with content that its status cannot have; `/fields` with as many fields as its body says.
#[derive(Default)]
struct Fake {
    kept: Mutex<Vec<Arc<dyn Sink>>>,
}

fn head() -> Head {
    Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain")), headers: Vec::new() }
}

impl Handlers for Fake {
    fn run(&self, handler: u32, request: &dyn RequestView, later: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        if matches!(handler, 1 | 4 | 5) {
            let wire::BodyRef::Inline(body) = request.body() else { panic!("a body in a file") };
            let mut head = head();
            match handler {
                4 => head.status = 205,
                5 => {
                    let n: usize = std::str::from_utf8(body).unwrap().parse().unwrap();
                    head.headers = (0..n).map(|i| (format!("x-{i}").into_bytes(), b"1".to_vec())).collect();
                }
                _ => {}
            }
            return Some(Answer::Response(Response { head, body: body.to_vec().into() }));
        }
        let sink = later();
        if handler == 3 {
            sink.begin(head());
            for piece in [&b"first"[..], b"second"] {
                sink.send(piece.to_vec().into(), false);
            }
        }
        self.kept.lock().unwrap().push(sink);
        None
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

fn serve() -> (Service, Arc<Fake>) {
    let service = Service::new(1, Limits { spool_above: 1 << 20, ..Limits::default() });
    let route = |path: &str, handler| settings::route("GET POST", path, handler, Runs::Inline);
    let fake = Arc::new(Fake::default());
    let routes = [("/echo", 1), ("/later", 2), ("/pieces", 3), ("/reset", 4), ("/fields", 5)];
    service.serves(routes.into_iter().map(|(path, handler)| route(path, handler)).collect(), fake.clone());
    (service, fake)
}

fn post(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

fn until_called(fake: &Fake) {
    until("the handler is called", || !fake.kept.lock().unwrap().is_empty());
}

#[test]
fn bodies_are_received_however_they_come() {
    let (service, _) = serve();
    let mut client = service.connect();
    send(&mut client, &format!("{}hello", post("/echo", 5)));
    assert!(answer(&mut client).ends_with("\r\n\r\nhello"));
    send(&mut client, &post("/echo", 5));
    for piece in ["h", "ell", "o"] {
        service.until_read(&client);
        send(&mut client, piece);
    }
    assert!(answer(&mut client).ends_with("\r\n\r\nhello"));
    // more than is read at a time, with the next request on its heels
    let large = "x".repeat(300_000);
    send(&mut client, &format!("{}{large}{GET}", post("/echo", large.len())));
    assert!(answer(&mut client).ends_with(&format!("\r\n\r\n{large}")));
    assert!(answer(&mut client).starts_with("HTTP/1.1 404"));
    let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for piece in [chunked, "3\r", "\nab", "c\r\n2;x\r\nde\r\n0\r\n", "T: 1\r\n", "\r\n"] {
        service.until_read(&client);
        send(&mut client, piece);
    }
    assert!(answer(&mut client).ends_with("\r\n\r\nabcde"));
}

#[test]
fn c_handlers_cannot_say_what_a_response_cannot_be() {
    let (service, _) = serve();
    let mut client = service.connect();
    let last = "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (reset, fields) = (post("/reset", 5), post("/fields", 5));
    send(&mut client, &format!("{reset}hello{fields}16384{fields}20000{last}"));
    let text = rest(&mut client);
    let answers: Vec<_> = text.split("HTTP/1.1 ").skip(1).collect();
    let statuses: Vec<_> = answers.iter().map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["205", "200", "500", "404"]);
    assert!(answers[0].contains("content-length: 0\r\n") && answers[0].ends_with("\r\n\r\n"), "{}", answers[0]);
    assert!(answers[1].contains("\r\nx-16383: 1\r\n") && answers[1].ends_with("\r\n\r\n16384"));
}

#[test]
fn a_client_is_told_to_send_its_body_when_it_is_wanted() {
    let (service, _) = serve();
    let mut client = service.connect();
    let ask = |path| format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    // behind a response that the client has not read yet
    send(&mut client, &format!("{GET}{}", ask("/echo")));
    assert!(answer(&mut client).starts_with("HTTP/1.1 404"));
    let mut told = [0; 25];
    client.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    send(&mut client, "ok");
    assert!(answer(&mut client).ends_with("\r\n\r\nok"));
    // one that is not wanted is not asked for, and the connection cannot go on
    send(&mut client, &ask("/nowhere"));
    let text = rest(&mut client);
    assert!(text.starts_with("HTTP/1.1 404") && text.contains("connection: close\r\n"), "{text}");
}

#[test]
fn a_body_that_nobody_wants_is_skipped_when_it_is_small() {
    let (service, _) = serve();
    let mut client = service.connect();
    send(&mut client, &post("/nowhere", 10));
    assert!(answer(&mut client).starts_with("HTTP/1.1 404"));
    for piece in ["01234", "56789", &post("/echo", 2), "ok"] {
        service.until_read(&client);
        send(&mut client, piece);
    }
    assert!(answer(&mut client).ends_with("\r\n\r\nok"));
    // a larger one ends the connection, and its client is told so
    send(&mut client, &post("/nowhere", 100_000));
    let text = rest(&mut client);
    assert!(text.starts_with("HTTP/1.1 404") && text.contains("connection: close\r\n"), "{text}");
}

#[test]
fn requests_that_come_together_are_answered_in_turn() {
    let (service, _) = serve();
    let mut client = service.connect();
    let many: String = (0..1000).map(|i| format!("{}{i:04}", post("/echo", 4))).collect();
    let mut reader = client.try_clone().unwrap();
    let writer = std::thread::spawn(move || client.write_all(many.as_bytes()).unwrap());
    for i in 0..1000 {
        assert!(answer(&mut reader).ends_with(&format!("\r\n\r\n{i:04}")));
    }
    writer.join().unwrap();
}

#[test]
fn bodies_without_a_length_come_in_chunks_or_end_the_connection() {
    let (service, fake) = serve();
    let end = || fake.kept.lock().unwrap().drain(..).for_each(|sink| sink.end(true));
    let mut client = service.connect();
    send(&mut client, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut text = String::new();
    while !text.ends_with("6\r\nsecond\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        text.push(byte[0] as char);
    }
    assert!(text.contains("transfer-encoding: chunked\r\n") && text.contains("\r\n\r\n5\r\nfirst\r\n"), "{text}");
    end();
    let mut last = [0; 5];
    client.read_exact(&mut last).unwrap();
    assert_eq!(&last, b"0\r\n\r\n");
    // and the connection goes on
    send(&mut client, GET);
    assert!(answer(&mut client).starts_with("HTTP/1.1 404"));

    let mut old = service.connect();
    send(&mut old, "GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    until_called(&fake);
    end();
    let text = rest(&mut old);
    assert!(text.starts_with("HTTP/1.0 200 OK\r\n") && text.ends_with("\r\n\r\nfirstsecond"), "{text}");
    assert!(!text.contains("keep-alive") && !text.contains("chunked"), "{text}");
}

#[test]
fn a_body_that_breaks_off_is_not_taken_for_a_whole_one() {
    let (service, fake) = serve();
    let mut client = service.connect();
    send(&mut client, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    until_called(&fake);
    fake.kept.lock().unwrap().drain(..).for_each(|sink| sink.end(false));
    let text = rest(&mut client);
    assert!(text.ends_with("6\r\nsecond\r\n"), "{text}");
}

#[test]
fn handlers_hear_of_clients_that_go() {
    for path in ["/later", "/pieces"] {
        let (service, fake) = serve();
        // on a connection that is new, and on one that has had an answer
        for first in ["", GET] {
            let mut client = service.connect();
            if !first.is_empty() {
                send(&mut client, first);
                answer(&mut client);
            }
            send(&mut client, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
            until_called(&fake);
            let sink = fake.kept.lock().unwrap().pop().unwrap();
            assert!(!sink.is_cancelled());
            client.shutdown(Shutdown::Both).unwrap();
            drop(client);
            until(&format!("{path}: the handler hears of it"), || sink.is_cancelled());
            service.until_open(0);
        }
    }
}

//! Every request has one line in the access log, however it ends.

mod service;
mod settings;

use admission::Limits;
use engine::{AccessLogFormat, Runs, Settings};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use patience::{until, until_some};
use service::{answer, rest, send, Service};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Handler 1 answers with 12 bytes, 2 with a megabyte, and 3 does not answer.
#[derive(Default)]
struct Three {
    held: Mutex<Vec<Arc<dyn Sink>>>,
}

impl Handlers for Three {
    fn run(&self, handler: u32, _: &dyn RequestView, later: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        let body = match handler {
            1 => vec![b'x'; 12],
            2 => vec![b'x'; 32 << 20],
            _ => {
                self.held.lock().unwrap().push(later());
                return None;
            }
        };
        let head = Head { status: 200, content_type: None, headers: Vec::new() };
        Some(Answer::Response(Response { head, body: body.into() }))
    }

    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}

    fn flush(&self) {}
}

fn logged(format: AccessLogFormat) -> (Service, Arc<Three>) {
    let service = Service::with(|folder| {
        let access_log = folder.join("access.log").to_str().unwrap().to_owned();
        Settings { access_log, access_log_format: format, ..settings::local(folder, 1, Limits::default()) }
    });
    let routes = [("/12", 1), ("/long", 2), ("/never", 3)];
    let routes = routes.map(|(pattern, handler)| settings::route("GET", pattern, handler, Runs::Inline));
    let three = Arc::<Three>::default();
    service.serves(routes.to_vec(), three.clone());
    (service, three)
}

/// The lines of the service's access log, once it has `n`.
fn lines_of(service: &Service, n: usize) -> Vec<String> {
    lines(&service.folder.path().join("access.log"), n)
}

fn lines(file: &Path, n: usize) -> Vec<String> {
    until_some(&format!("{n} lines"), || {
        let text = std::fs::read_to_string(file).ok()?;
        let are_there = text.lines().count() >= n && text.ends_with('\n');
        are_there.then(|| text.lines().map(str::to_owned).collect())
    })
}

fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\nUser-Agent: test\r\n\r\n")
}

#[test]
fn each_request_of_a_connection_has_its_line() {
    let (logged, _) = logged(AccessLogFormat::Combined);
    let mut client = logged.connect();
    for target in ["/12?a=1", "/nowhere"] {
        send(&mut client, &request(target));
        answer(&mut client);
    }
    // two that come together
    send(&mut client, &(request("/12") + "HEAD /12 HTTP/1.1\r\nHost: a\r\nReferer: r\"\r\nConnection: close\r\n\r\n"));
    rest(&mut client);
    let lines = lines_of(&logged, 4);
    assert_eq!(lines.len(), 4, "{lines:?}");
    let bytes_of_404 = lines[1].split(' ').nth(9).unwrap().parse::<u64>().unwrap();
    assert!(bytes_of_404 > 0);
    for (line, end) in lines.iter().zip([
        r#""GET /12?a=1 HTTP/1.1" 200 12 "-" "test""#.to_owned(),
        format!(r#""GET /nowhere HTTP/1.1" 404 {bytes_of_404} "-" "test""#),
        r#""GET /12 HTTP/1.1" 200 12 "-" "test""#.to_owned(),
        r#""HEAD /12 HTTP/1.1" 200 0 "r\x22" "-""#.to_owned(),
    ]) {
        assert!(line.starts_with("127.0.0.1 - - [") && line.ends_with(&end), "{line} is not {end}");
    }
}

#[test]
fn a_client_that_leaves_and_bytes_that_are_refused_have_theirs() {
    let (logged, three) = logged(AccessLogFormat::Json);
    let mut leaves = logged.connect();
    send(&mut leaves, &request("/never"));
    until("its handler has it", || !three.held.lock().unwrap().is_empty());
    drop(leaves);
    assert!(lines_of(&logged, 1)[0]
        .contains(r#""target":"/never","protocol":"HTTP/1.1","status":499,"bytes":0,"whole":false"#));
    let mut refused = logged.connect();
    refused.write_all(b"GET / HTTP/1.1\r\nbroken\r\n\r\n").unwrap();
    rest(&mut refused);
    let line = &lines_of(&logged, 2)[1];
    assert!(line.contains(r#""status":400,"bytes":0"#) && line.contains(r#""reason":""#), "{line}");
    assert!(!line.contains("target"), "{line}");
    // a response that is not taken ends when its client is given up
    let mut part = logged.connect();
    send(&mut part, &request("/long"));
    part.read_exact(&mut [0]).unwrap();
    drop(part);
    let line = &lines_of(&logged, 3)[2];
    assert!(line.contains(r#""status":200,"#) && line.contains(r#""whole":false"#), "{line}");
    assert_eq!(lines_of(&logged, 3).len(), 3);
}

#[test]
fn what_ends_with_the_server_is_written_and_a_moved_file_is_opened_again() {
    let (logged, _) = logged(AccessLogFormat::Combined);
    let mut client = logged.connect();
    send(&mut client, &request("/12"));
    answer(&mut client);
    lines_of(&logged, 1);
    let file = logged.folder.path().join("access.log");
    let moved = logged.folder.path().join("moved");
    std::fs::rename(&file, &moved).unwrap();
    logged.server.logs().iter().for_each(engine::Log::reopen);
    send(&mut client, &request("/12?b"));
    answer(&mut client);
    let Service { server, folder: _folder } = logged;
    drop(server);
    assert_eq!(lines(&moved, 1).len(), 1);
    let last = lines(&file, 1);
    assert!(last.len() == 1 && last[0].contains("/12?b"), "{last:?}");
}

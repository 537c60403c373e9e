//! Static files as clients get them: a server without routes and without a worker, and one connection kept alive.

mod settings;

use admission::Limits;
use engine::{AppConfig, MountConfig, Server};
use patience::patience;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// What came back: the status, the headers by lower-case name, the body.
struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

struct Client {
    // dropped in this order: the server after the connection, the folder last
    connection: BufReader<TcpStream>,
    _server: Server,
    _folder: tempfile::TempDir,
}

impl Client {
    fn new() -> Client {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        std::fs::write(folder.path().join("d/index.html"), "<p>d").unwrap();
        std::fs::write(folder.path().join("small.txt"), "0123456789").unwrap();
        std::fs::write(folder.path().join("large.bin"), large()).unwrap();
        let settings = settings::local(folder.path(), 1, Limits::default());
        let mount =
            MountConfig { mount: "/f".into(), dir: folder.path().to_str().unwrap().into(), links: false, types: None };
        let app = AppConfig { mounts: vec![mount], ..AppConfig::default() };
        let server = Server::bind(settings).unwrap_or_else(|error| panic!("{error:?}"));
        server.pool().add_generation(1, &app, None).unwrap();
        server.pool().switch_to(1);
        server.listen().unwrap();
        let connection = TcpStream::connect(server.address().inet().unwrap()).unwrap();
        connection.set_read_timeout(Some(patience(30))).unwrap();
        Client { connection: BufReader::new(connection), _server: server, _folder: folder }
    }

    fn ask(&mut self, method: &str, path: &str, headers: &str) -> Answer {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.connection.get_mut().write_all(request.as_bytes()).unwrap();
        let status = self.line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HashMap::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let has_body = method != "HEAD" && status != 304 && status != 204;
        let length = if has_body { headers["content-length"].parse().unwrap() } else { 0 };
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).unwrap();
        Answer { status, headers, body }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.connection.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// Of no even number of pieces, and different everywhere.
fn large() -> Vec<u8> {
    (0..1_000_003u32).flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn files_small_and_large_arrive_whole() {
    let mut client = Client::new();
    for _ in 0..2 {
        assert_eq!(client.ask("GET", "/f/small.txt", "").body, b"0123456789");
        assert!(client.ask("GET", "/f/large.bin", "").body == large());
        let part = client.ask("GET", "/f/large.bin", "Range: bytes=1-3000000\r\n");
        assert_eq!((part.status, part.headers["content-range"].as_str()), (206, "bytes 1-3000000/4000012"));
        assert!(part.body == large()[1..=3_000_000]);
    }
}

#[test]
fn answers_without_a_body_leave_the_connection_usable() {
    let mut client = Client::new();
    let head = client.ask("HEAD", "/f/large.bin", "");
    assert_eq!((head.status, head.headers["content-length"].as_str()), (200, "4000012"));
    let condition = format!("If-None-Match: {}\r\n", head.headers["etag"]);
    assert_eq!(client.ask("GET", "/f/large.bin", &condition).status, 304);
    let redirect = client.ask("GET", "/f/d", "");
    assert_eq!((redirect.status, redirect.headers["location"].as_str()), (301, "./d/"));
    assert_eq!(client.ask("GET", "/f/d/", "").body, b"<p>d");
    assert_eq!(client.ask("OPTIONS", "/f/d/", "").headers["allow"], "GET, HEAD, OPTIONS");
    assert_eq!(client.ask("GET", "/f/small.txt", "").status, 200);
}

#[test]
fn refusals_read_like_all_errors() {
    let mut client = Client::new();
    for (method, path, headers, status, text) in [
        ("GET", "/f/missing", "", 404, "404 Not Found\n"),
        ("GET", "/f/../secret", "", 404, "404 Not Found\n"),
        ("POST", "/f/small.txt", "Content-Length: 0\r\n", 405, "405 Method Not Allowed\n"),
        ("GET", "/f/small.txt", "If-Match: \"x\"\r\n", 412, "412 Precondition Failed\n"),
        ("GET", "/f/small.txt", "Range: bytes=10-\r\n", 416, "416 Range Not Satisfiable\n"),
    ] {
        let answer = client.ask(method, path, headers);
        assert_eq!((answer.status, String::from_utf8(answer.body).unwrap().as_str()), (status, text));
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
    let range = client.ask("GET", "/f/small.txt", "Range: bytes=10-\r\nAccept: application/json\r\n");
    assert_eq!(range.headers["content-range"], "bytes */10");
    assert_eq!(range.headers["content-type"], "application/problem+json");
}

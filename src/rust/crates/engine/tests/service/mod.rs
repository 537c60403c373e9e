//! A server on this machine, and clients that speak HTTP/1.1 byte by byte.
// each of the programs that share it uses some of it
#![allow(dead_code)]

use crate::settings;
use admission::Limits;
use engine::{AppConfig, RouteConfig, Server, Settings};
use exchange::Handlers;
use patience::{patience, until, within};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

pub struct Service {
    pub server: Server,
    pub folder: tempfile::TempDir,
}

impl Service {
    /// Answers everything with 404.
    pub fn new(threads: usize, limits: Limits) -> Service {
        Service::with(|folder| settings::local(folder, threads, limits))
    }

    /// The same, with other settings; their files are in `folder`.
    pub fn with(settings: impl FnOnce(&Path) -> Settings) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(settings(folder.path())).unwrap_or_else(|e| panic!("{e:?}"));
        server.pool().add_generation(1, &AppConfig::default(), None).unwrap();
        server.pool().switch_to(1);
        server.listen().unwrap();
        Service { server, folder }
    }

    /// From now on these routes, whose handlers are C handlers of this process.
    pub fn serves(&self, routes: Vec<RouteConfig>, handlers: Arc<dyn Handlers>) {
        self.runs(AppConfig { routes, ..AppConfig::default() }, handlers);
    }

    /// From now on this app.
    pub fn runs(&self, app: AppConfig, handlers: Arc<dyn Handlers>) {
        self.server.pool().add_generation(2, &app, Some(handlers)).unwrap();
        self.server.pool().switch_to(2);
    }

    pub fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.server.address().inet().unwrap()).unwrap();
        client.set_read_timeout(Some(patience(30))).unwrap();
        client
    }

    pub fn until_open(&self, n: usize) {
        let is_so = within(|| self.server.connections() == n);
        assert!(is_so, "{} connections are open, not {n}", self.server.connections());
    }

    /// Until the server has read all that this client has sent: what comes next comes by itself.
    pub fn until_read(&self, client: &TcpStream) {
        until("the server reads", || self.queues(client) == Some((0, 0)));
    }

    /// Until the kernel holds answers that this client has no room for.
    pub fn until_held(&self, client: &TcpStream) {
        until("answers wait for their client", || self.queues(client).is_some_and(|(to_client, _)| to_client > 0));
    }

    /// Bytes in the kernel between the server and this client: those that were not taken yet of what the server has
    /// written, and of what the client has.
    fn queues(&self, client: &TcpStream) -> Option<(usize, usize)> {
        let ports = [self.server.address().inet()?.port(), client.local_addr().ok()?.port()];
        let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
        // for each end: what it has written and the other has not acknowledged, and what came and was not read
        let of = |[from, to]: [u16; 2]| {
            table.lines().find_map(|line| {
                let mut fields = line.split_whitespace().skip(1);
                let is_it = fields.next()?.ends_with(&format!(":{from:04X}"))
                    && fields.next()?.ends_with(&format!(":{to:04X}"));
                let (sent, came) = fields.nth(1)?.split_once(':')?;
                let number = |text| usize::from_str_radix(text, 16).ok();
                is_it.then_some((number(sent)?, number(came)?))
            })
        };
        let ((server_sent, server_came), (client_sent, _)) = (of(ports)?, of([ports[1], ports[0]])?);
        Some((server_sent, server_came + client_sent))
    }
}

pub fn send(client: &mut TcpStream, request: &str) {
    client.write_all(request.as_bytes()).unwrap();
}

/// The answer to what was sent, as far as its length says.
pub fn answer(client: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut byte = [0];
    let whole = |text: &str| {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        (body.len() == length.parse::<usize>().ok()?).then_some(())
    };
    while whole(&text).is_none() {
        assert_eq!(client.read(&mut byte).unwrap(), 1, "the answer ends early: {text}");
        text.push(byte[0] as char);
    }
    text
}

/// The whole answer, in lines: of the head, then the body.
pub fn ask(service: &Service, line: &str, fields: &str) -> Vec<String> {
    let mut client = service.connect();
    let request = format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
    client.write_all(request.as_bytes()).unwrap();
    rest(&mut client).lines().map(String::from).collect()
}

pub fn rest(client: &mut TcpStream) -> String {
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    text
}

pub const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

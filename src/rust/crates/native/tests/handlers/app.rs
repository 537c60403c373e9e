//! An app with handlers of the library, and calls of them.

use crate::client::Client;
use crate::gate::Gate;
use crate::library;
use exchange::{Answer, Handlers};
use native::{Interface, Natives, Spec, UserData};
use patience::{until_some, within};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use wire::{BodyRef, Request, RequestHead};

/// A request, to be filled in.
pub struct Ask<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub params: &'a [&'a str],
    pub headers: &'a [(&'a str, &'a str)],
    pub body: BodyRef<'a>,
    pub flags: u32,
    pub tls: &'a [u8],
    pub auth: &'a [u8],
    pub base_path: &'a [u8],
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Ask {
            method: "GET",
            target: "/x",
            params: &[],
            headers: &[("host", "here")],
            body: BodyRef::Inline(b""),
            flags: 0,
            tls: b"",
            auth: b"",
            base_path: b"",
        }
    }
}

impl Ask<'_> {
    /// A GET with this query.
    pub fn query(target: &str) -> Ask<'_> {
        Ask { target, ..Ask::default() }
    }

    pub fn message(&self) -> Vec<u8> {
        let head = RequestHead {
            id: 0xabc,
            flags: self.flags,
            remote_port: 4711,
            method: self.method.as_bytes(),
            target: self.target.as_bytes(),
            path: self.target.split('?').next().unwrap().as_bytes(),
            base_path: self.base_path,
            remote_addr: b"127.0.0.1",
            tls: self.tls,
            auth: self.auth,
            body: self.body,
            ..RequestHead::default()
        };
        let mut message = Vec::new();
        let headers = || self.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        head.encode(self.params, headers, &mut message);
        message
    }
}

/// How a handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Inline,
    Pool,
}

pub struct App {
    pub natives: Natives,
    log: Arc<Mutex<Vec<(u8, String)>>>,
}

/// A spec of a handler of this name; those whose names begin with `old` have drogonR's signatures.
pub fn spec(name: &str) -> Spec {
    let interface = match name {
        _ if name.starts_with("old_stream") => Interface::Stream,
        _ if name.starts_with("old") => Interface::Unary,
        _ => Interface::Drover,
    };
    let content_type = if interface == Interface::Stream { "text/event-stream" } else { "" };
    Spec {
        route: "GET /".into(),
        function: library::function(name),
        interface,
        data: UserData::None,
        content_type: content_type.to_owned(),
        params: vec!["first".to_owned(), "id".to_owned()],
    }
}

impl App {
    /// With one handler, and a pool of four threads.
    pub fn new(name: &str) -> Self {
        Self::with(vec![spec(name)], 4)
    }

    pub fn with(specs: Vec<Spec>, threads: usize) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = log.clone();
        // SAFETY: functions of the library, which stays loaded, by their interfaces; data are static or outlive the
        // app.
        let natives = unsafe {
            Natives::new(
                specs,
                threads,
                Arc::new(move |level, line| lines.lock().unwrap().push((level, line.to_owned()))),
            )
        };
        App { natives: natives.unwrap(), log }
    }

    /// Calls the handler `number` for a client.
    pub fn call_for(&self, how: How, number: u32, ask: &Ask<'_>, client: &Client) {
        let message = ask.message();
        match how {
            How::Pool => {
                self.natives.submit(number, message, Instant::now(), client.sink());
                self.natives.flush();
            }
            How::Inline => {
                let request = Request::decode(&message).unwrap();
                if let Some(answer) = self.natives.run(number, &request, &mut || client.sink()) {
                    client.take(answer);
                }
            }
        }
    }

    /// Has the pool run the first handler for all of these, which are told to it together.
    pub fn call_all(&self, asks: &[Ask<'_>]) -> Vec<Client> {
        let submit = |ask: &Ask<'_>| {
            let client = Client::new();
            self.natives.submit(1, ask.message(), Instant::now(), client.sink());
            client
        };
        let clients = asks.iter().map(submit).collect();
        self.natives.flush();
        clients
    }

    /// Calls the first handler.
    pub fn call(&self, how: How, ask: &Ask<'_>) -> Client {
        let client = Client::new();
        self.call_for(how, 1, ask, &client);
        client
    }

    pub fn log(&self) -> Vec<(u8, String)> {
        self.log.lock().unwrap().clone()
    }

    /// Waits for a line of the log.
    #[track_caller]
    pub fn wait_log(&self, part: &str) {
        let is_there = within(|| self.log().iter().any(|(_, line)| line.contains(part)));
        assert!(is_there, "no line with {part:?} in {:?}", self.log());
    }
}

/// Calls a handler in both ways, and looks at what came of it.
pub fn both(name: &str, ask: &Ask<'_>, look: impl Fn(How, &Client, &App)) {
    for how in [How::Inline, How::Pool] {
        let app = App::new(name);
        look(how, &app.call(how, ask), &app);
    }
}

/// The same for a handler that answers in a thread of its own, which stands at a gate until the handler has returned: a
/// thread of the pool is free then, and says so.
pub fn both_later(name: &str, query: &str, look: impl Fn(&Client)) {
    for how in [How::Inline, How::Pool] {
        let gate = Gate::new();
        let app = App::new(name);
        let client = app.call(how, &Ask::query(&format!("{query}&{}", gate.field())));
        if how == How::Pool {
            client.wait("return", |seen| seen.yielded);
        }
        gate.open();
        look(&client);
        client.wait("end", |seen| seen.dropped);
        assert_eq!(client.see().yielded, how == How::Pool);
    }
}

/// Status, content type and body of a response.
#[track_caller]
pub fn response(client: &Client) -> (u16, String, String) {
    match client.answer() {
        Answer::Response(response) => {
            let content_type = response.head.content_type.unwrap_or_default();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (response.head.status, text(&content_type), text(&response.body))
        }
        failure => panic!("{failure:?}"),
    }
}

/// Status, text for the client and text for the log of a failure.
#[track_caller]
pub fn failure(client: &Client) -> (u16, String, String) {
    match client.answer() {
        Answer::Failure { status, detail, why } => (status, detail.into_owned(), why.into_owned()),
        response => panic!("{response:?}"),
    }
}

/// A header of a response.
#[track_caller]
pub fn headers(client: &Client) -> Vec<(String, String)> {
    let head = match client.answer() {
        Answer::Response(response) => response.head,
        failure => panic!("{failure:?}"),
    };
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    head.headers.iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// The codes that the last handler that notes any has got, once `enough` are there; then they are forgotten. Tests that
/// use it run one at a time.
#[track_caller]
pub fn codes(enough: usize) -> Vec<i32> {
    let app = App::new("h_codes");
    let codes = until_some(&format!("{enough} codes"), || {
        let codes = codes_so_far(&app);
        (codes.len() >= enough).then_some(codes)
    });
    library::forget_codes();
    codes
}

/// Those that have been noted by now. `app` has `h_codes`.
pub fn codes_so_far(app: &App) -> Vec<i32> {
    let (_, _, json) = response(&app.call(How::Inline, &Ask::default()));
    let list = json.trim_start_matches("{\"codes\":[").trim_end_matches("]}");
    list.split(',').filter_map(|code| code.parse().ok()).collect()
}

pub const OK: i32 = 0;
pub const GONE: i32 = 1;
pub const FULL: i32 = 2;
pub const DONE: i32 = 3;
pub const INVALID: i32 = 4;

//! Handlers of WebSockets: what they are told, and what they, and threads of theirs, say.

use crate::app::Ask;
use crate::library;
use exchange::{Answer, Handlers, WebSocketCommands};
use native::{Interface, Natives, Spec, UserData};
use patience::until;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use wire::command::Command;
use wire::websocket::{Event, What};
use wire::Request;

/// A server that writes down what is to be done.
#[derive(Default)]
struct Server(Mutex<Vec<String>>);

impl WebSocketCommands for Server {
    fn say(&self, command: &Command<'_>) -> bool {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = match *command {
            Command::Send { binary: true, message, .. } => format!("bytes {}", message.len()),
            Command::Send { message, .. } => text(message),
            Command::Close { code, reason, .. } => format!("close {code} {}", text(reason)),
            Command::Join { room, name, .. } => format!("join {} as {}", text(room), text(name)),
            Command::Leave { room, .. } => format!("leave {}", text(room)),
            Command::Broadcast { room, message, except, .. } => {
                format!("to {} but {except}: {}", text(room), text(message))
            }
            Command::Members { .. } | Command::Rooms | Command::Purge { .. } => panic!("nobody answers"),
            Command::Seed { .. } | Command::Enqueue { .. } | Command::Job { .. } => panic!("no C handler says so"),
        };
        self.0.lock().unwrap().push(said);
        true
    }
}

struct Bench {
    natives: Natives,
    server: Arc<Server>,
}

impl Bench {
    /// The handlers `s_talk` and `ws_talk`, 1 and 2. There is one server in a process: one test at a time.
    fn new() -> Self {
        let spec = |name: &str, interface| Spec {
            function: library::function(name),
            route: format!("WebSocket /{name}"),
            interface,
            data: UserData::None,
            content_type: String::new(),
            params: vec!["name".into()],
        };
        let specs = vec![spec("s_talk", Interface::Socket), spec("ws_talk", Interface::Ws), {
            spec("h_text", Interface::Drover)
        }];
        // SAFETY: the functions are of these types, and the library stays loaded.
        let natives = unsafe { Natives::new(specs, 1, Arc::new(|_, _: &str| {})) }.unwrap();
        let server = Arc::<Server>::default();
        let commands: Arc<dyn WebSocketCommands> = server.clone();
        natives.speak_to(Arc::downgrade(&commands));
        Bench { natives, server }
    }

    fn connect(&self, handler: u32, connection: u64, ask: &Ask<'_>) -> Option<Answer> {
        let message = ask.message();
        let request = Request::decode(&message).unwrap();
        self.tell(handler, connection, What::Connect(b"v1"), Some(&request))
    }

    fn says(&self, handler: u32, connection: u64, text: &str) -> Option<Answer> {
        self.tell(handler, connection, What::Text(text.as_bytes()), None)
    }

    fn close(&self, handler: u32, connection: u64) -> Option<Answer> {
        self.tell(handler, connection, What::Close { code: 1000, reason: b"bye" }, None)
    }

    fn tell(&self, handler: u32, connection: u64, what: What<'_>, request: Option<&Request<'_>>) -> Option<Answer> {
        self.natives.event(handler, &Event { connection, state: &[], what }, request.map(|request| request as _))
    }

    /// What was said since this was asked last.
    fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.server.0.lock().unwrap())
    }
}

fn status(answer: Option<Answer>) -> (u16, String) {
    match answer.expect("an answer") {
        Answer::Response(response) => (response.head.status, String::new()),
        Answer::Failure { status, why, .. } => (status, why.into_owned()),
    }
}

#[test]
fn what_handlers_are_told_and_say() {
    let _one = library::one_at_a_time();
    let bench = Bench::new();
    let ann = Ask { params: &["Ann"], ..Ask::default() };
    assert_eq!(bench.connect(1, 7, &ann), None);
    assert_eq!(bench.connect(2, 8, &ann), None);
    assert_eq!(bench.said(), ["hello Ann with v1", "hello"]);
    for (handler, connection) in [(1, 7), (2, 8)] {
        assert_eq!(bench.says(handler, connection, "back"), None);
        assert_eq!(bench.tell(handler, connection, What::Binary(&[0, 255]), None), None);
        assert_eq!(bench.said(), ["back", "bytes 2"]);
        assert_eq!(status(bench.says(handler, connection, "throw")).1, "C handler: it threw a bad word");
    }
    assert_eq!(status(bench.says(1, 7, "return")).1, "C handler: it returned 7");
    for text in ["count", "id", "join lobby", "leave lobby", "tell all", "others hi", "close 4000", "close 1005"] {
        bench.says(1, 7, text);
    }
    let said = ["5", "7", "join lobby as Ann", "leave lobby", "to room but 0: all", "to room but 7: hi"];
    assert_eq!(bench.said()[..6], said);
    bench.says(1, 7, "invalid");
    assert_eq!(bench.said(), ["4 4 4 4 4 4 4 1 "]);
    // while its handler is told of the close, and after it, nothing is said on it
    assert_eq!((bench.close(1, 7), bench.close(2, 8)), (None, None));
    assert_eq!(bench.said(), [] as [&str; 0]);
    assert_eq!(status(bench.says(1, 7, "x")).1, "C handler: its connection is not this process's");
}

#[test]
fn a_client_is_refused_by_an_answer_or_a_failure() {
    let _one = library::one_at_a_time();
    let bench = Bench::new();
    let refusals = [
        ("fail", 403, ""),
        ("respond", 401, ""),
        ("return", 500, "C handler: it returned 7"),
        ("throw", 500, "C handler: it threw no more seats"),
    ];
    for (todo, code, why) in refusals {
        let ask = Ask { headers: &[("x-do", todo)], params: &["x"], ..Ask::default() };
        assert_eq!(status(bench.connect(1, 20, &ask)), (code, why.to_owned()));
        assert!(bench.close(1, 20).is_some(), "it was never there");
    }
    // it cannot be put off
    let later = Ask { headers: &[("x-do", "later")], params: &["x"], ..Ask::default() };
    assert_eq!(bench.connect(1, 21, &later), None);
    assert_eq!(bench.close(1, 21), None);
    assert_eq!(status(bench.connect(3, 22, &later)).1, "C handler: it handles requests, and no WebSockets");
    let message = later.message();
    let request = Request::decode(&message).unwrap();
    let asked = bench.natives.run(1, &request, &mut || panic!("it answers at once"));
    assert_eq!(status(asked).1, "C handler: it handles WebSockets, and no requests");
}

#[test]
fn threads_send_until_the_close_and_after_it_in_vain() {
    let _one = library::one_at_a_time();
    let bench = Bench::new();
    let ask = Ask { params: &["x"], ..Ask::default() };
    for (handler, connection) in [(1, 30), (2, 31)] {
        assert_eq!(bench.connect(handler, connection, &ask), None);
        assert_eq!(bench.says(handler, connection, "thread"), None);
    }
    until("the threads send", || {
        bench.server.0.lock().unwrap().iter().filter(|line| line.starts_with("tick")).count() >= 6
    });
    bench.close(1, 30);
    bench.close(2, 31);
    // what they were about to say is over soon
    until("they are silent", || {
        bench.said();
        std::thread::sleep(Duration::from_millis(50));
        bench.said().is_empty()
    });
    // nor is a server that has gone spoken to
    assert_eq!(bench.connect(2, 32, &ask), None);
    let gone: Weak<dyn WebSocketCommands> = Arc::downgrade(&(Arc::<Server>::default() as Arc<dyn WebSocketCommands>));
    bench.said();
    bench.natives.speak_to(gone);
    bench.says(2, 32, "back");
    bench.close(2, 32);
    assert_eq!(bench.said(), [] as [&str; 0]);
}

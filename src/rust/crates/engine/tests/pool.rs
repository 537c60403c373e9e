//! The pool as clients see it: workers that are threads of the test, which hold their replies until they are told, so
//! that what goes where is known and nothing has to be timed.

mod settings;

use admission::Limits;
use engine::{AppConfig, Pool, PoolEvent, RouteConfig, Seat, Server};
use patience::{patience, until, until_some, within};
use shm::{Assembler, RequestId, Sending, WorkerEnd};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::time::Duration;
use wire::{ContentType, ReplyBody, ReplyHead, Request};

/// A worker that takes what it is given, tells the test, and replies as the path says:
/// `/quick` at once, `/wait...` when the test lets it, `/later...` too, but it goes on in the meantime.
struct Fake {
    taken: Receiver<String>,
    go: Sender<()>,
    stats: Arc<engine::WorkerStats>,
}

impl Fake {
    fn attach(pool: &Pool, worker: u32, generation: u32) -> Fake {
        let (end, mine) = shm::pair(None).unwrap();
        let stats = Arc::<engine::WorkerStats>::default();
        pool.attach(Seat { worker, generation, pool: 0, end, c_end: None, runner: None, stats: stats.clone() });
        let (tell, taken) = channel();
        let (go, gone) = channel();
        std::thread::spawn(move || Self::run(mine, worker, &tell, &gone));
        Fake { taken, go, stats }
    }

    fn run(mut end: WorkerEnd, worker: u32, tell: &Sender<String>, go: &Receiver<()>) {
        let mut assembler = Assembler::default();
        let mut later = Vec::new();
        loop {
            let got = end.requests.receive(&mut assembler, |word, bytes| {
                let request = Request::decode(bytes).unwrap();
                (RequestId::from_word(word), String::from_utf8(request.head.path.to_vec()).unwrap())
            });
            let Some((id, path)) = got else {
                match go.try_recv() {
                    Ok(()) => later.drain(..).for_each(|id| Self::reply(&mut end, id, worker)),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => return,
                }
                // nothing wakes this thread: it polls
                std::thread::sleep(Duration::from_micros(200));
                continue;
            };
            if !end.slots.start(id) {
                continue;
            }
            if tell.send(path.clone()).is_err() {
                return;
            }
            if path.starts_with("/later") {
                end.replies.send(id.to_word(), &[], &mut Sending::default());
                end.server_bell.ring();
                later.push(id);
                continue;
            }
            if path.starts_with("/wait") && go.recv().is_err() {
                return;
            }
            Self::reply(&mut end, id, worker);
        }
    }

    fn reply(end: &mut WorkerEnd, id: RequestId, worker: u32) {
        let mut message = Vec::new();
        let body = worker.to_string();
        let head = ReplyHead { status: 200, content_type: ContentType::Text };
        head.encode(ReplyBody::Bytes(body.as_bytes()), std::iter::empty, &mut message);
        end.replies.send(id.to_word(), &message, &mut Sending::default());
        end.server_bell.ring();
    }

    fn takes(&self) -> String {
        self.taken.recv_timeout(patience(30)).expect("the worker was given a request")
    }
}

struct Service {
    server: Server,
    events: tokio::sync::mpsc::UnboundedReceiver<PoolEvent>,
    _folder: tempfile::TempDir,
}

/// What is late is so soon, and nothing else.
fn app() -> AppConfig {
    let route = |pattern, timeout| RouteConfig { timeout, ..settings::route("ANY", pattern, 1, engine::Runs::R) };
    let routes = vec![route("/wait/late", Some(0.4)), route("/later/late", Some(0.05)), route("/*path", None)];
    AppConfig { routes, ..AppConfig::default() }
}

impl Service {
    fn new(threads: usize, limits: Limits) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings::local(folder.path(), threads, limits);
        let server = Server::bind(settings).unwrap_or_else(|e| panic!("{e:?}"));
        let events = server.pool().events().unwrap();
        server.pool().add_generation(1, &app(), None).unwrap();
        server.pool().switch_to(1);
        server.listen().unwrap();
        Service { server, events, _folder: folder }
    }

    fn pool(&self) -> &Pool {
        self.server.pool()
    }

    fn ask(&self, path: &str) -> Client {
        Client::new(self.server.address().inet().unwrap(), path)
    }

    fn until_waiting(&self, n: usize) {
        let is_so = within(|| self.pool().waiting() == n);
        assert!(is_so, "{} requests wait, and not {n}", self.pool().waiting());
    }

    fn event(&mut self) -> PoolEvent {
        until_some("an event", || self.events.try_recv().ok())
    }
}

struct Client(TcpStream);

impl Client {
    fn new(address: SocketAddr, path: &str) -> Client {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(patience(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        Client(stream)
    }

    /// Whether its answer has begun to come.
    fn is_answered(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let is_there = self.0.peek(&mut [0]).is_ok();
        self.0.set_nonblocking(false).unwrap();
        is_there
    }

    /// Status and body.
    fn answer(mut self) -> (u16, String) {
        let mut text = String::new();
        self.0.read_to_string(&mut text).unwrap();
        let status = text[9..12].parse().unwrap();
        (status, text.split_once("\r\n\r\n").unwrap().1.to_owned())
    }
}

#[test]
fn a_request_goes_to_a_worker_that_is_free() {
    for threads in [1, 3] {
        let service = Service::new(threads, Limits::default());
        let slow = Fake::attach(service.pool(), 1, 1);
        let first = service.ask("/wait");
        assert_eq!(slow.takes(), "/wait");
        let free = Fake::attach(service.pool(), 2, 1);
        for _ in 0..20 {
            assert_eq!(service.ask("/quick").answer(), (200, "2".into()));
        }
        slow.go.send(()).unwrap();
        assert_eq!(first.answer(), (200, "1".into()));
        assert_eq!(free.stats.requests.load(Ordering::Relaxed), 20);
    }
}

#[test]
fn what_waits_is_taken_in_order_by_whoever_is_free_first() {
    let service = Service::new(1, Limits::default());
    let workers = [Fake::attach(service.pool(), 1, 1), Fake::attach(service.pool(), 2, 1)];
    let running = [service.ask("/wait/a"), service.ask("/wait/b")];
    let mut at: Vec<String> = workers.iter().map(Fake::takes).collect();
    at.sort();
    assert_eq!(at, ["/wait/a", "/wait/b"]);
    let mut waiting = Vec::new();
    for i in 0..5 {
        waiting.push(service.ask(&format!("/quick/{i}")));
        service.until_waiting(i + 1);
    }
    workers[1].go.send(()).unwrap();
    for i in 0..5 {
        assert_eq!(workers[1].takes(), format!("/quick/{i}"));
    }
    for client in waiting {
        assert_eq!(client.answer(), (200, "2".into()));
    }
    workers[0].go.send(()).unwrap();
    for client in running {
        assert_eq!(client.answer().0, 200);
    }
}

#[test]
fn what_was_handed_ahead_is_taken_back_from_a_worker_that_turns_out_slow() {
    let service = Service::new(1, Limits::default());
    let workers = [Fake::attach(service.pool(), 1, 1)];
    // the route is known as quick: requests are handed ahead
    for _ in 0..50 {
        assert_eq!(service.ask("/quick").answer().0, 200);
        workers[0].takes();
    }
    let slow = service.ask("/wait");
    assert_eq!(workers[0].takes(), "/wait");
    let behind: Vec<Client> = (0..20).map(|_| service.ask("/quick")).collect();
    let _free = Fake::attach(service.pool(), 2, 1);
    for client in behind {
        assert_eq!(client.answer(), (200, "2".into()));
    }
    workers[0].go.send(()).unwrap();
    assert_eq!(slow.answer(), (200, "1".into()));
}

#[test]
fn a_dead_worker_costs_what_it_ran_and_nothing_else() {
    let service = Service::new(1, Limits::default());
    let doomed = Fake::attach(service.pool(), 1, 1);
    for _ in 0..50 {
        assert_eq!(service.ask("/quick").answer().0, 200);
        doomed.takes();
    }
    let lost = service.ask("/wait");
    assert_eq!(doomed.takes(), "/wait");
    let others: Vec<Client> = (0..20).map(|_| service.ask("/quick")).collect();
    service.pool().gone(1);
    let (status, _) = lost.answer();
    assert_eq!(status, 502);
    let _next = Fake::attach(service.pool(), 2, 1);
    for client in others {
        assert_eq!(client.answer(), (200, "2".into()));
    }
    assert_eq!(doomed.stats.errors.load(Ordering::Relaxed), 1);
}

#[test]
fn the_queue_is_bounded() {
    let limits = Limits { max_queue: 3, ..Limits::default() };
    for threads in [1, 2] {
        let service = Service::new(threads, limits.clone());
        let worker = Fake::attach(service.pool(), 1, 1);
        let running = service.ask("/wait");
        worker.takes();
        let waiting: Vec<Client> = (0..3).map(|_| service.ask("/quick")).collect();
        service.until_waiting(3);
        for _ in 0..5 {
            assert_eq!(service.ask("/quick").answer().0, 503);
        }
        // a client that goes makes room
        let mut waiting = waiting;
        drop(waiting.pop());
        service.until_waiting(2);
        waiting.push(service.ask("/quick"));
        worker.go.send(()).unwrap();
        for client in waiting.into_iter().chain([running]) {
            assert_eq!(client.answer().0, 200);
        }
    }
}

#[test]
fn waiting_ends_in_time() {
    let service = Service::new(1, Limits { queue_timeout: 0.1, ..Limits::default() });
    let worker = Fake::attach(service.pool(), 1, 1);
    // one that the worker is not quick enough for waits too long itself: then there is another
    let late = until_some("the worker begins", || {
        let (late, mut has_begun) = (service.ask("/wait/late"), false);
        within(|| {
            has_begun = worker.taken.try_recv().is_ok();
            has_begun || late.is_answered()
        });
        has_begun.then_some(late)
    });
    assert_eq!(service.ask("/quick").answer().0, 503);
    assert_eq!(late.answer().0, 504);
    // its late reply is discarded
    worker.go.send(()).unwrap();
    until("it is free", || service.ask("/quick").answer() == (200, "1".into()));
}

#[test]
fn a_handler_that_answers_later_does_not_hold_its_worker() {
    let service = Service::new(1, Limits::default());
    let worker = Fake::attach(service.pool(), 1, 1);
    let later: Vec<Client> = (0..3).map(|i| service.ask(&format!("/later/{i}"))).collect();
    for _ in 0..3 {
        worker.takes();
    }
    assert_eq!(service.ask("/quick").answer().0, 200);
    worker.go.send(()).unwrap();
    for client in later {
        assert_eq!(client.answer(), (200, "1".into()));
    }
}

#[test]
fn answers_that_never_come_do_not_use_a_worker_up() {
    let mut service = Service::new(1, Limits::default());
    let worker = Fake::attach(service.pool(), 1, 1);
    // late before the worker has it, it is not what this is about
    until("it is late in the worker", || {
        let status = service.ask("/later/late").answer().0;
        worker.taken.try_recv().is_ok() && status == 504
    });
    // with nothing left to answer it can go
    service.pool().retire(1);
    assert_eq!(service.event(), PoolEvent::Retired(1));
}

#[test]
fn generations_take_over_without_losing_a_request() {
    for threads in [1, 2] {
        let mut service = Service::new(threads, Limits::default());
        let old = Fake::attach(service.pool(), 1, 1);
        let running = service.ask("/wait/running");
        assert_eq!(old.takes(), "/wait/running");
        // it may have come before its worker
        service.until_waiting(0);
        let waiting = service.ask("/quick/waiting");
        service.until_waiting(1);
        service.pool().add_generation(2, &app(), None).unwrap();
        let _new = Fake::attach(service.pool(), 2, 2);
        service.pool().switch_to(2);
        assert_eq!(service.ask("/quick").answer(), (200, "2".into()));
        old.go.send(()).unwrap();
        assert_eq!(running.answer(), (200, "1".into()));
        assert_eq!(waiting.answer(), (200, "1".into()));
        assert_eq!(
            [service.event(), service.event()],
            [PoolEvent::Retired(1), PoolEvent::Drained { generation: 1, pool: 0 }]
        );
    }
}

#[test]
fn a_worker_of_a_generation_that_has_ended_is_let_go_at_once() {
    let mut service = Service::new(1, Limits::default());
    let _worker = Fake::attach(service.pool(), 7, 99);
    assert_eq!(service.event(), PoolEvent::Retired(7));
}

#[test]
fn a_retired_worker_finishes_and_is_given_nothing_more() {
    let mut service = Service::new(1, Limits::default());
    let old = Fake::attach(service.pool(), 1, 1);
    let running = service.ask("/wait");
    old.takes();
    service.pool().retire(1);
    let _new = Fake::attach(service.pool(), 2, 1);
    assert_eq!(service.ask("/quick").answer(), (200, "2".into()));
    old.go.send(()).unwrap();
    assert_eq!(running.answer(), (200, "1".into()));
    assert_eq!(service.event(), PoolEvent::Retired(1));
}

#[test]
fn pressure_and_wear_are_told() {
    let mut service = Service::new(1, Limits::default());
    service.pool().set_growable(0, true);
    let (end, mine) = shm::pair(None).unwrap();
    let stats = Arc::<engine::WorkerStats>::default();
    stats.max_requests.store(1, Ordering::Relaxed);
    let client = service.ask("/quick");
    assert!(matches!(service.event(), PoolEvent::Pressure { pool: 0, waiting: 1, waited_ms: 5.., .. }));
    service.pool().set_growable(0, false);
    service.pool().attach(Seat { worker: 9, generation: 1, pool: 0, end, c_end: None, runner: None, stats });
    let (tell, taken) = channel();
    let (_go, gone) = channel();
    std::thread::spawn(move || Fake::run(mine, 9, &tell, &gone));
    assert_eq!(client.answer().0, 200);
    assert_eq!(taken.recv_timeout(patience(30)).unwrap(), "/quick");
    let worn = loop {
        match service.event() {
            PoolEvent::Pressure { .. } => {}
            other => break other,
        }
    };
    assert_eq!(worn, PoolEvent::Worn(9));
}

#[test]
fn a_bad_app_is_refused_by_name() {
    let service = Service::new(1, Limits::default());
    let route = settings::route("GET", "nowhere", 1, engine::Runs::R);
    let config = AppConfig { routes: vec![route], ..AppConfig::default() };
    assert!(service.pool().add_generation(2, &config, None).unwrap_err().contains("nowhere"));
}

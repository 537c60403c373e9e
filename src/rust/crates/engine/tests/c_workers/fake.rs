//! Workers that are threads of the test, the server that they are of, and its clients.

use crate::settings;
use admission::Limits;
use engine::{AppConfig, PoolEvent, RouteConfig, Runner, Runs, Seat, Server, Settings};
use patience::{patience, until, until_some, within};
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use shm::{pair, Assembler, RequestId, Sending, ServerEnd, WorkerEnd};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wire::stream::{Order, Part};
use wire::{ContentType, ReplyBody, ReplyHead, Request};

/// The lane of a worker for its C handlers, or for R. It tells the test what it is given, and begins with nothing by
/// itself unless it is `eager`: then it answers at once.
pub struct Fake {
    pub worker: u32,
    pub link: Arc<Mutex<WorkerEnd>>,
    pub requests: Receiver<(RequestId, String)>,
    pub orders: Receiver<(RequestId, Order)>,
    pub eager: Arc<AtomicBool>,
    pub stats: Arc<engine::WorkerStats>,
    /// the other lane's end, of which nothing is asked
    _other: Option<WorkerEnd>,
    /// its process, which does nothing
    pub process: Option<Child>,
}

impl Fake {
    pub fn attach(service: &Service, worker: u32, generation: u32) -> Fake {
        Self::new(service, worker, generation, None, false)
    }

    /// A worker that answers every request at once.
    pub fn eager(service: &Service, worker: u32, generation: u32) -> Fake {
        Self::new(service, worker, generation, None, true)
    }

    /// One that can be killed.
    pub fn mortal(service: &Service, worker: u32) -> Fake {
        Self::new(service, worker, 1, Some(Command::new("sleep").arg("1000").spawn().unwrap()), false)
    }

    /// One that runs R.
    pub fn of_r(service: &Service, worker: u32) -> Fake {
        let (end, r) = pair(None).unwrap();
        Self::on(service, (worker, 1), (end, None), (r, None), None, false)
    }

    pub fn new(service: &Service, worker: u32, generation: u32, process: Option<Child>, eager: bool) -> Fake {
        let ((end, r), (c_end, link)) = (pair(None).unwrap(), pair(None).unwrap());
        Self::on(service, (worker, generation), (end, Some(c_end)), (link, Some(r)), process, eager)
    }

    fn on(
        service: &Service,
        (worker, generation): (u32, u32),
        (end, c_end): (ServerEnd, Option<ServerEnd>),
        (link, other): (WorkerEnd, Option<WorkerEnd>),
        process: Option<Child>,
        eager: bool,
    ) -> Fake {
        let stats = Arc::<engine::WorkerStats>::default();
        let runner = process.as_ref().map(|p| {
            let pid = Pid::from_raw(p.id() as i32).unwrap();
            let fd = Arc::new(pidfd_open(pid, PidfdFlags::empty()).unwrap());
            Runner::Process { pid: pid.as_raw_nonzero().get(), fd }
        });
        service.server.pool().attach(Seat { worker, generation, pool: 0, end, c_end, runner, stats: stats.clone() });
        let link = Arc::new(Mutex::new(link));
        let eager = Arc::new(AtomicBool::new(eager));
        let (tell, requests) = channel();
        let (pass_on, orders) = channel();
        let (mine, is_eager) = (link.clone(), eager.clone());
        std::thread::spawn(move || Self::run(worker, &mine, &is_eager, &tell, &pass_on));
        Fake { worker, link, requests, orders, eager, stats, _other: other, process }
    }

    pub fn run(
        worker: u32,
        link: &Arc<Mutex<WorkerEnd>>,
        eager: &AtomicBool,
        tell: &Sender<(RequestId, String)>,
        pass_on: &Sender<(RequestId, Order)>,
    ) {
        let mut assembler = Assembler::default();
        loop {
            let mut end = link.lock().unwrap();
            let got = end.requests.receive(&mut assembler, |word, bytes| {
                let said = Order::decode(bytes)
                    .ok_or_else(|| String::from_utf8(Request::decode(bytes).unwrap().head.path.to_vec()).unwrap());
                (RequestId::from_word(word), said)
            });
            let listens = match got {
                None => {
                    drop(end);
                    if Arc::strong_count(link) == 1 {
                        // the test has ended
                        return;
                    }
                    // nothing wakes this thread: it polls
                    std::thread::sleep(Duration::from_micros(200));
                    true
                }
                Some((id, Ok(order))) => pass_on.send((id, order)).is_ok(),
                Some((id, Err(_))) if eager.load(Ordering::Relaxed) => {
                    if end.slots.start(id) {
                        Self::say(&mut end, id, &reply(&worker.to_string()));
                    }
                    true
                }
                Some((id, Err(path))) => tell.send((id, path)).is_ok(),
            };
            if !listens {
                return;
            }
        }
    }

    pub fn say(end: &mut WorkerEnd, id: RequestId, message: &[u8]) {
        let mut sending = Sending::default();
        until("the server reads", || {
            let is_sent = end.replies.send(id.to_word(), message, &mut sending);
            end.server_bell.ring();
            is_sent
        });
    }

    pub fn send(&self, id: RequestId, message: &[u8]) {
        Self::say(&mut self.link.lock().unwrap(), id, message);
    }

    /// What it is given next.
    pub fn takes(&self) -> (RequestId, String) {
        self.requests.recv_timeout(patience(30)).expect("the worker was given a request")
    }

    /// What it is given next, and begins with.
    pub fn begins(&self) -> (RequestId, String) {
        let (id, path) = self.takes();
        assert!(self.start(id), "it was taken back");
        (id, path)
    }

    pub fn start(&self, id: RequestId) -> bool {
        self.link.lock().unwrap().slots.start(id)
    }

    /// For a moment: what it is to get comes at once.
    pub fn gets_nothing(&self) -> bool {
        std::thread::sleep(Duration::from_millis(30));
        self.requests.try_recv().is_err()
    }

    pub fn is_told(&self) -> (RequestId, Order) {
        self.orders.recv_timeout(patience(30)).expect("the worker was told something")
    }

    pub fn reply(&self, id: RequestId) {
        self.send(id, &reply(&self.worker.to_string()));
    }

    pub fn head(&self, id: RequestId) {
        let mut message = Vec::new();
        let head = ReplyHead { status: 200, content_type: ContentType::Octet };
        head.encode(ReplyBody::Stream, std::iter::empty, &mut message);
        self.send(id, &message);
    }

    pub fn part(&self, id: RequestId, part: Part<'_>) {
        let mut message = Vec::new();
        part.encode(&mut message);
        self.send(id, &message);
    }

    /// Whether its process ends.
    pub fn dies(&mut self) -> bool {
        let process = self.process.as_mut().unwrap();
        within(|| process.try_wait().unwrap().is_some())
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

pub fn reply(body: &str) -> Vec<u8> {
    let mut message = Vec::new();
    let head = ReplyHead { status: 200, content_type: ContentType::Text };
    head.encode(ReplyBody::Bytes(body.as_bytes()), std::iter::empty, &mut message);
    message
}

pub struct Service {
    pub server: Server,
    events: tokio::sync::mpsc::UnboundedReceiver<PoolEvent>,
    _folder: tempfile::TempDir,
}

pub fn app() -> AppConfig {
    let route = |pattern: &str, runs, timeout| RouteConfig { timeout, ..settings::route("ANY", pattern, 1, runs) };
    let routes = vec![
        route("/r/*path", Runs::R, None),
        route("/inline/*path", Runs::Inline, None),
        route("/pool/*path", Runs::Pool, None),
        route("/late/*path", Runs::Pool, Some(0.1)),
    ];
    AppConfig { routes, ..AppConfig::default() }
}

impl Service {
    pub fn new(io_threads: usize, cpp_workers: usize, limits: Limits) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { cpp_workers, ..settings::local(folder.path(), io_threads, limits) };
        let server = Server::bind(settings).unwrap_or_else(|e| panic!("{e:?}"));
        let events = server.pool().events().unwrap();
        server.pool().add_generation(1, &app(), None).unwrap();
        server.pool().switch_to(1);
        server.listen().unwrap();
        Service { server, events, _folder: folder }
    }

    pub fn ask(&self, path: &str) -> Client {
        let mut stream = TcpStream::connect(self.server.address().inet().unwrap()).unwrap();
        stream.set_read_timeout(Some(patience(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        Client(stream)
    }

    pub fn event(&mut self) -> PoolEvent {
        until_some("an event", || self.events.try_recv().ok())
    }

    pub fn until_waiting(&self, n: usize) {
        let is_so = within(|| self.server.pool().waiting() == n);
        assert!(is_so, "{} wait, not {n}", self.server.pool().waiting());
    }

    /// Has a worker begin with a request that may be late before it does: then there is another.
    pub fn begun(&self, fake: &Fake, path: &str) -> (Client, RequestId) {
        until_some("a worker begins in time", || {
            let (client, mut taken) = (self.ask(path), None);
            within(|| {
                taken = fake.requests.try_recv().ok();
                taken.is_some() || client.is_answered()
            });
            let (id, _) = taken?;
            fake.start(id).then_some((client, id))
        })
    }

    /// Has a worker answer quick requests until their route is known as quick.
    pub fn warm_up(&self, fake: &Fake, path: &str) {
        fake.eager.store(true, Ordering::Relaxed);
        for _ in 0..50 {
            assert_eq!(self.ask(path).answer(), (200, fake.worker.to_string()));
        }
        fake.eager.store(false, Ordering::Relaxed);
    }
}

pub struct Client(pub TcpStream);

impl Client {
    /// Whether its answer has begun to come.
    pub fn is_answered(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let is_there = self.0.peek(&mut [0]).is_ok();
        self.0.set_nonblocking(false).unwrap();
        is_there
    }

    pub fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // a connection that breaks has sent what it has
        let _ = self.0.read_to_end(&mut bytes);
        bytes
    }

    /// Status and body.
    pub fn answer(mut self) -> (u16, String) {
        let text = String::from_utf8_lossy(&self.rest()).into_owned();
        (text[9..12].parse().unwrap(), text.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Reads `n` bytes.
    pub fn read(&mut self, n: usize) {
        let mut bytes = vec![0; n];
        self.0.read_exact(&mut bytes).unwrap();
    }
}

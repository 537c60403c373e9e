//! A worker that user code has corrupted writes arbitrary bytes anywhere in its link. The server survives, and clients
//! whose requests go to another worker notice nothing.

mod settings;

use admission::Limits;
use engine::{AppConfig, PoolEvent, RouteConfig, Seat, Server};
use patience::{patience, until};
use shm::{Assembler, RequestId, Sending, ServerEnd, WorkerEnd};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use wire::{ContentType, ReplyBody, ReplyHead};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn server() -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings::local(folder.path(), 1, Limits::default());
    let server = Server::bind(settings).unwrap_or_else(|e| panic!("{e:?}"));
    // what is late is so soon, and nothing else
    let route = |pattern, timeout| RouteConfig { timeout, ..settings::route("GET", pattern, 1, engine::Runs::R) };
    let routes = vec![route("/late", Some(0.2)), route("/*path", None)];
    let app = AppConfig { routes, ..AppConfig::default() };
    server.pool().add_generation(1, &app, None).unwrap();
    server.pool().switch_to(1);
    server.listen().unwrap();
    (server, folder)
}

fn ask(server: &Server, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address().inet().unwrap()).unwrap();
    stream.set_read_timeout(Some(patience(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    (text[9..12].parse().unwrap(), text.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn reply(end: &mut WorkerEnd, id: RequestId, body: ReplyBody<'_>) {
    let mut message = Vec::new();
    ReplyHead { status: 200, content_type: ContentType::Text }.encode(body, std::iter::empty, &mut message);
    end.replies.send(id.to_word(), &message, &mut Sending::default());
    end.server_bell.ring();
}

/// Attaches a worker that does with each request what `act` says, until told to stop.
fn worker(
    server: &Server,
    number: u32,
    stop: &Arc<AtomicBool>,
    mut act: impl FnMut(&mut WorkerEnd, &File, RequestId) + Send + 'static,
) -> std::thread::JoinHandle<()> {
    let (end, fds) = ServerEnd::new().unwrap();
    let owned = fds.borrow().map(|fd| fd.try_clone_to_owned().unwrap());
    let memory = File::from(owned[0].try_clone().unwrap());
    server.pool().attach(Seat {
        worker: number,
        generation: 1,
        pool: 0,
        end,
        c_end: None,
        runner: None,
        stats: Arc::default(),
    });
    let stop = stop.clone();
    std::thread::spawn(move || {
        let mut mine = WorkerEnd::attach(owned).unwrap();
        let mut assembler = Assembler::default();
        while !stop.load(Ordering::Relaxed) {
            match mine.requests.receive(&mut assembler, |word, _| RequestId::from_word(word)) {
                Some(id) => {
                    if mine.slots.start(id) {
                        act(&mut mine, &memory, id);
                    }
                }
                // nothing wakes this thread: it polls
                None => std::thread::sleep(Duration::from_micros(100)),
            }
        }
    })
}

#[test]
fn replies_that_are_no_replies_are_500_and_the_next_is_served() {
    let (server, folder) = server();
    std::fs::write(folder.path().join("secret"), "not for clients").unwrap();
    let secret = File::open(folder.path().join("secret")).unwrap();
    let stop = Arc::<AtomicBool>::default();
    let mut random = Random(1);
    let thread = worker(&server, 1, &stop, move |end, _, id| match random.next() % 4 {
        // what the client's request is answered with must come from this one
        0 => {
            let garbage: Vec<u8> = (0..random.next() % 3000).map(|_| random.next() as u8).collect();
            end.replies.send(
                id.to_word(),
                &[&[0, 0, 0, 0, 200, 0, 0, 0][..], &garbage].concat(),
                &mut Sending::default(),
            );
            end.server_bell.ring();
        }
        1 => reply(end, id, ReplyBody::Spooled),
        2 => {
            // of another request, and what is no file
            let other = RequestId { slot: id.slot + 1, ..id };
            end.files.send(other, secret.as_fd()).unwrap();
            end.files.send(id, File::open("/dev/zero").unwrap().as_fd()).unwrap();
            reply(end, id, ReplyBody::Spooled);
        }
        _ => {
            // of requests that it never had, before its own
            for slot in [0, 5, 2047, u32::MAX] {
                reply(end, RequestId { slot, generation: random.next() as u32 }, ReplyBody::Bytes(b"theirs"));
            }
            reply(end, id, ReplyBody::Bytes(b"mine"));
        }
    });
    let mut seen = [0, 0];
    for _ in 0..200 {
        match ask(&server, "/x") {
            (200, body) => {
                assert_eq!(body, "mine");
                seen[0] += 1;
            }
            (500, body) => {
                assert!(!body.contains("not for clients"));
                seen[1] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(seen[0] > 10 && seen[1] > 10, "{seen:?}");
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}

/// A socket that waits, when it is closed, until its peer has read all that was written, which it never does: longer
/// than [`ask`] has patience.
fn lingering() -> (OwnedFd, TcpListener) {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(peer.local_addr().unwrap()).unwrap();
    rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::from_secs(600))).unwrap();
    socket.set_nonblocking(true).unwrap();
    while socket.write(&[0; 65536]).is_ok() {}
    (socket.into(), peer)
}

#[test]
fn a_socket_in_place_of_a_file_keeps_no_thread_of_the_server() {
    let (server, _folder) = server();
    let stop = Arc::<AtomicBool>::default();
    let mut peers = Vec::new();
    let thread = worker(&server, 1, &stop, move |end, _, id| {
        let (socket, peer) = lingering();
        end.files.send(id, socket.as_fd()).unwrap();
        // shared, so that the server closes the last of them
        std::thread::spawn(move || drop(socket)).join().unwrap();
        peers.push(peer);
        reply(end, id, ReplyBody::Spooled);
    });
    for _ in 0..3 {
        assert_eq!(ask(&server, "/x").0, 500);
    }
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}

#[test]
fn a_worker_that_writes_for_ever_does_not_keep_the_thread() {
    let (server, _folder) = server();
    let stop = Arc::<AtomicBool>::default();
    let talking = Arc::<AtomicBool>::default();
    let (ends, talks) = (stop.clone(), talking.clone());
    let thread = worker(&server, 1, &stop, move |end, _, _| {
        talks.store(true, Ordering::Relaxed);
        while !ends.load(Ordering::Relaxed) {
            let stranger = RequestId { slot: 9, generation: 9 };
            if !end.replies.send(stranger.to_word(), &[], &mut Sending::default()) {
                end.server_bell.ring();
            }
        }
    });
    // 504: the worker never answers the request that it began. One that it does not begin in time goes to another
    // worker, or to none.
    until("its request is late", || ask(&server, "/late").0 == 504);
    assert!(talking.load(Ordering::Relaxed));
    let good = worker(&server, 2, &stop, |end, _, id| reply(end, id, ReplyBody::Bytes(b"good")));
    server.pool().retire(1);
    for _ in 0..50 {
        assert_eq!(ask(&server, "/good"), (200, "good".into()));
    }
    stop.store(true, Ordering::Relaxed);
    for thread in [thread, good] {
        thread.join().unwrap();
    }
}

#[test]
fn a_link_full_of_garbage_harms_nobody_else() {
    let (server, _folder) = server();
    let size = 500 << 10;
    for round in 1..=20u32 {
        let stop = Arc::<AtomicBool>::default();
        let mut random = Random(u64::from(round));
        let bad = worker(&server, 2 * round, &stop, move |end, memory, _| {
            for _ in 0..64 {
                // words of control and headers of records, mostly; some that point far away
                let at = match random.next() % 3 {
                    0 => random.next() % 1024 * 8,
                    1 => (512 + 2048 * 8) / 8 * 8 + random.next() % 64 * 8,
                    _ => random.next() % size,
                };
                let word = if random.next().is_multiple_of(2) { random.next() } else { random.next() % 4096 };
                memory.write_at(&word.to_ne_bytes(), at).unwrap();
            }
            end.server_bell.ring_always();
        });
        // it gets a request, and corrupts its link; the client hears of it at its deadline
        let (status, _) = ask(&server, "/late");
        assert!([500, 502, 503, 504].contains(&status), "{status}");
        let good = worker(&server, 2 * round + 1, &stop, |end, _, id| reply(end, id, ReplyBody::Bytes(b"good")));
        server.pool().gone(2 * round);
        for _ in 0..20 {
            assert_eq!(ask(&server, "/good"), (200, "good".into()), "round {round}");
        }
        server.pool().gone(2 * round + 1);
        stop.store(true, Ordering::Relaxed);
        // its own end of a link in that state may be the one that breaks
        let _ = bad.join();
        good.join().unwrap();
    }
    let mut events = server.pool().events().unwrap();
    while let Ok(event) = events.try_recv() {
        assert!(!matches!(event, PoolEvent::Retired(_)), "{event:?}");
    }
}

//! Memory that a crowd of connections needed goes back to the system when the crowd has gone, even if no client comes
//! after it. Alone in its process, which it measures.

mod service;
mod settings;

use admission::Limits;
use engine::Runs;
use exchange::{Answer, Handlers, RequestView, Sink};
use patience::within;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use service::{answer, rest, send, Service, GET};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Takes bodies, and never answers.
struct Silent;

impl Handlers for Silent {
    fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        None
    }
    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn Sink>) {}
    fn flush(&self) {}
}

/// Bytes of this process in memory that are no file's: its code is read when it first runs, which is nothing that a
/// crowd needed. Counted page by page, as the system's quick figure is off by what each processor has yet to report.
fn resident() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

/// The same, once it falls no more: what the crowd before has left behind would be filled, or go, while the next one
/// comes, whose own would not be seen.
fn at_rest() -> usize {
    let (mut least, mut since) = (resident(), Instant::now());
    while since.elapsed() < REST {
        std::thread::sleep(REST / 20);
        let now = resident();
        if now < least {
            (least, since) = (now, Instant::now());
        }
    }
    least
}

/// Memory is given back every few seconds, by the server's clock.
const REST: Duration = Duration::from_secs(4);

/// Has a crowd of `size` send this each, wait for an answer or not, and go, when it needs `expected` bytes at least.
/// Gives by how much memory had grown, and by how much in the end.
fn crowd(service: &Service, size: usize, text: &str, has_answer: bool, expected: usize) -> (usize, usize) {
    let before = at_rest();
    let grown = || resident().saturating_sub(before);
    let mut clients: Vec<_> = (0..size).map(|_| service.connect()).collect();
    for client in &mut clients {
        send(client, text);
        if has_answer {
            answer(client);
        }
    }
    within(|| grown() >= expected);
    let most = grown();
    // a second of the server's clock, and more: then it looks at them seldom
    std::thread::sleep(Duration::from_millis(1500));
    drop(clients);
    service.until_open(0);
    within(|| grown() <= most / 3);
    (most, grown())
}

#[test]
fn memory_of_a_crowd_goes_back_though_nothing_comes_after_it() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let service = Service::new(1, Limits::default());
    let route = settings::route("POST", "/", 1, Runs::Inline);
    service.serves(vec![route], Arc::new(Silent));
    // what is needed once and kept
    let mut some: Vec<_> = (0..400).map(|_| service.connect()).collect();
    for client in &mut some {
        send(client, GET);
        answer(client);
    }
    for mut client in some {
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut client), "");
    }
    service.until_open(0);
    // that lack their last byte
    let body =
        |len: usize| format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len}\r\n\r\n{}", "x".repeat(len - 1));
    let (short, long) = (body(30_000), body(100_000));
    let crowds = [
        ("idle", 4000, GET, true, 4 << 20),
        ("bodies", 1000, &short, false, 30 << 20),
        ("few", 200, &long, false, 18 << 20),
    ];
    for (what, size, text, has_answer, expected) in crowds {
        let (most, left) = crowd(&service, size, text, has_answer, expected);
        assert!(most >= expected, "{what}: only {most} bytes");
        assert!(left <= most / 3, "{what}: {most} bytes, of which {left} are left");
    }
}

//! What ends when, to the millisecond: connections served in this thread, whose clock is told what it is.

use super::*;
use crate::body::{receive, Incoming};
use crate::connection::OpenRequest;
use crate::h1::Http1Connection;
use crate::head::Head;
use crate::listen::{Peer, Role};
use crate::response::{Body, Failure, Response};
use crate::serve::spawn;
use crate::service::Answering;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls::{self_signed, Tls, TlsSettings};
use crate::transport::Transport;
use admission::Limits;
use bytes::Bytes;
use exchange::set_now;
use http::StatusCode;
use patience::until_async;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use tokio::task::yield_now;
use tokio::time::sleep;

/// When all begins, in ms.
const START: u64 = 1_000;
/// More than sockets hold.
const LARGE: usize = 8 << 20;

struct App;

impl Service for App {
    fn answer(&self, head: Head, mut body: Incoming, connection: Arc<Connection>) -> Answering {
        let open = OpenRequest::new(connection);
        let respond = move |status, text: Bytes, open, body: Incoming| {
            let body = Body::bytes(text).keeping(Some(open), body.into_unread());
            Response { status, fields: Default::default(), body, end: None }
        };
        match head.path() {
            "/now" => Answering::Now(Some(respond(StatusCode::OK, "now".into(), open, body))),
            "/large" => Answering::Now(Some(respond(StatusCode::OK, vec![b'l'; LARGE].into(), open, body))),
            "/body" => Answering::Later(Box::pin(async move {
                let received = receive(&mut body, open.connection(), None, u64::MAX).await;
                respond(received.map_or_else(|failure| failure.status, |_| StatusCode::OK), "".into(), open, body)
            })),
            _ => Answering::Later(Box::pin(async move {
                let _open = open;
                pending().await
            })),
        }
    }

    fn refused(&self, _: &Connection, _: u64, _: &Failure) {}

    fn expire(&self) -> bool {
        false
    }
}

/// A server without a listener, in this thread.
struct World {
    server: Arc<Shared>,
    look: Look,
}

impl World {
    fn new(change: impl FnOnce(&mut Limits)) -> World {
        World::with_tls(change, None)
    }

    /// The same for clients that begin with TLS, if there are settings for that.
    fn with_tls(change: impl FnOnce(&mut Limits), tls: Option<TlsSettings>) -> World {
        set_now(START);
        DRAINING.set(false);
        // what a test is not about ends nothing
        let never = 1e6;
        let mut limits = Limits { header_timeout: never, body_timeout: never, ..Limits::default() };
        (limits.write_timeout, limits.keep_alive, limits.min_body_rate) = (never, never, 0);
        change(&mut limits);
        let log = observe::Log::open("none", observe::Screen::default()).unwrap();
        // half of these may be in handshakes
        let tls = tls.map(|settings| Arc::new(Tls::open(settings, 30, &log).unwrap()));
        let mut server = Shared::new(limits, "/nowhere".into(), log, 1, 64);
        server.tls = tls;
        let server = Arc::new(server);
        World { look: Look { server: server.clone(), next: 0, waiting: 0, waited: 0 }, server }
    }

    /// A client that has just come, and has sent this.
    async fn client(&self, bytes: impl AsRef<[u8]>) -> Visitor {
        self.client_at(Peer::Unix, bytes).await
    }

    async fn client_at(&self, peer: Peer, bytes: impl AsRef<[u8]>) -> Visitor {
        let (mine, theirs) = UnixStream::pair().unwrap();
        mine.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let state = Arc::new(Connection::new(peer, Role::App, self.server.clone()));
        let stream = Stream::new(Socket::new(theirs.into(), peer.into()), &state).unwrap();
        let io = Transport::new(stream, state.clone());
        spawn(Http1Connection::new(Box::new(io), state, self.server.enter(Role::App), Arc::new(App)));
        let visitor = Visitor(mine);
        visitor.sends(bytes).await;
        visitor
    }

    /// It is this time now, and the server looks at the clock.
    async fn at(&mut self, ms: u64) {
        set_now(ms);
        let end = self.look.begin(true);
        while self.look.go_on(end) {}
        settle().await;
    }
}

/// Everything that can go on does.
async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

struct Visitor(UnixStream);

impl Visitor {
    async fn sends(&self, bytes: impl AsRef<[u8]>) {
        (&self.0).write_all(bytes.as_ref()).unwrap();
        settle().await;
    }

    /// What is here by now, and whether the server has ended its side.
    fn reads(&self) -> (String, bool) {
        let mut all = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match (&self.0).read(&mut buffer) {
                Ok(0) => return (String::from_utf8_lossy(&all).into(), true),
                Ok(n) => all.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    return (String::from_utf8_lossy(&all).into(), false);
                }
                // a connection that is ended with something unread is reset
                Err(_) => return (String::from_utf8_lossy(&all).into(), true),
            }
        }
    }

    /// Whether the server still has its end of the connection; what it has sent stays unread.
    fn is_served(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec::default())).unwrap();
        !fds[0].revents().contains(PollFlags::HUP)
    }

    fn is_left_alone(&self) -> bool {
        self.reads() == (String::new(), false)
    }

    fn is_told(&self, status: &str) -> bool {
        let (text, ended) = self.reads();
        ended && text.starts_with(&format!("HTTP/1.1 {status} "))
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_header_section_has_header_timeout_from_its_first_byte() {
    let mut world = World::new(|limits| limits.header_timeout = 5.0);
    let client = world.client("GET /now HTTP/1.1\r\n").await;
    world.at(START + 4_000).await;
    // what comes meanwhile gives it no more time
    client.sends("Host: x\r\n").await;
    world.at(START + 5_000).await;
    assert!(client.is_left_alone(), "it has a millisecond left");
    world.at(START + 5_001).await;
    assert!(client.is_told("408"));
}

#[tokio::test(flavor = "current_thread")]
async fn others_have_their_turn_while_many_are_ended() {
    let mut world = World::new(|limits| limits.header_timeout = 5.0);
    let mut clients = Vec::new();
    for _ in 0..2 * WOKEN_AT_ONCE + 3 {
        clients.push(world.client("GET /now HTTP/1.1\r\n").await);
    }
    set_now(START + 5_001);
    let end = world.look.begin(true);
    for (some_are_left, ended) in [(true, WOKEN_AT_ONCE), (true, WOKEN_AT_ONCE), (false, 3)] {
        assert_eq!(world.look.go_on(end), some_are_left);
        settle().await;
        let is_ended = |client: &Visitor| client.is_told("408");
        assert_eq!(clients.extract_if(.., |client| is_ended(client)).count(), ended as usize);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_next_header_section_of_a_connection_has_a_clock_of_its_own() {
    let mut world = World::new(|limits| limits.header_timeout = 5.0);
    let client = world.client("GET /now HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(client.reads().0.ends_with("now"));
    world.at(START + 60_000).await;
    client.sends("GET /now").await;
    world.at(START + 65_000).await;
    assert!(client.is_left_alone());
    world.at(START + 65_001).await;
    assert!(client.is_told("408"));
}

#[tokio::test(flavor = "current_thread")]
async fn what_begins_http2_and_does_not_go_on_has_header_timeout() {
    let whole = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    // a part of the preface, and the head of a frame of HEADERS without what it announces
    for bytes in [&whole[..20], &format!("{whole}\0\0\x20\x01\x04\0\0\0\x01")] {
        let mut world = World::new(|limits| limits.header_timeout = 5.0);
        let client = world.client(bytes).await;
        client.reads();
        world.at(START + 5_000).await;
        assert!(!client.reads().1, "it has a millisecond left: {bytes:?}");
        world.at(START + 5_001).await;
        assert!(client.reads().1, "{bytes:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_handshake_has_header_timeout_less_in_a_crowd_and_least_when_the_server_ends() {
    let folder = tempfile::tempdir().unwrap();
    let files = self_signed(folder.path()).unwrap();
    let settings = TlsSettings { cert: vec![files.cert], key: vec![files.key], ..TlsSettings::default() };
    for (others, is_draining, most) in [(0, false, 5_000), (9, false, 1_000), (0, true, DRAIN_FOR)] {
        let mut world = World::with_tls(|limits| limits.header_timeout = 5.0, Some(settings.clone()));
        DRAINING.set(is_draining);
        let mut clients = Vec::new();
        for i in 0..=others {
            // the head of a record, and no more
            clients.push(world.client_at(Peer::Inet(([127, 0, 0, i + 1], 80).into()), "\x16\x03\x01\x02\0").await);
        }
        world.at(START + most).await;
        assert!(clients.iter().all(Visitor::is_left_alone), "they have a millisecond left");
        world.at(START + most + 1).await;
        assert!(clients.iter().all(|client| client.reads().1), "{others} others, {is_draining}");
    }
    DRAINING.set(false);
}

#[tokio::test(flavor = "current_thread")]
async fn an_idle_connection_has_keep_alive_from_its_last_answer() {
    let mut world = World::new(|limits| limits.keep_alive = 30.0);
    let client = world.client("GET /now HTTP/1.1\r\nHost: x\r\n\r\n").await;
    world.at(START + 29_000).await;
    client.sends("GET /now HTTP/1.1\r\nHost: x\r\n\r\n").await;
    client.reads();
    world.at(START + 29_000 + 30_000).await;
    assert!(client.is_left_alone(), "it has a millisecond left");
    world.at(START + 29_000 + 30_001).await;
    assert_eq!(client.reads(), (String::new(), true), "without a word: no request is under way");
}

#[tokio::test(flavor = "current_thread")]
async fn a_connection_that_waits_for_its_answer_is_not_idle() {
    let mut world = World::new(|limits| limits.keep_alive = 30.0);
    let client = world.client("GET /pending HTTP/1.1\r\nHost: x\r\n\r\n").await;
    world.at(START + 3_600_000).await;
    assert!(client.is_left_alone());
}

#[tokio::test(flavor = "current_thread")]
async fn a_body_that_stops_has_body_timeout_since_its_last_byte() {
    let mut world = World::new(|limits| limits.body_timeout = 20.0);
    let client = world.client("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n").await;
    world.at(START + 20_000).await;
    client.sends("ten bytes.").await;
    world.at(START + 40_000).await;
    assert!(client.is_left_alone(), "it has a millisecond left");
    world.at(START + 40_001).await;
    assert!(client.is_told("408"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_body_must_keep_its_rate_over_each_span_of_body_timeout() {
    let mut world = World::new(|limits| (limits.body_timeout, limits.min_body_rate) = (10.0, 100));
    let head = "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n";
    let (fast, slow) = (world.client(head).await, world.client(head).await);
    // 100 and 99 bytes a second
    for (client, bytes) in [(&fast, 1001), (&slow, 991)] {
        client.sends(&"b".repeat(bytes)).await;
    }
    // something of each comes all the time
    world.at(START + 9_000).await;
    fast.sends("b").await;
    slow.sends("b").await;
    world.at(START + 10_000).await;
    assert!(fast.is_left_alone() && slow.is_left_alone(), "the span is not over");
    world.at(START + 10_001).await;
    assert!(fast.is_left_alone());
    assert!(slow.is_told("408"));
    // what came in the first span does not count in the second
    world.at(START + 19_000).await;
    fast.sends("b").await;
    world.at(START + 20_001).await;
    assert!(fast.is_left_alone(), "the second span is not over");
    world.at(START + 20_002).await;
    assert!(fast.is_told("408"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_client_that_does_not_read_has_write_timeout_since_it_last_did() {
    let mut world = World::new(|limits| limits.write_timeout = 30.0);
    let client = world.client("GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await;
    world.at(START + 29_000).await;
    let (part, _) = client.reads();
    assert!(part.len() > 1_000, "{}", part.len());
    // what it has taken made room
    settle().await;
    world.at(START + 29_000 + 30_000).await;
    assert!(client.is_served(), "it has a millisecond left");
    world.at(START + 29_000 + 30_001).await;
    assert!(!client.is_served());
    let (rest, _) = client.reads();
    assert!(part.len() + rest.len() < LARGE, "it was never all under way");
}

#[tokio::test(flavor = "current_thread")]
async fn a_client_that_reads_just_in_time_gets_everything() {
    let mut world = World::new(|limits| limits.write_timeout = 30.0);
    let client = world.client("GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let (mut got, mut now) = (0, START);
    while got < LARGE {
        now += 30_000;
        world.at(now).await;
        let (text, ended) = client.reads();
        assert!(!ended && !text.is_empty(), "after {got} bytes");
        got += text.len();
        settle().await;
    }
    assert!(client.is_left_alone());
}

/// A client of HTTP/2 that asks for this on its first stream, and gives windows of 64 kB.
fn http2(path: &str) -> Vec<u8> {
    http2_with(path, 5)
}

/// The same; flags are 5 for a request without a body, and 4 for one whose body is to come.
fn http2_with(path: &str, flags: u8) -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x01, 1, b'a', 0x04, path.len() as u8];
    block.extend(path.as_bytes());
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend([0, 0, block.len() as u8, 1, flags, 0, 0, 0, 1]);
    bytes.extend(block);
    bytes
}

#[tokio::test(flavor = "current_thread")]
async fn a_stream_whose_client_makes_no_room_has_write_timeout_since_it_last_did() {
    let mut world = World::new(|limits| limits.write_timeout = 30.0);
    let client = world.client(http2("/large")).await;
    let (part, _) = client.reads();
    assert!(part.len() > 60_000, "{}", part.len());
    world.at(START + 29_000).await;
    // WINDOW_UPDATE of the stream and of the connection, by 10,000
    client.sends(b"\0\0\x04\x08\0\0\0\0\x01\0\0\x27\x10\0\0\x04\x08\0\0\0\0\0\0\0\x27\x10").await;
    assert!(client.reads().0.len() > 10_000);
    world.at(START + 29_000 + 30_000).await;
    assert!(client.is_left_alone(), "it has a millisecond left");
    world.at(START + 29_000 + 30_001).await;
    // RST_STREAM
    let (end, ended) = client.reads();
    assert!(end.as_bytes().starts_with(b"\0\0\x04\x03\0\0\0\0\x01") && !ended, "{end:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn when_memory_is_scarce_who_stalls_has_a_fifth_of_the_time() {
    let mut world = World::new(|limits| (limits.write_timeout, limits.keep_alive) = (30.0, 30.0));
    let client = world.client("GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let idle = world.client("").await;
    // half of the places for files
    let places: Vec<_> = std::iter::from_fn(|| world.server.budget.file()).take(40).collect();
    assert!(world.server.budget.is_scarce());
    world.at(START + 6_000).await;
    assert!(client.is_served(), "it has a millisecond left");
    world.at(START + 6_001).await;
    assert!(!client.is_served());
    assert!(idle.is_left_alone(), "it takes nothing");
    drop(places);
}

#[tokio::test(flavor = "current_thread")]
async fn when_the_server_ends_a_connection_may_send_a_last_request_and_is_then_ended() {
    let mut world = World::new(|_| ());
    let (answered, running) = (world.client("").await, world.client("GET /pending HTTP/1.1\r\nHost: x\r\n\r\n").await);
    world.at(START + 10_000).await;
    answered.sends("GET /now HTTP/1.1\r\nHost: x\r\n\r\n").await;
    answered.reads();
    DRAINING.set(true);
    world.at(START + 10_000 + LAST_CALL).await;
    assert!(answered.is_left_alone(), "a request may be under way");
    world.at(START + 10_001 + LAST_CALL).await;
    assert_eq!(answered.reads(), (String::new(), true));
    world.at(START + 3_600_000).await;
    assert!(running.is_left_alone(), "it has its answer to come");
    DRAINING.set(false);
}

/// A client that has read the answer to its request before it has sent the body of that `length`.
async fn answered_early(world: &World, length: &str) -> Visitor {
    let client = world.client(format!("POST /now HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n")).await;
    assert!(client.is_told("200"), "nothing more comes");
    client
}

const CHUNKED: &str = "Transfer-Encoding: chunked";
const HUGE: &str = "Content-Length: 1000000000000";

#[tokio::test(flavor = "current_thread")]
async fn after_its_last_answer_a_client_that_still_sends_has_thirty_seconds() {
    let mut world = World::new(|_| ());
    let clients = [answered_early(&world, HUGE).await, answered_early(&world, CHUNKED).await];
    for second in (0..30).step_by(3) {
        world.at(START + 1_000 * second).await;
        for client in &clients {
            client.sends([b'b'; 32 << 10]).await;
        }
    }
    world.at(START + 30_000).await;
    assert!(clients.iter().all(Visitor::is_served), "they have a millisecond left");
    world.at(START + 30_001).await;
    assert!(!clients.iter().any(Visitor::is_served));
}

#[tokio::test(flavor = "current_thread")]
async fn after_its_last_answer_a_client_that_stops_sending_has_five_seconds() {
    let mut world = World::new(|_| ());
    let client = answered_early(&world, HUGE).await;
    world.at(START + 5_000).await;
    client.sends("b").await;
    world.at(START + 10_000).await;
    assert!(client.is_served(), "it has a millisecond left");
    world.at(START + 10_001).await;
    assert!(!client.is_served());
    // the same of one whose bytes were no request
    let refused = world.client("no request\r\n\r\n").await;
    assert!(refused.is_told("400"));
    world.at(START + 15_001).await;
    assert!(refused.is_served(), "it has a millisecond left");
    world.at(START + 15_002).await;
    assert!(!refused.is_served());
}

#[tokio::test(flavor = "current_thread")]
async fn a_stream_whose_client_still_sends_after_its_answer_is_reset_when_that_stops() {
    let mut world = World::new(|_| ());
    let client = world.client(http2_with("/now", 4)).await;
    let (answer, _) = client.reads();
    assert!(answer.ends_with("\0\0\x03\0\x01\0\0\0\x01now"), "it is answered, and not reset: {answer:?}");
    world.at(START + 5_000).await;
    // DATA
    client.sends(b"\0\0\x01\0\0\0\0\0\x01b").await;
    world.at(START + 10_000).await;
    assert!(client.is_left_alone(), "it has a millisecond left");
    world.at(START + 10_001).await;
    // RST_STREAM, and no error
    assert_eq!(client.reads(), ("\0\0\x04\x03\0\0\0\0\x01\0\0\0\0".to_owned(), false));
}

#[tokio::test(flavor = "current_thread")]
async fn after_its_last_answer_a_client_may_send_what_it_has_announced_and_little_more() {
    let world = World::new(|_| ());
    let client = answered_early(&world, "Content-Length: 8388608").await;
    let piece = [b'b'; 64 << 10];
    for sent in 0..12 << 4 {
        assert!(client.is_served(), "after {sent} pieces");
        client.sends(piece).await;
    }
    assert!(client.is_served());
    client.sends("b").await;
    assert!(!client.is_served());
}

#[tokio::test(flavor = "current_thread")]
async fn a_server_that_ends_does_not_wait_for_clients_that_have_their_last_answer() {
    let world = World::new(|_| ());
    let client = answered_early(&world, HUGE).await;
    assert!(client.is_served());
    drain();
    settle().await;
    assert!(!client.is_served());
    DRAINING.set(false);
}

/// What looks at clocks and memory, counted.
#[derive(Default)]
struct Counting {
    is_busy: AtomicBool,
    looks: AtomicUsize,
    given_back: AtomicUsize,
}

impl Service for Counting {
    fn answer(&self, _: Head, _: Incoming, _: Arc<Connection>) -> Answering {
        unreachable!("nobody asks")
    }

    fn refused(&self, _: &Connection, _: u64, _: &Failure) {}

    fn expire(&self) -> bool {
        self.looks.fetch_add(1, Relaxed);
        self.is_busy.load(Relaxed)
    }

    fn give_back(&self, _: bool) {
        self.given_back.fetch_add(1, Relaxed);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn one_of_many_threads_looks_whether_memory_can_go_back() {
    const THREADS: usize = 4;
    let server = World::new(|_| {}).server;
    let service = Arc::new(Counting { is_busy: true.into(), ..Counting::default() });
    for _ in 0..THREADS {
        tokio::spawn(run(server.clone(), service.clone()));
    }
    let all_have_looked = async || {
        let before = service.looks.load(Relaxed);
        until_async("all look", sleep, || service.looks.load(Relaxed) >= before + 2 * THREADS).await;
        service.given_back.load(Relaxed)
    };
    all_have_looked().await;
    for nth in 1..=3 {
        set_now(START + nth * 10_000);
        assert_eq!(all_have_looked().await, nth as usize);
    }
    // and once more before all sleep
    service.is_busy.store(false, Relaxed);
    until_async("all sleep", sleep, || server.memory.awake() == 0).await;
    assert_eq!(service.given_back.load(Relaxed), 4);
}

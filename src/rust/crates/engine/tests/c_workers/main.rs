//! Worker processes that run C handlers, as clients see them: fakes that begin and answer what the test tells them to,
//! so that what goes where is known and nothing has to be timed.

mod fake;
#[path = "../settings/mod.rs"]
mod settings;

use admission::Limits;
use engine::PoolEvent;
use fake::{app, Client, Fake, Service};
use patience::{until, until_some};
use shm::{RequestId, Sending};
use std::io::Read;
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;
use wire::stream::{affordable, worth, Order, Part, FIRST, LONGEST_PIECE, WINDOW};

#[test]
fn as_many_as_there_are_threads_and_answers_in_any_order() {
    for io_threads in [1, 2] {
        let service = Service::new(io_threads, 2, Limits::default());
        let fake = Fake::attach(&service, 1, 1);
        let clients = [service.ask("/pool/a"), service.ask("/pool/b"), service.ask("/pool/c")];
        let mut begun = [fake.begins(), fake.begins()];
        service.until_waiting(1);
        assert!(fake.gets_nothing());
        begun.reverse();
        // neither R nor an inline handler waits for a thread
        let inline = service.ask("/inline/x");
        let (id, path) = fake.begins();
        assert_eq!(path, "/inline/x");
        fake.reply(id);
        assert_eq!(inline.answer(), (200, "1".into()));
        fake.reply(begun[0].0);
        let third = fake.begins();
        fake.reply(third.0);
        fake.reply(begun[1].0);
        for client in clients {
            assert_eq!(client.answer(), (200, "1".into()));
        }
        assert_eq!(fake.stats.requests.load(Ordering::Relaxed), 4);
        // a client may have its answer before the thread that read it counts what is still under way
        until("nothing is under way", || fake.stats.in_flight.load(Ordering::Relaxed) == 0);
    }
}

#[test]
fn requests_go_to_the_worker_with_the_fewest() {
    let service = Service::new(1, 2, Limits::default());
    let fakes = [Fake::attach(&service, 1, 1), Fake::attach(&service, 2, 1)];
    let clients: Vec<Client> = (0..4).map(|_| service.ask("/pool/x")).collect();
    // all before the first answer: from then on the route is known to be quick, and quick ones stay together
    let begun = fakes.each_ref().map(|fake| [fake.begins().0, fake.begins().0]);
    for (fake, ids) in fakes.iter().zip(begun) {
        ids.into_iter().for_each(|id| fake.reply(id));
    }
    for client in clients {
        assert_eq!(client.answer().0, 200);
    }
}

#[test]
fn what_was_handed_ahead_is_taken_back_from_handlers_that_turn_out_slow() {
    for path in ["/pool/x", "/inline/x"] {
        let service = Service::new(1, 1, Limits::default());
        let slow = Fake::attach(&service, 1, 1);
        service.warm_up(&slow, path);
        let clients: Vec<Client> = (0..10).map(|_| service.ask(path)).collect();
        let (id, _) = slow.begins();
        // some were handed ahead, and none of them is begun
        let free = Fake::eager(&service, 2, 1);
        until(&format!("{path}: none stays behind the slow one"), || free.stats.requests.load(Ordering::Relaxed) == 9);
        while let Ok((id, _)) = slow.requests.try_recv() {
            assert!(!slow.start(id), "{path}: it was taken back, and begins all the same");
        }
        slow.reply(id);
        let mut bodies: Vec<String> = clients.into_iter().map(|c| c.answer().1).collect();
        bodies.sort();
        assert_eq!(bodies.concat(), "1222222222");
    }
}

#[test]
fn nothing_waits_behind_a_stream_that_goes_on() {
    let service = Service::new(1, 1, Limits::default());
    let streaming = Fake::attach(&service, 1, 1);
    service.warm_up(&streaming, "/pool/x");
    let _stream = service.ask("/pool/x");
    let (id, _) = streaming.begins();
    let behind: Vec<Client> = (0..5).map(|_| service.ask("/pool/x")).collect();
    streaming.head(id);
    let free = Fake::eager(&service, 2, 1);
    until("none waits", || {
        streaming.part(id, Part::Piece(b"piece"));
        free.stats.requests.load(Ordering::Relaxed) == 5
    });
    for client in behind {
        assert_eq!(client.answer(), (200, "2".into()));
    }
}

#[test]
fn a_dead_worker_costs_what_it_had_begun_and_nothing_else() {
    let service = Service::new(1, 4, Limits::default());
    let doomed = Fake::attach(&service, 1, 1);
    let clients: Vec<Client> = (0..4).map(|i| service.ask(&format!("/pool/{i}"))).collect();
    let taken: Vec<_> = (0..4).map(|_| doomed.takes()).collect();
    assert!(doomed.start(taken[0].0) && doomed.start(taken[2].0));
    doomed.head(taken[2].0);
    let inline = service.ask("/inline/x");
    doomed.takes();
    let streams: usize = taken[2].1.trim_start_matches("/pool/").parse().unwrap();
    until("its head is sent", || clients[streams].is_answered());
    service.server.pool().gone(1);
    let _next = Fake::eager(&service, 2, 1);
    assert_eq!(inline.answer(), (200, "2".into()));
    let paths: Vec<_> = taken.into_iter().map(|(_, path)| path).collect();
    for (i, mut client) in clients.into_iter().enumerate() {
        let place = paths.iter().position(|path| *path == format!("/pool/{i}")).unwrap();
        match place {
            0 => assert_eq!(client.answer().0, 502),
            // its head was sent: it can only break off
            2 => assert!(!String::from_utf8_lossy(&client.rest()).ends_with("0\r\n\r\n")),
            _ => assert_eq!(client.answer(), (200, "2".into())),
        }
    }
    assert_eq!(doomed.stats.errors.load(Ordering::Relaxed), 2);
}

#[test]
fn waiting_for_a_thread_has_bounds() {
    // of how many
    let service = Service::new(1, 1, Limits { max_queue: 1, ..Limits::default() });
    let fake = Fake::attach(&service, 1, 1);
    let running = service.ask("/pool/running");
    let (id, _) = fake.begins();
    let waiting: Vec<Client> = (0..2).map(|_| service.ask("/pool/waiting")).collect();
    service.until_waiting(2);
    assert_eq!(service.ask("/pool/refused").answer().0, 503);
    fake.eager.store(true, Ordering::Relaxed);
    fake.reply(id);
    for client in waiting.into_iter().chain([running]) {
        assert_eq!(client.answer().0, 200);
    }
    // and of how long
    let service = Service::new(1, 1, Limits { queue_timeout: 0.2, ..Limits::default() });
    let fake = Fake::attach(&service, 1, 1);
    let (running, id) = service.begun(&fake, "/pool/running");
    let waiting: Vec<Client> = (0..2).map(|_| service.ask("/pool/waiting")).collect();
    for client in waiting {
        assert_eq!(client.answer().0, 503);
    }
    fake.reply(id);
    assert_eq!(running.answer().0, 200);
}

#[test]
fn a_late_handler_is_told_then_its_worker_replaced_and_killed_when_nothing_else_is_left() {
    let limits = Limits { kill_after: 0.2, ..Limits::default() };
    let mut service = Service::new(1, 2, limits);
    let mut fake = Fake::mortal(&service, 1);
    let (late, stuck) = service.begun(&fake, "/late/x");
    assert_eq!(late.answer().0, 504);
    assert_eq!(fake.is_told(), (stuck, Order::Cancel));
    assert!(matches!(service.event(), PoolEvent::Blocked { worker: 1, .. }));
    // it serves on with its other thread until another has taken its place
    let client = service.ask("/pool/x");
    let (id, _) = fake.begins();
    service.server.pool().retire(1);
    // its clock has run out: it would be killed at once
    std::thread::sleep(Duration::from_millis(50));
    assert!(fake.process.as_mut().unwrap().try_wait().unwrap().is_none(), "it was killed while it served");
    fake.reply(id);
    assert_eq!(client.answer(), (200, "1".into()));
    assert!(fake.dies());
    assert_eq!(service.event(), PoolEvent::GivenUp(1));
    service.server.pool().gone(1);
    let _next = Fake::eager(&service, 2, 1);
    assert_eq!(service.ask("/pool/x").answer(), (200, "2".into()));
}

#[test]
fn a_late_handler_that_returns_after_all_is_forgiven() {
    let limits = Limits { kill_after: 600.0, ..Limits::default() };
    let mut service = Service::new(1, 1, limits);
    let fake = Fake::attach(&service, 1, 1);
    let (late, id) = service.begun(&fake, "/late/x");
    assert_eq!(late.answer().0, 504);
    fake.is_told();
    fake.reply(id);
    fake.eager.store(true, Ordering::Relaxed);
    assert_eq!(service.ask("/pool/x").answer(), (200, "1".into()));
    service.server.pool().retire(1);
    assert_eq!(service.event(), PoolEvent::Retired(1));
}

#[test]
fn what_a_retired_worker_has_not_begun_goes_to_another() {
    let service = Service::new(1, 1, Limits::default());
    let old = Fake::attach(&service, 1, 1);
    let client = service.ask("/pool/x");
    old.takes();
    let _next = Fake::eager(&service, 2, 1);
    service.server.pool().retire(1);
    assert_eq!(client.answer(), (200, "2".into()));
}

#[test]
fn who_goes_takes_the_request_along() {
    let mut service = Service::new(1, 1, Limits::default());
    let fake = Fake::attach(&service, 1, 1);
    let first = service.ask("/pool/first");
    let (id, _) = fake.begins();
    let waits = service.ask("/pool/waits");
    service.until_waiting(1);
    drop(waits);
    service.until_waiting(0);
    drop(first);
    assert_eq!(fake.is_told(), (id, Order::Cancel));
    service.server.pool().retire(1);
    fake.reply(id);
    assert_eq!(service.event(), PoolEvent::Retired(1));
}

#[test]
fn a_handler_that_answers_later_holds_no_thread() {
    let service = Service::new(1, 1, Limits::default());
    let fake = Fake::attach(&service, 1, 1);
    let mut later = Vec::new();
    for i in 0..3 {
        let client = service.ask(&format!("/pool/{i}"));
        let (id, _) = fake.begins();
        fake.send(id, &[]);
        later.push((client, id));
    }
    for (client, id) in later {
        fake.reply(id);
        assert_eq!(client.answer(), (200, "1".into()));
    }
}

#[test]
fn a_retired_worker_finishes_its_streams() {
    // with a head that comes before it is late
    let (mut service, fake, client, id) = until_some("a stream", || {
        let service = Service::new(1, 1, Limits { kill_after: 0.1, ..Limits::default() });
        let fake = Fake::attach(&service, 1, 1);
        let (client, id) = service.begun(&fake, "/late/stream");
        fake.head(id);
        let mut begins = [0; 12];
        until("an answer", || client.0.peek(&mut begins).unwrap() == 12);
        (&begins == b"HTTP/1.1 200").then_some((service, fake, client, id))
    });
    fake.part(id, Part::Piece(b"one,"));
    service.server.pool().retire(1);
    let _next = Fake::eager(&service, 2, 1);
    assert_eq!(service.ask("/pool/x").answer(), (200, "2".into()));
    // the deadline is for the head: a stream may last
    std::thread::sleep(Duration::from_millis(500));
    fake.part(id, Part::Piece(b"two"));
    fake.part(id, Part::End { whole: true, micros: 5, trailers: b"" });
    let (status, body) = client.answer();
    assert_eq!((status, body.as_str()), (200, "4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"));
    assert_eq!(service.event(), PoolEvent::Retired(1));
}

#[test]
fn trailers_of_a_worker_are_checked() {
    let service = Service::new(1, 1, Limits::default());
    let fake = Fake::of_r(&service, 1);
    let ends_with = |trailers: &[u8]| {
        let client = service.ask("/r/stream");
        let (id, _) = fake.begins();
        fake.head(id);
        fake.part(id, Part::Piece(b"one"));
        fake.part(id, Part::End { whole: true, micros: 5, trailers });
        client.answer().1
    };
    assert_eq!(ends_with(b"x-a: 1\r\nX-B: 2\r\n"), "3\r\none\r\n0\r\nx-a: 1\r\nx-b: 2\r\n\r\n");
    let long = [&b"x-a: "[..], &[b'a'; 4096], b"\r\n"].concat();
    for wrong in [&b"x-a: 1"[..], b"\r\nHTTP/1.1 200 OK\r\n", b"x-a: 1\rx\r\n", b"Content-Length: 3\r\n", &long] {
        assert_eq!(ends_with(wrong), "3\r\none\r\n", "{}", wrong.escape_ascii());
    }
}

#[test]
fn the_client_of_a_stream_that_goes_is_told_of() {
    let service = Service::new(1, 1, Limits::default());
    client_of_a_stream_goes(&service, &Fake::attach(&service, 1, 1), "/pool/stream");
    let service = Service::new(1, 1, Limits::default());
    client_of_a_stream_goes(&service, &Fake::of_r(&service, 1), "/r/stream");
}

fn client_of_a_stream_goes(service: &Service, fake: &Fake, path: &str) {
    let mut client = service.ask(path);
    let (id, _) = fake.begins();
    fake.head(id);
    fake.part(id, Part::Piece(b"one"));
    client.read(20);
    client.0.shutdown(Shutdown::Both).unwrap();
    drop(client);
    // what is under way when the client goes may still be sent
    until("it is told", || {
        fake.part(id, Part::Piece(b"more"));
        fake.orders.try_recv() == Ok((id, Order::Cancel))
    });
    fake.part(id, Part::Piece(b"more"));
    fake.part(id, Part::End { whole: false, micros: 5, trailers: b"" });
    fake.eager.store(true, Ordering::Relaxed);
    assert_eq!(service.ask(path).answer(), (200, "1".into()));
}

#[test]
fn a_long_stream_to_a_slow_client_waits_for_it_and_not_in_the_server() {
    const TOTAL: usize = 200 << 20;
    /// what two sockets and the server may hold
    const HELD: usize = 24 << 20;
    for (io_threads, path) in [(1, "/pool/stream"), (2, "/pool/stream"), (1, "/r/stream"), (2, "/r/stream")] {
        let service = Service::new(io_threads, 1, Limits::default());
        let fake = if path.starts_with("/r/") { Fake::of_r(&service, 1) } else { Fake::attach(&service, 1, 1) };
        let mut client = service.ask(path);
        let (id, _) = fake.begins();
        fake.head(id);
        let sent = Arc::<AtomicUsize>::default();
        let count = sent.clone();
        let writer = std::thread::spawn(move || {
            let piece = vec![b'x'; LONGEST_PIECE];
            let (mut credit, mut left, mut orders) = (FIRST, TOTAL, 0);
            while left > 0 {
                while affordable(credit) == 0 {
                    let (_, Order::Credit(more)) = fake.is_told() else { panic!("it is not wanted") };
                    credit += more as usize;
                    orders += 1;
                }
                let n = left.min(affordable(credit));
                credit -= worth(n);
                fake.part(id, Part::Piece(&piece[..n]));
                left -= n;
                count.fetch_add(n, Ordering::Relaxed);
            }
            fake.part(id, Part::End { whole: true, micros: 1, trailers: b"" });
            orders
        });
        until("it has sent what it may", || {
            let before = sent.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(50));
            before > 0 && sent.load(Ordering::Relaxed) == before
        });
        let (mut got, mut buffer) = (0, vec![0; 1 << 20]);
        loop {
            let ahead = sent.load(Ordering::Relaxed).saturating_sub(got);
            assert!(ahead < HELD, "{ahead} bytes were taken that the client has not");
            match client.0.read(&mut buffer).unwrap() {
                0 => break,
                n => got += n,
            }
        }
        assert!(got > TOTAL, "{got} bytes came");
        let orders = writer.join().unwrap();
        assert!(orders <= TOTAL / (WINDOW / 4) + 2, "{orders} messages");
    }
}

/// What a worker does that is broken, or hostile; then it is killed, and its requests get 502 or break off.
fn ends_badly(act: impl FnOnce(&Fake, RequestId)) {
    let service = Service::new(1, 1, Limits::default());
    let mut fake = Fake::mortal(&service, 1);
    let client = service.ask("/pool/x");
    let (id, _) = fake.takes();
    act(&fake, id);
    assert!(fake.dies(), "it lives");
    service.server.pool().gone(1);
    let _next = Fake::eager(&service, 2, 1);
    let mut client = client;
    let text = String::from_utf8_lossy(&client.rest()).into_owned();
    let whole = text.starts_with("HTTP/1.1 200") && (text.ends_with("0\r\n\r\n") || !text.contains("chunked"));
    // one that it cannot have begun with is the next one's
    assert!(!whole || text.ends_with("\r\n\r\n2"), "{text}");
    assert_eq!(service.ask("/pool/x").answer(), (200, "2".into()));
}

#[test]
fn workers_that_say_what_cannot_be_are_killed() {
    // an answer to what it has not begun with
    ends_badly(|fake, id| fake.reply(id));
    // a part before the head
    ends_badly(|fake, id| {
        fake.start(id);
        fake.part(id, Part::Piece(b"x"));
    });
    ends_badly(|fake, id| {
        fake.start(id);
        fake.part(id, Part::End { whole: true, micros: 0, trailers: b"" });
    });
    // two heads, a reply after the head, a part that is none, one that is too long
    ends_badly(|fake, id| {
        fake.start(id);
        fake.head(id);
        fake.head(id);
    });
    ends_badly(|fake, id| {
        fake.start(id);
        fake.head(id);
        fake.reply(id);
    });
    ends_badly(|fake, id| {
        fake.start(id);
        fake.head(id);
        fake.send(id, b"nonsense");
    });
    ends_badly(|fake, id| {
        fake.start(id);
        fake.head(id);
        let mut message = vec![0, 0, 0, 0, 1, 0, 0, 0];
        message.resize(LONGEST_PIECE + 100, 0);
        fake.send(id, &message);
    });
}

#[test]
fn a_worker_that_sends_more_than_it_may_is_killed() {
    for size in [LONGEST_PIECE, 1, 0] {
        let service = Service::new(1, 1, Limits::default());
        let mut fake = Fake::mortal(&service, 1);
        // the client reads nothing
        let _client = service.ask("/pool/x");
        let (id, _) = fake.begins();
        fake.head(id);
        let piece = vec![0; size];
        let mut message = Vec::new();
        Part::Piece(&piece).encode(&mut message);
        until(&format!("pieces of {size}: it is killed"), || {
            // once the server notices, it reads no more of the worker's replies
            let mut end = fake.link.lock().unwrap();
            for _ in 0..200 {
                if !end.replies.send(id.to_word(), &message, &mut Sending::default()) {
                    break;
                }
            }
            end.server_bell.ring();
            drop(end);
            fake.process.as_mut().unwrap().try_wait().unwrap().is_some()
        });
    }
}

#[test]
fn a_new_generation_has_its_own_handlers_in_c() {
    let mut service = Service::new(1, 1, Limits::default());
    let old = Fake::attach(&service, 1, 1);
    let running = service.ask("/pool/running");
    let (id, _) = old.begins();
    let waiting = service.ask("/pool/waiting");
    service.until_waiting(1);
    service.server.pool().add_generation(2, &app(), None).unwrap();
    let _new = Fake::eager(&service, 2, 2);
    service.server.pool().switch_to(2);
    assert_eq!(service.ask("/pool/x").answer(), (200, "2".into()));
    old.eager.store(true, Ordering::Relaxed);
    old.reply(id);
    assert_eq!(running.answer(), (200, "1".into()));
    assert_eq!(waiting.answer(), (200, "1".into()));
    assert_eq!(
        [service.event(), service.event()],
        [PoolEvent::Retired(1), PoolEvent::Drained { generation: 1, pool: 0 }]
    );
}

//! The dispatcher by itself: which requests wait, which is next, and what a worker says.

use super::workers::{MESSAGE, READ_AT_ONCE};
use super::*;
use crate::outcome::Outcome;
use crate::pool::{Pool, PoolEvent, Runner, Seat};
use crate::runs::Runs;
use crate::submission::{Batch, Origin, Submission};
use crate::ticket::Ticket;
use bytes::Bytes;
use exchange::PipeReader;
use shm::{Assembler, RequestId, Sending};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};
use tokio::sync::oneshot;
use wire::stream::{affordable, Order, Part, FIRST, WINDOW};

/// A dispatcher with one generation of the app and no worker.
fn dispatcher() -> (Dispatcher, Pool) {
    let (dispatcher, pool, _) = posting_dispatcher();
    (dispatcher, pool)
}

/// The same, and what is posted to it.
fn posting_dispatcher() -> (Dispatcher, Pool, UnboundedReceiver<Post>) {
    dispatcher_with(&Limits::default())
}

fn dispatcher_with(limits: &Limits) -> (Dispatcher, Pool, UnboundedReceiver<Post>) {
    let (pool, _orders) = Pool::new(1, limits.max_queue);
    let (post, posts) = unbounded_channel();
    let log = Log::open("none", observe::Screen::default()).unwrap();
    let mut dispatcher = Dispatcher::new(pool.0.clone(), limits, log, Arc::new(()), post, || {});
    dispatcher.apply(PoolOrder::Add(1, 1));
    (dispatcher, pool, posts)
}

/// A request of R on this connection of a client.
fn of(client: u8, connection: u8) -> Submission {
    Submission {
        request: 0,
        from: Origin { client: client.into(), connection: connection.into() },
        generation: 1,
        pool: 0,
        route: 0,
        runs: Runs::R,
        timeout: 60_000,
        times_handler: false,
        ends_with_client: true,
        takes_notices: false,
        counts: true,
        peer: None,
        opens: None,
        batch: None,
        owner: None,
    }
}

/// A request on this connection, that says so.
fn ask(dispatcher: &mut Dispatcher, connection: u8) -> Key {
    dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    dispatcher.submit(of(0, connection), |message| message.push(connection))
}

#[tokio::test(flavor = "current_thread")]
async fn what_waits_for_an_app_that_is_replaced_waits_no_more() {
    let (mut dispatcher, pool) = dispatcher();
    let key = ask(&mut dispatcher, 1);
    assert_eq!(pool.waiting(), 1);
    dispatcher.apply(PoolOrder::Switch(2));
    assert!(matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Stale)));
    assert_eq!(pool.waiting(), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn a_connection_with_many_requests_keeps_others_waiting_for_one() {
    let (mut dispatcher, pool) = dispatcher();
    let (end, mut worker) = shm::pair(None).unwrap();
    let seat = Seat { worker: 1, generation: 1, pool: 0, end, c_end: None, runner: None, stats: Arc::default() };
    dispatcher.apply(PoolOrder::Attach(Box::new(seat)));
    for connection in [1, 1, 1, 1, 2, 1, 3] {
        ask(&mut dispatcher, connection);
    }
    let mut served = Vec::new();
    let mut assembler = Assembler::default();
    while let Some((id, connection)) =
        worker.requests.receive(&mut assembler, |word, bytes| (RequestId::from_word(word), bytes[0]))
    {
        assert!(worker.slots.start(id));
        served.push(connection);
        // slow enough for nothing to be handed ahead
        let mut reply = Vec::new();
        let head = wire::ReplyHead { status: 200, content_type: wire::ContentType::None };
        head.encode(wire::ReplyBody::Bytes(b""), std::iter::empty, &mut reply);
        wire::stamp(&mut reply, 1_000_000);
        worker.replies.send(id.to_word(), &reply, &mut Sending::default());
        dispatcher.drain();
    }
    assert_eq!(served, [1, 1, 2, 3, 1, 1, 1]);
    assert_eq!(pool.waiting(), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn a_full_queue_has_a_place_for_who_has_less_in_it_than_others() {
    let (mut dispatcher, pool) = dispatcher();
    let mut all: Vec<Key> = [(1, 1), (1, 2), (1, 2), (2, 3)]
        .map(|(client, connection)| {
            dispatcher.shared.outstanding.fetch_add(1, Relaxed);
            dispatcher.submit(of(client, connection), |message| message.push(connection))
        })
        .into();
    // the client with the most requests gets no place, one with fewer does
    for client in [1, 2] {
        let has_place = dispatcher.make_place(&of(client, 9));
        assert_eq!((has_place, pool.waiting()), (client == 2, if client == 2 { 3 } else { 4 }));
    }
    let refused =
        |dispatcher: &mut Dispatcher, key| matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Full));
    // the newest on the connection with most
    assert!(refused(&mut dispatcher, all.remove(2)));
    // client 1 has two requests, client 3 would have one
    assert!(dispatcher.make_place(&of(3, 4)));
    assert!(refused(&mut dispatcher, all.remove(1)) || refused(&mut dispatcher, all.remove(0)));
    assert!(!dispatcher.make_place(&of(3, 4)), "one of each is fair");
    assert_eq!((pool.waiting(), dispatcher.shared.outstanding.load(Relaxed)), (2, 2));
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_has_much_to_say_is_not_heard_to_the_end_in_one_turn() {
    let (mut dispatcher, _pool) = dispatcher();
    let (end, mut worker) = shm::pair(None).unwrap();
    let seat = Seat { worker: 1, generation: 1, pool: 0, end, c_end: None, runner: None, stats: Arc::default() };
    dispatcher.apply(PoolOrder::Attach(Box::new(seat)));
    ask(&mut dispatcher, 1);
    let id = worker.requests.receive(&mut Assembler::default(), |word, _| RequestId::from_word(word)).unwrap();
    assert!(worker.slots.start(id));
    let nobody = RequestId { slot: 9, generation: 9 };
    let mut said = 0;
    while worker.replies.send(nobody.to_word(), &[], &mut Sending::default()) {
        said += 1;
    }
    assert!(said > 2 * READ_AT_ONCE / MESSAGE, "{said}");
    let mut turns = 0;
    while dispatcher.drain() {
        turns += 1;
    }
    assert!(turns >= said * MESSAGE / READ_AT_ONCE, "{said} messages in {turns} turns");
}

/// The worker's end of a seat, as a fake has it.
struct Fake {
    end: shm::WorkerEnd,
    assembler: Assembler,
}

impl Fake {
    fn sit(dispatcher: &mut Dispatcher, worker: u32) -> Fake {
        Fake::sit_in(dispatcher, worker, 0)
    }

    fn sit_in(dispatcher: &mut Dispatcher, worker: u32, pool: u8) -> Fake {
        let (end, worker_end) = shm::pair(None).unwrap();
        let seat = Seat { worker, generation: 1, pool, end, c_end: None, runner: None, stats: Arc::default() };
        dispatcher.apply(PoolOrder::Attach(Box::new(seat)));
        Fake { end: worker_end, assembler: Assembler::default() }
    }

    /// The next message.
    fn receive(&mut self) -> Option<(RequestId, Vec<u8>)> {
        self.end.requests.receive(&mut self.assembler, |word, bytes| (RequestId::from_word(word), bytes.to_vec()))
    }

    fn receive_order(&mut self) -> Option<(RequestId, Order)> {
        self.receive().map(|(id, message)| (id, Order::decode(&message).unwrap()))
    }

    fn say(&mut self, id: RequestId, message: &[u8]) {
        assert!(self.end.replies.send(id.to_word(), message, &mut Sending::default()));
    }

    fn say_part(&mut self, id: RequestId, part: Part<'_>) {
        let mut message = Vec::new();
        part.encode(&mut message);
        self.say(id, &message);
    }

    /// Takes a request, answers it with the head of a stream, and is free again.
    fn stream(&mut self) -> RequestId {
        let (id, _) = self.receive().unwrap();
        assert!(self.end.slots.start(id));
        let mut head = Vec::new();
        let words = wire::ReplyHead { status: 200, content_type: wire::ContentType::None };
        words.encode(wire::ReplyBody::Stream, std::iter::empty, &mut head);
        self.say(id, &head);
        self.say(id, &[]);
        id
    }
}

impl Fake {
    /// Takes the next request, if there is one, and returns from its handler with a promise.
    fn promise(&mut self) -> Option<RequestId> {
        let id = loop {
            let (id, _) = self.receive()?;
            // one that was not taken back
            if self.end.slots.start(id) {
                break id;
            }
        };
        self.say(id, &[]);
        Some(id)
    }

    fn keep(&mut self, id: RequestId) {
        self.answer(id, 0);
    }

    /// Answers, after `micros` microseconds.
    fn answer(&mut self, id: RequestId, micros: u32) {
        let mut reply = Vec::new();
        let head = wire::ReplyHead { status: 200, content_type: wire::ContentType::None };
        head.encode(wire::ReplyBody::Bytes(b""), std::iter::empty, &mut reply);
        wire::stamp(&mut reply, micros);
        self.say(id, &reply);
    }
}

fn reader(dispatcher: &mut Dispatcher, key: Key) -> PipeReader {
    match dispatcher.collect(key, Waker::noop()) {
        Some(Outcome::Stream(_, reader)) => reader,
        _ => panic!("no stream"),
    }
}

fn read(reader: &PipeReader) -> Poll<Option<io::Result<Bytes>>> {
    reader.poll(&mut Context::from_waker(Waker::noop()))
}

/// What a worker says for a client ahead of its answer.
fn links(link: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    wire::Notice::Links(link).encode(&mut message);
    message
}

/// Has a worker begin with a request whose client is told of links, where `takes_notices`.
fn ask_for_page(dispatcher: &mut Dispatcher, worker: &mut Fake, takes_notices: bool) -> (Key, RequestId) {
    dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    let key = dispatcher.submit(Submission { takes_notices, ..of(0, 1) }, |message| message.push(1));
    let (id, _) = worker.receive().unwrap();
    assert!(worker.end.slots.start(id));
    (key, id)
}

#[tokio::test(flavor = "current_thread")]
async fn what_a_handler_says_for_its_client_is_told_in_order_and_before_its_answer() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let (key, id) = ask_for_page(&mut dispatcher, &mut worker, true);
    assert!(dispatcher.collect(key, Waker::noop()).is_none());
    // a handler that returns a promise goes on
    let said: Vec<_> = (0..wire::MOST_LINKS + 5).map(|n| links(&[n])).collect();
    worker.say(id, &said[0]);
    worker.say(id, &[]);
    said[1..].iter().for_each(|message| worker.say(id, message));
    worker.answer(id, 1);
    worker.say(id, &links(b"late"));
    dispatcher.drain();
    let mut told = Vec::new();
    while let Some(Outcome::Notice(message)) = dispatcher.collect(key, Waker::noop()) {
        told.push(message);
    }
    assert_eq!(told, said[..usize::from(wire::MOST_LINKS)]);
    // the loop has seen the answer
    assert_eq!(dispatcher.entries.len(), 0);
    // nobody asks for them, as of a WebSocket's event
    let (key, id) = ask_for_page(&mut dispatcher, &mut worker, false);
    worker.say(id, &links(b"<a>"));
    worker.answer(id, 1);
    dispatcher.drain();
    assert!(matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Reply(..))));
}

#[tokio::test(flavor = "current_thread")]
async fn notices_after_the_head_of_a_stream_are_dropped_and_long_ones_are_no_message() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let key = ask(&mut dispatcher, 1);
    let id = worker.stream();
    worker.say(id, &links(b"<a>"));
    worker.say_part(id, Part::Piece(b"a"));
    dispatcher.drain();
    assert!(matches!(read(&reader(&mut dispatcher, key)), Poll::Ready(Some(Ok(bytes))) if bytes == "a"));
    assert!(!dispatcher.workers[0].retiring);
    let (_, id) = ask_for_page(&mut dispatcher, &mut worker, true);
    worker.say(id, &links(&[b'a'; wire::LONGEST_NOTICE + 1]));
    dispatcher.drain();
    assert!(dispatcher.workers[0].retiring, "it is broken");
}

#[tokio::test(flavor = "current_thread")]
async fn tickets_of_other_threads_tell_of_notices_too() {
    let (mut dispatcher, _pool, _posts) = posting_dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let (client, outcome) = oneshot::channel();
    let submission = Submission { takes_notices: true, ..of(0, 1) };
    dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    dispatcher.receive(Post::Request { number: 1, is_over: false, submission, message: vec![1], client });
    let mut ticket = Ticket::elsewhere(1, outcome, dispatcher.post.clone());
    let mut poll = || Pin::new(&mut ticket).poll(&mut Context::from_waker(Waker::noop()));
    let (id, _) = worker.receive().unwrap();
    assert!(worker.end.slots.start(id));
    for link in [b"<a>", b"<b>"] {
        worker.say(id, &links(link));
    }
    dispatcher.drain();
    for link in [b"<a>", b"<b>"] {
        assert!(matches!(poll(), Poll::Ready(Outcome::Notice(message)) if message == links(link)));
    }
    assert!(poll().is_pending());
    worker.answer(id, 1);
    dispatcher.drain();
    assert!(matches!(poll(), Poll::Ready(Outcome::Reply(..))));
}

#[tokio::test(flavor = "current_thread")]
async fn streams_of_r_hold_no_worker_and_requests_go_on_beside_them() {
    let (mut dispatcher, pool) = dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let keys = [1, 2, 3].map(|connection| ask(&mut dispatcher, connection));
    let mut ids = Vec::new();
    for _ in keys {
        ids.push(worker.stream());
        dispatcher.drain();
    }
    assert_eq!(pool.waiting(), 0, "each was handed out while the ones before were open");
    let readers = keys.map(|key| reader(&mut dispatcher, key));
    for (&id, text) in ids.iter().zip([&b"a"[..], b"b", b"c"]) {
        worker.say_part(id, Part::Piece(text));
    }
    worker.say_part(ids[0], Part::End { whole: true, micros: 1, trailers: b"" });
    worker.say_part(ids[1], Part::End { whole: false, micros: 1, trailers: b"" });
    dispatcher.drain();
    for (reader, text) in readers.iter().zip(["a", "b", "c"]) {
        assert!(matches!(read(reader), Poll::Ready(Some(Ok(bytes))) if bytes == text));
    }
    assert!(matches!(read(&readers[0]), Poll::Ready(None)));
    assert!(matches!(read(&readers[1]), Poll::Ready(Some(Err(_)))), "broken off");
    assert!(read(&readers[2]).is_pending());
    // the worker dies
    dispatcher.apply(PoolOrder::Gone(1));
    assert!(matches!(read(&readers[2]), Poll::Ready(Some(Err(_)))), "broken off");
}

#[tokio::test(flavor = "current_thread")]
async fn a_stream_of_r_is_told_of_credit_of_its_clients_end_and_of_a_drain() {
    let (mut dispatcher, _pool, mut posts) = posting_dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let key = ask(&mut dispatcher, 1);
    let id = worker.stream();
    dispatcher.drain();
    let its_reader = reader(&mut dispatcher, key);
    let piece = vec![0; affordable(FIRST)];
    // others have all that there is ahead of their clients, and then nothing
    let mut others = exchange::streams().promise();
    for (ahead, granted) in [(64 << 20, FIRST), (0, WINDOW)] {
        others.set(ahead);
        worker.say_part(id, Part::Piece(&piece));
        dispatcher.drain();
        assert!(worker.receive_order().is_none(), "nobody has read");
        assert!(matches!(read(&its_reader), Poll::Ready(Some(Ok(_)))));
        while let Ok(post) = posts.try_recv() {
            dispatcher.receive(post);
        }
        assert_eq!(worker.receive_order(), Some((id, Order::Credit(granted as u32))));
    }
    dispatcher.apply(PoolOrder::Drain);
    assert_eq!(worker.receive_order(), Some((id, Order::Drain)));
    drop(its_reader);
    while let Ok(post) = posts.try_recv() {
        dispatcher.receive(post);
    }
    assert_eq!(worker.receive_order(), Some((id, Order::Cancel)));
    // one that begins now hears of the drain at once
    let key = ask(&mut dispatcher, 2);
    let second = worker.stream();
    dispatcher.drain();
    assert_eq!(worker.receive_order(), Some((second, Order::Drain)));
    drop(reader(&mut dispatcher, key));
    // more than it may send
    for _ in 0..2 {
        worker.say_part(second, Part::Piece(&piece));
        dispatcher.drain();
    }
    assert!(dispatcher.workers[0].retiring, "it is broken");
}

#[tokio::test(flavor = "current_thread")]
async fn what_waits_behind_a_generator_goes_to_another_worker() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut slow = Fake::sit(&mut dispatcher, 1);
    ask(&mut dispatcher, 1);
    slow.stream();
    dispatcher.drain();
    // it makes a piece, and has not begun with the next request
    ask(&mut dispatcher, 2);
    let mut other = Fake::sit(&mut dispatcher, 2);
    let later = Instant::now() + std::time::Duration::from_millis(1);
    dispatcher.take_back(later);
    let (_, message) = other.receive().unwrap();
    assert_eq!(message, [2]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_has_max_async_promises_under_way_and_more_wait() {
    let limits = Limits { max_async: 2, max_queue: 3, ..Limits::default() };
    let (mut dispatcher, pool, _posts) = dispatcher_with(&limits);
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let most = |pool: &Pool| pool.0.most.load(Relaxed);
    let before = most(&pool);
    let keys = [1, 2, 3, 4].map(|connection| ask(&mut dispatcher, connection));
    let mut under_way = Vec::new();
    while let Some(id) = worker.promise() {
        under_way.push(id);
        dispatcher.drain();
    }
    assert_eq!((under_way.len(), pool.waiting()), (2, 2), "more than max_async");
    assert_eq!(dispatcher.workers[0].lane(Of::R).map(Lane::awaited), Some(2));
    assert_eq!(most(&pool), before + 2, "they take no place in the queue");
    worker.keep(under_way[0]);
    dispatcher.drain();
    assert!(matches!(dispatcher.collect(keys[0], Waker::noop()), Some(Outcome::Reply(..))));
    assert!(worker.promise().is_some());
    dispatcher.drain();
    assert_eq!((worker.promise(), pool.waiting()), (None, 1));
    // its worker dies with all of them
    dispatcher.apply(PoolOrder::Gone(1));
    assert!(matches!(dispatcher.collect(keys[1], Waker::noop()), Some(Outcome::WorkerDied(None))));
    assert!(matches!(dispatcher.collect(keys[2], Waker::noop()), Some(Outcome::WorkerDied(None))));
    assert!(dispatcher.collect(keys[3], Waker::noop()).is_none(), "it has not begun, and waits for the next");
    assert_eq!((most(&pool), dispatcher.shared.outstanding.load(Relaxed)), (before, 1));
}

#[tokio::test(flavor = "current_thread")]
async fn promises_whose_clients_have_left_take_no_place_and_a_worker_that_ends_waits_for_them() {
    let limits = Limits { max_async: 2, ..Limits::default() };
    let (mut dispatcher, pool, _posts) = dispatcher_with(&limits);
    let mut events = pool.events().unwrap();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let mut under_way = Vec::new();
    for connection in 0..5 {
        let key = ask(&mut dispatcher, connection);
        under_way.push(worker.promise().expect("no place"));
        dispatcher.drain();
        dispatcher.abandon(key);
    }
    assert_eq!(dispatcher.workers[0].lane(Of::R).map(|lane| (lane.awaited(), lane.room())), Some((5, 2)));
    dispatcher.apply(PoolOrder::Retire(1));
    assert!(events.try_recv().is_err(), "they go on");
    under_way.into_iter().for_each(|id| worker.keep(id));
    dispatcher.drain();
    assert!(matches!(events.try_recv(), Ok(PoolEvent::Retired(1))));
}

#[tokio::test(flavor = "current_thread")]
async fn any_number_of_clients_may_leave_their_promises() {
    let (mut dispatcher, _pool, _posts) = dispatcher_with(&Limits { max_async: 2, ..Limits::default() });
    let mut worker = Fake::sit(&mut dispatcher, 1);
    // far more than a link has slots
    for _ in 0..3000 {
        let key = ask(&mut dispatcher, 1);
        assert!(worker.promise().is_some(), "no place");
        dispatcher.drain();
        dispatcher.abandon(key);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn requests_handed_ahead_leave_room_for_the_promises_that_they_may_become() {
    let limits = Limits { max_async: 5, ..Limits::default() };
    let (mut dispatcher, _pool, _posts) = dispatcher_with(&limits);
    let mut worker = Fake::sit(&mut dispatcher, 1);
    // so that its route counts as quick
    ask(&mut dispatcher, 1);
    let (id, _) = worker.receive().unwrap();
    assert!(worker.end.slots.start(id));
    worker.keep(id);
    dispatcher.drain();
    for connection in 0..20 {
        ask(&mut dispatcher, connection);
    }
    let mut begun = 0;
    while worker.promise().is_some() {
        begun += 1;
    }
    assert_eq!(begun, 5);
}

#[tokio::test(flavor = "current_thread")]
async fn what_waits_behind_a_callback_of_a_promise_goes_to_another_worker() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut slow = Fake::sit(&mut dispatcher, 1);
    ask(&mut dispatcher, 1);
    slow.promise();
    dispatcher.drain();
    ask(&mut dispatcher, 2);
    let mut other = Fake::sit(&mut dispatcher, 2);
    dispatcher.take_back(Instant::now() + std::time::Duration::from_millis(1));
    assert_eq!(other.receive().unwrap().1, [2]);
}

#[tokio::test(flavor = "current_thread")]
async fn what_waits_behind_something_that_no_request_has_begun_goes_to_another_worker() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut workers = [1, 2].map(|number| Fake::sit(&mut dispatcher, number));
    let before = Instant::now();
    ask(&mut dispatcher, 1);
    let mut received = workers.iter_mut().map(Fake::receive);
    let (busy, first) = received.by_ref().enumerate().find_map(|(at, received)| Some((at, received?.0))).unwrap();
    let other = 1 - busy;
    // a worker that sleeps takes its time to wake
    dispatcher.take_back(before + std::time::Duration::from_millis(1));
    assert!(workers[other].receive().is_none());
    dispatcher.take_back(before + std::time::Duration::from_secs(60));
    assert!(!workers[busy].end.slots.start(first), "it was not taken back");
    let (id, message) = workers[other].receive().unwrap();
    assert_eq!(message, [1]);
    assert!(workers[other].end.slots.start(id));
    // the next one goes to the other too, as soon as it is free
    workers[other].answer(id, 0);
    dispatcher.drain();
    ask(&mut dispatcher, 2);
    assert_eq!(workers[other].receive().unwrap().1, [2]);
}

#[tokio::test(flavor = "current_thread")]
async fn what_workers_that_await_promises_do_not_begin_stays_longer_with_each_in_turn() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut workers = [1, 2].map(|number| Fake::sit(&mut dispatcher, number));
    for connection in [1, 2] {
        ask(&mut dispatcher, connection);
    }
    for worker in &mut workers {
        worker.promise().unwrap();
    }
    dispatcher.drain();
    // from here each looks as if it were in a callback; one does nothing, and takes its time to wake
    ask(&mut dispatcher, 3);
    let slow = std::time::Duration::from_millis(1);
    fn lane(dispatcher: &Dispatcher, at: usize) -> &Lane {
        dispatcher.workers[at].lane(Of::R).unwrap()
    }
    let mut times = Vec::new();
    for _ in 0..5 {
        let mut had = [0, 1].map(|_| {
            let holder = (0..2).find(|&at| lane(&dispatcher, at).running() > 0).unwrap();
            times.push(lane(&dispatcher, holder).time_to_begin(slow).as_millis());
            dispatcher.take_back(Instant::now() + std::time::Duration::from_secs(1));
            holder
        });
        had.sort_unstable();
        assert_eq!(had, [0, 1], "the other comes first");
    }
    assert_eq!(times, [1, 1, 2, 2, 4, 4, 8, 8, 16, 16]);
    // one wakes, and is quick again
    let (at, id) = (0..2).find_map(|at| Some((at, workers[at].promise()?))).unwrap();
    dispatcher.drain();
    assert_eq!(lane(&dispatcher, at).time_to_begin(slow), slow, "{id:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_with_promises_under_way_comes_after_one_without() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut asks = Fake::sit(&mut dispatcher, 1);
    ask(&mut dispatcher, 1);
    asks.promise().unwrap();
    dispatcher.drain();
    let mut other = Fake::sit(&mut dispatcher, 2);
    // it was used last
    ask(&mut dispatcher, 2);
    assert_eq!(other.receive().unwrap().1, [2]);
    assert!(asks.receive().is_none());
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_withdrawn_has_no_place_unless_it_has_begun() {
    let (mut dispatcher, pool) = dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let keys = [1, 2].map(|connection| ask(&mut dispatcher, connection));
    let (id, _) = worker.receive().unwrap();
    assert!(worker.end.slots.start(id));
    keys.iter().for_each(|key| dispatcher.withdraw(*key));
    assert!(matches!(dispatcher.collect(keys[1], Waker::noop()), Some(Outcome::Full)));
    assert!(dispatcher.collect(keys[0], Waker::noop()).is_none(), "it goes on");
    assert_eq!((pool.waiting(), dispatcher.shared.outstanding.load(Relaxed)), (0, 1));
    worker.keep(id);
    dispatcher.drain();
    assert!(matches!(dispatcher.collect(keys[0], Waker::noop()), Some(Outcome::Reply(..))));
}

mod bound;
mod clock;
mod express;
mod pools;
mod progress;
mod tasks;

#[tokio::test(flavor = "current_thread")]
async fn what_runs_is_told_with_what_its_client_asked_for() {
    let (mut dispatcher, _pool) = dispatcher();
    let (end, mut worker) = shm::pair(None).unwrap();
    let seat = Seat { worker: 1, generation: 1, pool: 0, end, c_end: None, runner: None, stats: Arc::default() };
    dispatcher.apply(PoolOrder::Attach(Box::new(seat)));
    let head = wire::RequestHead {
        id: 7,
        method: b"POST",
        target: b"/a<b>?token=secret",
        path: b"/a<b>",
        remote_addr: b"127.0.0.1",
        ..wire::RequestHead::default()
    };
    dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    let submission = Submission { request: 7, ..of(0, 1) };
    dispatcher.submit(submission, |message| head.encode(&[] as &[&[u8]], std::iter::empty, message));
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let look = |dispatcher: &mut Dispatcher| {
        let to = told.clone();
        dispatcher.apply(PoolOrder::Look(Box::new(move |running| *to.lock().unwrap() = running)));
        told.lock().unwrap().clone()
    };
    assert_eq!(look(&mut dispatcher), [], "it has not begun");
    let id = worker.requests.receive(&mut Assembler::default(), |word, _| RequestId::from_word(word)).unwrap();
    assert!(worker.slots.start(id));
    let running = look(&mut dispatcher);
    let asked = Some(("POST".to_owned(), "/a<b>".to_owned()));
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].request, running[0].route, &running[0].asked), (7, 0, &asked), "without the query");
    assert_eq!((running[0].generation, running[0].pid), (1, None));
}

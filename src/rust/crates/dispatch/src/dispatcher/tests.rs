//! The dispatcher by itself: what waits, who is next, and what a worker says.

use super::*;
use crate::pool::Pool;
use crate::submission::Origin;
use shm::{Assembler, RequestId, Sending};
use tokio::sync::mpsc::unbounded_channel;

/// A dispatcher with one generation of the app and no worker.
fn dispatcher() -> (Dispatcher, Pool) {
    let limits = Limits::default();
    let (pool, _orders) = Pool::new(1, limits.max_queue);
    let (post, _posts) = unbounded_channel();
    let log = Log::open("none", observe::Screen::default()).unwrap();
    let mut dispatcher = Dispatcher::new(pool.0.clone(), &limits, log, post, || {});
    dispatcher.obey(PoolOrder::Add(1));
    (dispatcher, pool)
}

/// A request of R on this connection of a client.
fn of(client: u8, connection: u8) -> Submission {
    Submission {
        request: 0,
        from: Origin { client: client.into(), connection: connection.into() },
        generation: 1,
        route: 0,
        runs: Runs::R,
        timeout: 60_000,
        ends_with_client: true,
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
    dispatcher.obey(PoolOrder::Switch(2));
    assert!(matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Stale)));
    assert_eq!(pool.waiting(), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn a_connection_with_many_requests_keeps_others_waiting_for_one() {
    let (mut dispatcher, pool) = dispatcher();
    let (end, mut worker) = shm::pair(None).unwrap();
    let seat = Seat { worker: 1, generation: 1, end, c_end: None, runner: None, stats: Arc::default() };
    dispatcher.obey(PoolOrder::Attach(Box::new(seat)));
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
    // who has most has no place, and who has less has one
    for client in [1, 2] {
        let has_place = dispatcher.make_place(&of(client, 9));
        assert_eq!((has_place, pool.waiting()), (client == 2, if client == 2 { 3 } else { 4 }));
    }
    let refused =
        |dispatcher: &mut Dispatcher, key| matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Full));
    // the newest on the connection with most
    assert!(refused(&mut dispatcher, all.remove(2)));
    // client 1 has two, and one of nobody else would be one
    assert!(dispatcher.make_place(&of(3, 4)));
    assert!(refused(&mut dispatcher, all.remove(1)) || refused(&mut dispatcher, all.remove(0)));
    assert!(!dispatcher.make_place(&of(3, 4)), "one of each is fair");
    assert_eq!((pool.waiting(), dispatcher.shared.outstanding.load(Relaxed)), (2, 2));
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_has_much_to_say_is_not_heard_to_the_end_in_one_turn() {
    let (mut dispatcher, _pool) = dispatcher();
    let (end, mut worker) = shm::pair(None).unwrap();
    let seat = Seat { worker: 1, generation: 1, end, c_end: None, runner: None, stats: Arc::default() };
    dispatcher.obey(PoolOrder::Attach(Box::new(seat)));
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

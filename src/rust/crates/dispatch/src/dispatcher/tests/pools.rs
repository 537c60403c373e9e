//! Workers of several pools.

use super::*;

/// A dispatcher with two pools of one generation.
fn two_pools() -> (Dispatcher, Pool) {
    let (mut dispatcher, pool) = dispatcher();
    dispatcher.generations.clear();
    dispatcher.apply(PoolOrder::Add(1, 2));
    (dispatcher, pool)
}

fn ask_in(dispatcher: &mut Dispatcher, pool: u8) -> Key {
    dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    dispatcher.submit(Submission { pool, route: pool.into(), ..of(0, pool) }, |message| message.push(pool))
}

#[tokio::test(flavor = "current_thread")]
async fn a_request_goes_to_workers_of_its_pool_only() {
    let (mut dispatcher, pool) = two_pools();
    let (mut main, mut named) = (Fake::sit_in(&mut dispatcher, 1, 0), Fake::sit_in(&mut dispatcher, 2, 1));
    assert_eq!((pool.ready(), pool.ready_in(0), pool.ready_in(1)), (2, 1, 1));
    for of in [1, 1, 0] {
        ask_in(&mut dispatcher, of);
    }
    let got = |worker: &mut Fake| {
        let (id, message) = worker.receive().unwrap();
        assert!(worker.end.slots.start(id) && worker.receive().is_none());
        (id, message[0])
    };
    assert_eq!((got(&mut main).1, pool.waiting()), (0, 1));
    let (id, of) = got(&mut named);
    assert_eq!(of, 1);
    named.answer(id, 1_000_000);
    dispatcher.drain();
    assert_eq!(got(&mut named).1, 1);
    // what waits for a pool whose worker has died waits for the next one
    ask_in(&mut dispatcher, 1);
    dispatcher.apply(PoolOrder::Gone(2));
    assert_eq!((pool.waiting(), dispatcher.stalls()), (1, false));
    let mut next = Fake::sit_in(&mut dispatcher, 3, 1);
    assert_eq!(got(&mut next).1, 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_pool_of_an_old_generation_ends_by_itself() {
    let (mut dispatcher, pool) = two_pools();
    let mut events = pool.events().unwrap();
    let _main = Fake::sit_in(&mut dispatcher, 1, 0);
    let mut named = Fake::sit_in(&mut dispatcher, 2, 1);
    ask_in(&mut dispatcher, 1);
    let (id, _) = named.receive().unwrap();
    assert!(named.end.slots.start(id));
    dispatcher.apply(PoolOrder::Add(2, 1));
    dispatcher.apply(PoolOrder::Switch(2));
    let mut told = || std::iter::from_fn(|| events.try_recv().ok()).collect::<Vec<_>>();
    assert_eq!(told(), [PoolEvent::Retired(1), PoolEvent::Drained { generation: 1, pool: 0 }]);
    named.answer(id, 1);
    dispatcher.drain();
    assert_eq!(told(), [PoolEvent::Retired(2), PoolEvent::Drained { generation: 1, pool: 1 }]);
}

//! What workers have others run.

use super::*;
use wire::task::Ended;
use wire::task::Task;
use wire::{BodyRef, ReplyBody, ReplyHead, Request};

/// Routes of tasks, and of what has come of them.
const ROUTE: u32 = 5;

impl Fake {
    fn asks(&mut self, number: u64, of: Option<RequestId>, timeout: u64) {
        let request = of.map_or(0, RequestId::to_word);
        let mut message = Vec::new();
        Task { number, route: ROUTE, request, timeout, call: b"a call" }.encode(&mut message);
        self.say(RequestId::NOBODY, &message);
    }

    /// Takes the next request: its route and body.
    fn takes(&mut self) -> Option<(RequestId, u32, Vec<u8>)> {
        let (id, message) = loop {
            let (id, message) = self.receive()?;
            if self.end.slots.start(id) {
                break (id, message);
            }
        };
        let Request { head, .. } = Request::decode(&message).unwrap();
        let BodyRef::Inline(body) = head.body else { panic!("another body") };
        Some((id, head.route, body.to_vec()))
    }

    fn replies(&mut self, id: RequestId, status: u16, body: &[u8]) {
        let mut reply = Vec::new();
        let head = ReplyHead { status, content_type: wire::ContentType::None };
        head.encode(ReplyBody::Bytes(body), std::iter::empty, &mut reply);
        self.say(id, &reply);
    }

    /// What it is told next of its tasks.
    fn is_told(&mut self) -> Option<(u64, u32, Vec<u8>)> {
        let (id, route, message) = self.takes()?;
        assert_eq!(route, ROUTE + 1);
        self.replies(id, 200, b"");
        Some(came(message))
    }
}

/// Which task, how it ended, and its value.
fn came(mut message: Vec<u8>) -> (u64, u32, Vec<u8>) {
    let words = message.split_off(message.len() - 12);
    let word = |at: usize| u32::from_ne_bytes(*words[4 * at..].first_chunk().unwrap());
    (u64::from(word(0)) | u64::from(word(1)) << 32, word(2), message)
}

fn told(number: u64, ended: Ended, value: &[u8]) -> Option<(u64, u32, Vec<u8>)> {
    Some((number, ended as u32, value.to_vec()))
}

/// A worker whose handler waits for a promise, with the request, and another worker.
fn two(dispatcher: &mut Dispatcher) -> (Fake, Fake, Key, RequestId) {
    let mut asks = Fake::sit(dispatcher, 1);
    let key = ask(dispatcher, 1);
    let id = asks.promise().unwrap();
    dispatcher.drain();
    (asks, Fake::sit(dispatcher, 2), key, id)
}

#[tokio::test(flavor = "current_thread")]
async fn a_task_is_run_by_whoever_is_free_and_its_value_goes_to_who_asked() {
    let (mut dispatcher, pool) = dispatcher();
    let (mut asks, mut other, key, id) = two(&mut dispatcher);
    // one of them is at something else
    ask(&mut dispatcher, 2);
    let busy = [&mut asks, &mut other]
        .into_iter()
        .position(|worker| worker.receive().is_some_and(|(id, _)| worker.end.slots.start(id)));
    asks.asks(1 << 33 | 7, Some(id), 0);
    dispatcher.drain();
    let mut workers = [asks, other];
    let idle = 1 - busy.unwrap();
    assert!(workers[1 - idle].receive().is_none());
    let (task, route, call) = workers[idle].takes().unwrap();
    assert_eq!((route, &call[..]), (ROUTE, &b"a call"[..]));
    workers[idle].replies(task, 200, b"a value");
    dispatcher.drain();
    let [mut asks, mut other] = workers;
    assert_eq!(asks.is_told(), told(1 << 33 | 7, Ended::Ran, b"a value"));
    // what R could not answer
    asks.asks(2, Some(id), 0);
    dispatcher.drain();
    let idle = if idle == 0 { &mut asks } else { &mut other };
    let (task, ..) = idle.takes().unwrap();
    idle.replies(task, 500, b"");
    dispatcher.drain();
    assert_eq!(asks.is_told(), told(2, Ended::Failed, b""));
    asks.keep(id);
    dispatcher.drain();
    assert!(matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Reply(..))));
    assert_eq!(pool.waiting(), 0);
    assert_eq!(dispatcher.entries.len(), 1, "the request of 2");
}

#[tokio::test(flavor = "current_thread")]
async fn tasks_end_with_the_request_that_they_are_for() {
    let (mut dispatcher, _pool) = dispatcher();
    let (mut asks, mut other, key, id) = two(&mut dispatcher);
    asks.asks(1, Some(id), 0);
    asks.asks(2, Some(id), 0);
    asks.asks(3, Some(id), 0);
    asks.asks(4, None, 0);
    dispatcher.drain();
    let begun = other.takes().expect("one of them runs here");
    // the client goes
    dispatcher.abandon(key);
    dispatcher.drain();
    // its late reply reaches no handler
    other.replies(begun.0, 200, b"late");
    let mut ends = Vec::new();
    for _ in 0..9 {
        dispatcher.drain();
        ends.extend(next_told(&mut asks).map(|(number, ended, _)| (number, ended)));
        if let Some((task, ..)) = other.takes() {
            other.replies(task, 200, b"4");
        }
    }
    ends.sort_unstable();
    let over = Ended::Over as u32;
    assert_eq!(ends, [(1, over), (2, over), (3, over), (4, Ended::Ran as u32)], "what is for no request goes on");
    // one that is for a request that has its answer
    asks.asks(5, Some(id), 0);
    dispatcher.drain();
    assert_eq!(next_told(&mut asks).map(|(number, ended, _)| (number, ended)), Some((5, Ended::Over as u32)));
}

/// What it is told next; tasks that it is given to run itself are run.
fn next_told(worker: &mut Fake) -> Option<(u64, u32, Vec<u8>)> {
    loop {
        let (id, route, message) = worker.takes()?;
        worker.replies(id, 200, b"");
        if route == ROUTE + 1 {
            return Some(came(message));
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn who_asks_hears_of_a_worker_that_dies_and_of_a_task_that_is_late() {
    let (mut dispatcher, _pool) = dispatcher();
    let (mut asks, mut other, _key, id) = two(&mut dispatcher);
    asks.asks(1, Some(id), 0);
    asks.asks(2, Some(id), 0);
    dispatcher.drain();
    let _begun = other.takes().unwrap();
    dispatcher.apply(PoolOrder::Gone(2));
    let mut ends = Vec::new();
    for _ in 0..9 {
        dispatcher.drain();
        ends.extend(next_told(&mut asks).map(|(_, ended, _)| ended));
    }
    ends.sort_unstable();
    assert_eq!(ends, [Ended::Ran as u32, Ended::Lost as u32]);
    asks.asks(3, Some(id), 1);
    dispatcher.drain();
    let (_, route, _) = asks.takes().expect("there is nobody else");
    assert_eq!(route, ROUTE);
    std::thread::sleep(std::time::Duration::from_millis(20));
    dispatcher.expire();
    assert_eq!(next_told(&mut asks).map(|(number, ended, _)| (number, ended)), Some((3, Ended::Late as u32)));
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_has_gone_leaves_no_tasks() {
    let (mut dispatcher, pool) = dispatcher();
    let (mut asks, mut other, _key, id) = two(&mut dispatcher);
    for number in 1..=5 {
        asks.asks(number, (number != 4).then_some(id), 0);
    }
    dispatcher.drain();
    let begun = other.takes().unwrap();
    dispatcher.apply(PoolOrder::Gone(1));
    dispatcher.drain();
    assert_eq!((dispatcher.tasks.of_worker(1), pool.waiting()), (0, 0));
    other.replies(begun.0, 200, b"");
    dispatcher.drain();
    assert_eq!(other.takes(), None);
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_is_to_end_runs_its_tasks_itself() {
    let (mut dispatcher, _pool) = dispatcher();
    let (mut asks, mut other, key, id) = two(&mut dispatcher);
    dispatcher.apply(PoolOrder::Retire(1));
    asks.asks(1, Some(id), 0);
    dispatcher.drain();
    assert!(other.receive().is_none());
    let (task, route, _) = asks.takes().unwrap();
    assert_eq!(route, ROUTE);
    asks.replies(task, 200, b"mine");
    dispatcher.drain();
    assert_eq!(asks.is_told(), told(1, Ended::Ran, b"mine"));
    dispatcher.drain();
    asks.keep(id);
    dispatcher.drain();
    assert!(matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Reply(..))));
    assert!(dispatcher.find(1).is_none(), "it has ended");
}

#[tokio::test(flavor = "current_thread")]
async fn there_is_an_end_to_how_many_tasks_a_worker_has() {
    let (mut dispatcher, ..) = dispatcher_with(&Limits { max_async: 2, ..Limits::default() });
    let (mut asks, _other, _key, id) = two(&mut dispatcher);
    for number in 1..=3 {
        asks.asks(number, Some(id), 0);
    }
    dispatcher.drain();
    assert_eq!(next_told(&mut asks).map(|(number, ended, _)| (number, ended)), Some((3, Ended::Refused as u32)));
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_says_what_it_should_not_does_no_harm() {
    let (mut dispatcher, _pool) = dispatcher();
    let (mut asks, mut other, _key, id) = two(&mut dispatcher);
    let mut message = Vec::new();
    Task { number: 1, route: u32::MAX, request: id.to_word(), timeout: 0, call: b"" }.encode(&mut message);
    for cut in [message.len(), 4, 20] {
        asks.say(RequestId::NOBODY, &message[..cut]);
    }
    dispatcher.drain();
    assert!(asks.receive().is_none() && other.receive().is_none());
    asks.asks(2, Some(RequestId { slot: 77, generation: 3 }), 0);
    dispatcher.drain();
    assert_eq!(asks.is_told(), told(2, Ended::Over, b""));
}

//! Requests that one worker only may have, and connections that stay with one.

use super::*;
use crate::commands::{Commands, Later};
use crate::generation::Line;
use crate::owner::Owner;

/// Records which workers have left.
#[derive(Default)]
struct Left(std::sync::Mutex<Vec<Owner>>);

impl Commands for Left {
    fn execute(&self, _: Bytes, _: &dyn Fn() -> Later) -> Option<Vec<u8>> {
        None
    }

    fn has_left(&self, owner: Owner) {
        self.0.lock().unwrap().push(owner);
    }
}

/// A worker of the first generation is a process of this number. Nothing is sent to it: it is this process.
fn seat_process(dispatcher: &mut Dispatcher, pid: i32, end: shm::ServerEnd, c_end: Option<shm::ServerEnd>) {
    let fd = rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty()).unwrap();
    let runner = Some(Runner::Process { fd: Arc::new(fd), pid });
    let seat = Seat { worker: pid as u32, generation: 1, pool: 0, end, c_end, runner, stats: Arc::default() };
    dispatcher.apply(PoolOrder::Attach(Box::new(seat)));
}

#[tokio::test(flavor = "current_thread")]
async fn what_only_one_worker_may_have_goes_to_no_other() {
    let (mut dispatcher, _pool) = dispatcher();
    let left = Arc::<Left>::default();
    dispatcher.commands = left.clone();
    let mut workers = Vec::new();
    for pid in [101, 102] {
        let ((end, r), (c_end, c)) = (shm::pair(None).unwrap(), shm::pair(None).unwrap());
        seat_process(&mut dispatcher, pid, end, Some(c_end));
        workers.push((r, c));
    }
    let bound = |pid| Submission { runs: Runs::Inline, counts: false, owner: Some(Owner::Process(pid)), ..of(0, 1) };
    let submit = |dispatcher: &mut Dispatcher, pid| dispatcher.submit(bound(pid), |message| message.push(7));
    let died = |dispatcher: &mut Dispatcher, key, pid| matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::WorkerDied(died)) if died == Some(pid));
    let nobody = submit(&mut dispatcher, 103);
    assert!(matches!(dispatcher.collect(nobody, Waker::noop()), Some(Outcome::Stale)));
    let keys: Vec<Key> = (0..3).map(|_| submit(&mut dispatcher, 102)).collect();
    // one is at it for long: what is behind it stays, as it does when its worker is to end
    let id = workers[1].1.requests.receive(&mut Assembler::default(), |word, _| RequestId::from_word(word)).unwrap();
    assert!(workers[1].1.slots.start(id));
    std::thread::sleep(std::time::Duration::from_millis(2));
    dispatcher.take_back(Instant::now());
    dispatcher.apply(PoolOrder::Retire(102));
    assert!(workers[0].1.requests.is_empty(), "another worker has it");
    let late = submit(&mut dispatcher, 102);
    assert!(left.0.lock().unwrap().is_empty(), "it has something to do");
    dispatcher.apply(PoolOrder::Gone(102));
    assert_eq!(*left.0.lock().unwrap(), [Owner::Process(102)]);
    for key in keys.into_iter().chain([late]) {
        assert!(died(&mut dispatcher, key, 102));
    }
    assert!(workers[0].1.requests.is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn what_only_one_worker_may_have_waits_until_its_r_is_free_in_turn_with_others() {
    let (mut dispatcher, _pool) = dispatcher();
    let mut worker = Fake::sit(&mut dispatcher, 1);
    let bound = Submission { counts: false, owner: Some(Owner::Session(1)), ..of(0, 1) };
    let bound: Vec<Key> = (0..4).map(|n| dispatcher.submit(bound, |message| message.push(n))).collect();
    dispatcher.shared.outstanding.fetch_add(4, Relaxed);
    for n in 10..14 {
        dispatcher.submit(of(1, n), |message| message.push(n));
    }
    // one that is not wanted any more is not handed out
    dispatcher.withdraw(bound[1]);
    assert!(matches!(dispatcher.collect(bound[1], Waker::noop()), Some(Outcome::Full)));
    let mut order = Vec::new();
    while let Some((id, message)) = worker.receive() {
        order.push(message[0]);
        assert!(worker.end.slots.start(id));
        assert!(worker.end.requests.is_empty(), "it was given another one while it had one");
        // not quick
        worker.answer(id, 1_000_000);
        dispatcher.drain();
    }
    assert_eq!(order.len(), 7);
    assert!(order.iter().position(|&n| n >= 10) < Some(3), "others wait for all of it: {order:?}");
    assert!(order.iter().rposition(|&n| n < 10) < Some(6), "it waits for all others: {order:?}");
    let of_it: Vec<u8> = order.into_iter().filter(|&n| n < 10).collect();
    assert_eq!(of_it, [0, 2, 3], "in order");
    // what waits when the worker leaves is not for another
    let submit = |dispatcher: &mut Dispatcher| {
        let owner = Some(Owner::Session(1));
        dispatcher.submit(Submission { counts: false, owner, ..of(0, 1) }, |message| message.push(0))
    };
    let [has, waits] = [submit(&mut dispatcher), submit(&mut dispatcher)];
    dispatcher.apply(PoolOrder::Gone(1));
    assert!(matches!(dispatcher.collect(has, Waker::noop()), Some(Outcome::WorkerDied(None))));
    assert!(matches!(dispatcher.collect(waits, Waker::noop()), Some(Outcome::Stale)));
}

#[tokio::test(flavor = "current_thread")]
async fn connections_that_stay_with_a_worker_are_spread() {
    struct Kept;
    impl Commands for Kept {
        fn execute(&self, _: Bytes, _: &dyn Fn() -> Later) -> Option<Vec<u8>> {
            None
        }
        fn kept_by(&self, owner: Owner) -> usize {
            if owner == Owner::Process(101) {
                5
            } else {
                2
            }
        }
    }
    let (mut dispatcher, _pool) = dispatcher();
    dispatcher.commands = Arc::new(Kept);
    let mut workers = Vec::new();
    for pid in [102, 101] {
        let (end, worker) = shm::pair(None).unwrap();
        seat_process(&mut dispatcher, pid, end, None);
        workers.push(worker);
    }
    // the one used last, where nothing stays
    dispatcher.workers[1].last_turn = 9;
    assert_eq!(dispatcher.worker_for(0, Line::Short, of(0, 1)).map(|choice| choice.at), Some(1));
    let opens = Submission { opens: Some(1), ..of(0, 1) };
    assert_eq!(dispatcher.worker_for(0, Line::Short, opens).map(|choice| choice.at), Some(0));
}

/// Workers of two processes, of the first generation, the first of which has so many sessions of visitors.
fn two_of_which_one_is_visited(
    dispatcher: &mut Dispatcher,
) -> (Arc<std::sync::atomic::AtomicUsize>, Vec<shm::WorkerEnd>) {
    struct Visited(Arc<std::sync::atomic::AtomicUsize>);
    impl Commands for Visited {
        fn execute(&self, _: Bytes, _: &dyn Fn() -> Later) -> Option<Vec<u8>> {
            None
        }
        fn sessions_of(&self, owner: Owner) -> usize {
            if owner == Owner::Process(101) {
                self.0.load(Relaxed)
            } else {
                0
            }
        }
    }
    let sessions = Arc::new(std::sync::atomic::AtomicUsize::new(2));
    dispatcher.commands = Arc::new(Visited(sessions.clone()));
    let mut workers = Vec::new();
    for pid in [101, 102] {
        let (end, worker) = shm::pair(None).unwrap();
        seat_process(dispatcher, pid, end, None);
        workers.push(worker);
    }
    (sessions, workers)
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_goes_on_for_its_visitors_when_another_app_has_taken_over() {
    let (mut dispatcher, pool) = dispatcher();
    let mut events = pool.events().unwrap();
    let (sessions, workers) = two_of_which_one_is_visited(&mut dispatcher);
    dispatcher.apply(PoolOrder::Add(2, 1));
    dispatcher.apply(PoolOrder::Switch(2));
    assert_eq!((events.try_recv(), events.try_recv().is_err()), (Ok(PoolEvent::Retired(102)), true));
    // what is for it alone is handed to it, and nothing else
    let bound = Submission { counts: false, owner: Some(Owner::Process(101)), ..of(0, 1) };
    let key = dispatcher.submit(bound, |message| message.push(7));
    assert!(dispatcher.collect(key, Waker::noop()).is_none() && !workers[0].requests.is_empty());
    let other = dispatcher.submit(of(0, 1), |message| message.push(7));
    assert!(matches!(dispatcher.collect(other, Waker::noop()), Some(Outcome::Stale)));
    dispatcher.withdraw(key);
    // one of two visitors leaves, and then the other
    for (left, events_of_end) in [(1, 0), (0, 2)] {
        sessions.store(left, Relaxed);
        dispatcher.expire();
        let told: Vec<PoolEvent> = std::iter::from_fn(|| events.try_recv().ok()).collect();
        assert_eq!(told.len(), events_of_end, "{told:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn visitors_keep_no_worker_that_is_to_go_by_order_or_with_the_server() {
    for order in [|| PoolOrder::Retire(101), || PoolOrder::Drain] {
        let (mut dispatcher, pool) = dispatcher();
        let mut events = pool.events().unwrap();
        let (_sessions, _workers) = two_of_which_one_is_visited(&mut dispatcher);
        dispatcher.apply(PoolOrder::Add(2, 1));
        dispatcher.apply(PoolOrder::Switch(2));
        assert_eq!((events.try_recv(), events.try_recv().is_err()), (Ok(PoolEvent::Retired(102)), true));
        dispatcher.apply(order());
        assert_eq!(events.try_recv(), Ok(PoolEvent::Retired(101)));
    }
}

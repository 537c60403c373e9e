//! What happens when, to the millisecond: the clock is told what it is.

use super::*;
use admission::{Late, NEVER};
use exchange::set_now;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use std::os::fd::OwnedFd;
use std::process::Command;

/// When all begins, in ms.
const START: u64 = 1_000;
/// Of requests, and of the server.
const TIMEOUT: u64 = 10_000;
const KILL_AFTER: u64 = 3_000;

/// A dispatcher with a worker, which is a process, and what is told of it.
struct World {
    dispatcher: Dispatcher,
    events: UnboundedReceiver<PoolEvent>,
    worker: Fake,
    /// the threads of its C handlers
    c: Fake,
}

impl World {
    fn new(change: impl FnOnce(&mut Limits)) -> World {
        set_now(START);
        let mut limits = Limits { kill_after: KILL_AFTER as f64 / 1000.0, queue_timeout: 0.0, ..Limits::default() };
        change(&mut limits);
        let (mut dispatcher, pool, _) = dispatcher_with(&limits);
        let ((end, r), (c_end, c)) = (shm::pair(None).unwrap(), shm::pair(None).unwrap());
        let runner = Some(Runner::Process { pid: 7, fd: ended_process() });
        let seat = Seat { worker: 1, generation: 1, pool: 0, end, c_end: Some(c_end), runner, stats: Arc::default() };
        dispatcher.apply(PoolOrder::Attach(Box::new(seat)));
        let side = |end| Fake { end, assembler: Assembler::default() };
        World { dispatcher, events: pool.events().unwrap(), worker: side(r), c: side(c) }
    }

    fn ask(&mut self, runs: Runs, timeout: u64) -> Key {
        self.dispatcher.shared.outstanding.fetch_add(1, Relaxed);
        let submission = Submission { runs, timeout, request: 42, ..of(0, 1) };
        self.dispatcher.submit(submission, |message| message.push(1))
    }

    /// It is this time now, and the dispatcher looks at the clock; whether it wants to look again.
    fn at(&mut self, ms: u64) -> bool {
        set_now(ms);
        self.dispatcher.expire()
    }

    fn outcome(&mut self, key: Key) -> Option<Outcome> {
        self.dispatcher.collect(key, Waker::noop())
    }

    fn told(&mut self) -> Vec<PoolEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    fn is_interrupted(&self) -> bool {
        self.dispatcher.workers[0].interrupted.is_some()
    }

    fn is_killed(&self) -> bool {
        self.dispatcher.workers[0].killed
    }
}

/// One that signals find nevertheless.
fn ended_process() -> Arc<OwnedFd> {
    let mut child = Command::new("true").spawn().unwrap();
    let fd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    child.wait().unwrap();
    Arc::new(fd)
}

fn begins(worker: &mut Fake) -> RequestId {
    let (id, _) = worker.receive().unwrap();
    assert!(worker.end.slots.start(id));
    id
}

#[tokio::test(flavor = "current_thread")]
async fn what_waits_is_late_at_queue_timeout_and_what_runs_at_its_timeout() {
    let mut world = World::new(|limits| limits.queue_timeout = 2.0);
    let runs = world.ask(Runs::R, TIMEOUT);
    begins(&mut world.worker);
    let waits = world.ask(Runs::R, TIMEOUT);
    assert!(world.at(START + 1_999));
    assert!(world.outcome(waits).is_none(), "it has a millisecond left");
    world.at(START + 2_000);
    assert!(matches!(world.outcome(waits), Some(Outcome::Late(Late::Waiting(_), None))));
    assert!(world.outcome(runs).is_none(), "it runs, and does not wait");
    world.at(START + TIMEOUT - 1);
    assert!(world.outcome(runs).is_none() && !world.is_interrupted(), "it has a millisecond left");
    world.at(START + TIMEOUT);
    assert!(matches!(world.outcome(runs), Some(Outcome::Late(Late::Running(_), Some(7)))));
    assert!(world.is_interrupted());
}

#[tokio::test(flavor = "current_thread")]
async fn what_nobody_waits_for_has_its_whole_timeout_once_a_worker_has_it() {
    let mut world = World::new(|_| ());
    world.ask(Runs::R, NEVER);
    let first = begins(&mut world.worker);
    let message = Submission { timeout: TIMEOUT, times_handler: true, ..of(0, 1) };
    world.dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    let message = world.dispatcher.submit(message, |message| message.push(1));
    let begun = START + 5 * TIMEOUT;
    world.at(begun);
    assert!(world.outcome(message).is_none(), "it waits");
    world.worker.keep(first);
    world.dispatcher.drain();
    begins(&mut world.worker);
    world.at(begun + TIMEOUT - 1);
    assert!(world.outcome(message).is_none() && !world.is_interrupted(), "it has a millisecond left");
    world.at(begun + TIMEOUT);
    assert!(matches!(world.outcome(message), Some(Outcome::Late(Late::Running(_), Some(7)))));
    assert!(world.is_interrupted());
}

#[tokio::test(flavor = "current_thread")]
async fn without_queue_timeout_what_waits_has_its_whole_timeout() {
    let mut world = World::new(|_| ());
    world.ask(Runs::R, NEVER);
    begins(&mut world.worker);
    let waits = world.ask(Runs::R, TIMEOUT);
    world.at(START + TIMEOUT - 1);
    assert!(world.outcome(waits).is_none());
    world.at(START + TIMEOUT);
    assert!(matches!(world.outcome(waits), Some(Outcome::Late(Late::Waiting(_), None))));
}

#[tokio::test(flavor = "current_thread")]
async fn what_has_no_timeout_runs_for_ever() {
    let mut world = World::new(|_| ());
    let runs = world.ask(Runs::R, NEVER);
    begins(&mut world.worker);
    world.at(START + 1000 * 365 * 86_400_000);
    assert!(world.outcome(runs).is_none() && !world.is_interrupted());
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_does_not_heed_its_interrupt_is_killed_after_kill_after() {
    let mut world = World::new(|_| ());
    world.ask(Runs::R, TIMEOUT);
    begins(&mut world.worker);
    world.at(START + TIMEOUT);
    assert!(world.is_interrupted());
    assert!(world.at(START + TIMEOUT + KILL_AFTER - 1), "there is more to look after");
    assert!(!world.is_killed() && world.told().is_empty(), "it has a millisecond left");
    world.at(START + TIMEOUT + KILL_AFTER);
    assert!(world.is_killed());
    assert!(matches!(world.told()[..], [PoolEvent::Stuck { worker: 1, request: 42 }]));
}

#[tokio::test(flavor = "current_thread")]
async fn kill_after_counts_from_when_the_deadline_was_seen() {
    // a server that was held up has not given the worker its time
    let mut world = World::new(|_| ());
    world.ask(Runs::R, TIMEOUT);
    begins(&mut world.worker);
    let seen = START + TIMEOUT + 50_000;
    world.at(seen);
    world.at(seen + KILL_AFTER - 1);
    assert!(world.is_interrupted() && !world.is_killed());
    world.at(seen + KILL_AFTER);
    assert!(world.is_killed());
}

#[tokio::test(flavor = "current_thread")]
async fn a_worker_that_answers_within_kill_after_is_not_killed() {
    let mut world = World::new(|_| ());
    let key = world.ask(Runs::R, TIMEOUT);
    let id = begins(&mut world.worker);
    world.at(START + TIMEOUT);
    assert!(matches!(world.outcome(key), Some(Outcome::Late(..))));
    world.worker.keep(id);
    assert!(!world.at(START + TIMEOUT + KILL_AFTER), "nothing is left to look after");
    assert!(!world.is_killed());
    assert!(matches!(world.told()[..], [PoolEvent::Late { worker: 1, request: 42 }]));
}

#[tokio::test(flavor = "current_thread")]
async fn a_c_handler_is_stuck_when_it_runs_kill_after_beyond_its_deadline() {
    let mut world = World::new(|_| ());
    let key = world.ask(Runs::Pool, TIMEOUT);
    begins(&mut world.c);
    world.at(START + TIMEOUT);
    assert!(matches!(world.outcome(key), Some(Outcome::Late(Late::Running(_), Some(7)))));
    world.at(START + TIMEOUT + KILL_AFTER - 1);
    assert!(world.told().is_empty(), "it has a millisecond left");
    world.at(START + TIMEOUT + KILL_AFTER);
    assert!(matches!(world.told()[..], [PoolEvent::Blocked { worker: 1, request: 42 }]));
    assert!(!world.is_killed(), "others may be at work in it");
    world.at(START + TIMEOUT + 2 * KILL_AFTER);
    assert!(world.told().is_empty(), "told once");
}

#[tokio::test(flavor = "current_thread")]
async fn a_promise_that_is_not_kept_gives_its_place_back_at_its_deadline() {
    let mut world = World::new(|_| ());
    let key = world.ask(Runs::R, TIMEOUT);
    world.worker.promise();
    world.dispatcher.drain();
    let awaited = |world: &World| world.dispatcher.workers[0].lane(Of::R).map(Lane::awaited);
    world.at(START + TIMEOUT - 1);
    assert_eq!(awaited(&world), Some(1));
    world.at(START + TIMEOUT);
    assert!(matches!(world.outcome(key), Some(Outcome::Late(Late::Running(_), Some(7)))));
    assert_eq!(awaited(&world), Some(0));
    assert!(!world.is_interrupted(), "R does something else by now");
}

#[tokio::test(flavor = "current_thread")]
async fn r_that_stays_in_a_callback_is_unresponsive_when_a_request_has_waited_in_vain() {
    let mut world = World::new(|_| ());
    world.ask(Runs::R, NEVER);
    world.worker.promise();
    world.dispatcher.drain();
    // handed to it, as no other is there
    world.ask(Runs::R, TIMEOUT);
    world.at(START + TIMEOUT + KILL_AFTER - 1);
    assert!(!world.is_killed(), "it has a millisecond left");
    world.at(START + TIMEOUT + KILL_AFTER);
    assert!(world.is_killed());
    assert!(world.told().iter().any(|event| matches!(event, PoolEvent::Unresponsive { worker: 1, left_by: Some(42) })));
}

#[tokio::test(flavor = "current_thread")]
async fn r_is_unresponsive_that_does_not_begin_a_request_whatever_it_does_but_sleep() {
    for sleeps in [false, true] {
        let mut world = World::new(|_| ());
        let key = world.ask(Runs::R, TIMEOUT);
        world.at(START + TIMEOUT);
        assert!(matches!(world.outcome(key), Some(Outcome::Late(..))));
        if sleeps {
            // it has come back, found nothing to do, and says nothing
            world.worker.end.bell.doze();
        }
        world.at(START + TIMEOUT + KILL_AFTER - 1);
        assert!(!world.is_killed(), "it has a millisecond left");
        world.worker.end.bell.stay_awake();
        world.at(START + TIMEOUT + KILL_AFTER);
        assert_eq!(world.is_killed(), !sleeps);
        let told = world.told();
        let is_told = told.iter().any(|event| matches!(event, PoolEvent::Unresponsive { worker: 1, left_by: None }));
        assert_eq!(is_told, !sleeps, "{told:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn r_that_stays_in_a_callback_is_unresponsive_though_its_promise_was_given_up_before() {
    for answers in [false, true] {
        let mut world = World::new(|_| ());
        world.ask(Runs::R, TIMEOUT);
        world.worker.promise();
        world.dispatcher.drain();
        let later = START + TIMEOUT + 1;
        world.at(later);
        world.ask(Runs::R, TIMEOUT);
        if answers {
            let id = begins(&mut world.worker);
            world.worker.keep(id);
            world.dispatcher.drain();
        }
        world.at(later + TIMEOUT + KILL_AFTER);
        assert_eq!(world.is_killed(), !answers);
    }
}

/// A request of a route whose requests wait for others.
fn gathers(world: &mut World, connection: u8) -> Key {
    world.dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    let batch = Some(Batch { most: 3, bytes: 1000, wait: 20 });
    let submission = Submission { batch, timeout: TIMEOUT, ..of(0, connection) };
    world.dispatcher.submit(submission, |message| message.push(connection))
}

#[tokio::test(flavor = "current_thread")]
async fn the_first_of_a_batch_waits_for_others_as_long_as_it_may() {
    let mut world = World::new(|_| ());
    gathers(&mut world, 1);
    set_now(START + 5);
    gathers(&mut world, 2);
    let at = |world: &mut World, ms: u64| {
        set_now(START + ms);
        (world.dispatcher.look(), std::iter::from_fn(|| world.worker.receive()).count())
    };
    assert_eq!(at(&mut world, 19), (Some(Duration::from_millis(1)), 0));
    assert_eq!(world.dispatcher.shared.waiting.load(Relaxed), 2);
    assert_eq!(at(&mut world, 20).1, 2);
    assert_eq!(world.dispatcher.shared.waiting.load(Relaxed), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn a_batch_that_is_full_waits_for_no_more_and_others_do_not_wait_for_it() {
    let mut world = World::new(|_| ());
    let first = gathers(&mut world, 1);
    // of another route
    world.ask(Runs::R, TIMEOUT);
    let other = world.worker.receive().map(|(_, message)| message);
    assert!(other.is_some());
    gathers(&mut world, 2);
    // one that has left is none of the batch
    world.dispatcher.leave(first, START, true);
    gathers(&mut world, 3);
    assert!(world.worker.receive().is_none());
    gathers(&mut world, 4);
    world.dispatcher.ring();
    assert_eq!(world.dispatcher.shared.waiting.load(Relaxed), 3, "R has the other one");
    world.at(START + TIMEOUT);
    assert_eq!(world.dispatcher.shared.waiting.load(Relaxed), 0, "their time is over");
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_gathered_when_the_app_is_replaced_goes_to_those_that_have_it() {
    let mut world = World::new(|_| ());
    let key = gathers(&mut world, 1);
    world.dispatcher.apply(PoolOrder::Switch(2));
    assert!(world.outcome(key).is_none());
    set_now(START + 20);
    world.dispatcher.look();
    assert!(world.worker.receive().is_some());
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_gathered_for_nobody_is_for_the_next_app() {
    set_now(START);
    let (mut dispatcher, pool) = dispatcher();
    dispatcher.shared.outstanding.fetch_add(1, Relaxed);
    let batch = Some(Batch { most: 3, bytes: 1000, wait: 20 });
    let key = dispatcher.submit(Submission { batch, ..of(0, 1) }, |message| message.push(1));
    assert_eq!(pool.waiting(), 1);
    dispatcher.apply(PoolOrder::Switch(2));
    assert!(matches!(dispatcher.collect(key, Waker::noop()), Some(Outcome::Stale)));
    assert_eq!(pool.waiting(), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn more_workers_are_wanted_once_a_request_has_waited_for_a_moment() {
    let mut world = World::new(|_| ());
    world.dispatcher.shared.of(0).growable.store(true, Relaxed);
    world.ask(Runs::R, TIMEOUT);
    begins(&mut world.worker);
    world.ask(Runs::R, TIMEOUT);
    set_now(START + 4);
    world.dispatcher.look();
    assert!(world.told().is_empty());
    set_now(START + 5);
    world.dispatcher.look();
    assert!(matches!(world.told()[..], [PoolEvent::Pressure { pool: 0, waiting: 1, waited_ms: 5, ready: 1 }]));
}

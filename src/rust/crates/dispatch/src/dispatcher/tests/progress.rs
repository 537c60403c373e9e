//! In any order of what clients and workers do, and with messages of any length: no request waits that a worker could
//! have, and every request is answered once workers go on.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

#[derive(Debug, Clone)]
enum Step {
    /// a client submits a request of `len` bytes for this route
    Ask { len: usize, route: u32 },
    /// a worker that is free takes what is next
    Take(usize),
    /// the handler of a worker answers after `micros` microseconds
    Answer { worker: usize, micros: u32 },
    /// or returns a promise
    Promise(usize),
    /// or a promise of it is kept
    Keep(usize),
    /// a client leaves
    Leave(usize),
    /// what was handed ahead to slow workers is taken back
    TakeBack,
    /// the thread goes round
    Turn,
}

fn step() -> impl Strategy<Value = Step> {
    // a ring has 256 kB: short ones, some that fill it together, and longer ones
    let len = prop_oneof![4 => 1usize..200, 2 => 50_000usize..120_000, 2 => 250_000usize..700_000];
    let micros = prop_oneof![Just(5u32), Just(1_000), Just(1_000_000)];
    let worker = || 0..WORKERS;
    prop_oneof![
        4 => (len, 0u32..3).prop_map(|(len, route)| Step::Ask { len, route }),
        4 => worker().prop_map(Step::Take),
        3 => (worker(), micros).prop_map(|(worker, micros)| Step::Answer { worker, micros }),
        1 => worker().prop_map(Step::Promise),
        1 => worker().prop_map(Step::Keep),
        1 => (0..100usize).prop_map(Step::Leave),
        1 => Just(Step::TakeBack),
        2 => Just(Step::Turn),
    ]
}

const WORKERS: usize = 2;

/// A worker that does what it should.
struct Honest {
    fake: Fake,
    runs: Option<RequestId>,
    promised: Vec<RequestId>,
}

impl Honest {
    fn take(&mut self) -> bool {
        while self.runs.is_none() {
            let Some((id, _)) = self.fake.receive() else { break };
            self.runs = self.fake.end.slots.start(id).then_some(id);
        }
        self.runs.is_some()
    }

    /// Goes on with all that it has. Whether there was anything.
    fn go_on(&mut self) -> bool {
        let ids: Vec<_> = self.promised.drain(..).chain(self.runs.take()).collect();
        ids.iter().for_each(|&id| self.fake.answer(id, 5));
        !ids.is_empty()
    }
}

fn run(workers: usize, steps: Vec<Step>) {
    let limits = Limits { max_async: 3, ..Limits::default() };
    let (mut dispatcher, pool, _posts) = dispatcher_with(&limits);
    let mut honest: Vec<Honest> = (0..workers)
        .map(|at| Honest { fake: Fake::sit(&mut dispatcher, at as u32), runs: None, promised: Vec::new() })
        .collect();
    let mut asked = Vec::new();
    for step in steps {
        match step {
            Step::Ask { len, route } => {
                dispatcher.shared.outstanding.fetch_add(1, Relaxed);
                let submission = Submission { route, ..of(0, 1) };
                asked.push(dispatcher.submit(submission, |message| message.resize(len, b'?')));
            }
            Step::Take(at) => drop(honest[at % workers].take()),
            Step::Answer { worker, micros } => {
                let worker = &mut honest[worker % workers];
                if let Some(id) = worker.runs.take() {
                    worker.fake.answer(id, micros);
                }
            }
            Step::Promise(at) => {
                let worker = &mut honest[at % workers];
                if let Some(id) = worker.runs.take() {
                    worker.promised.push(id);
                    worker.fake.say(id, &[]);
                }
            }
            Step::Keep(at) => {
                let worker = &mut honest[at % workers];
                if let Some(id) = worker.promised.pop() {
                    worker.fake.answer(id, 5);
                }
            }
            Step::Leave(which) => {
                if !asked.is_empty() {
                    let key = asked.swap_remove(which % asked.len());
                    dispatcher.abandon(key);
                }
            }
            Step::TakeBack => dispatcher.take_back(Instant::now() + Duration::from_secs(1)),
            Step::Turn => {
                dispatcher.turn();
                assert!(!dispatcher.stalls(), "{} wait, and a worker could have the first", pool.waiting());
            }
        }
    }
    // as the thread sleeps in between: only what workers do goes on, and a message of several records takes some turns
    let mut quiet = 0;
    while quiet < 10 {
        let mut any = false;
        for worker in &mut honest {
            any |= worker.go_on();
            any |= worker.take();
        }
        dispatcher.turn();
        assert!(!dispatcher.stalls(), "{} wait, and a worker could have the first", pool.waiting());
        quiet = if any { 0 } else { quiet + 1 };
    }
    assert_eq!(pool.waiting(), 0, "nothing happens");
    for key in asked {
        let outcome = dispatcher.collect(key, Waker::noop());
        assert!(matches!(outcome, Some(Outcome::Reply(..))), "no answer");
    }
    assert_eq!(dispatcher.shared.outstanding.load(Relaxed), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_waits_that_a_worker_could_have(
        workers in 1..=WORKERS,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let _context = runtime.enter();
        run(workers, steps);
    }
}

/// The case that was seen with four WebSocket clients.
#[tokio::test(flavor = "current_thread")]
async fn what_waits_behind_long_messages_is_handed_out_when_they_have_found_room() {
    let ask = |len| Step::Ask { len, route: 0 };
    let mut steps = vec![ask(10), Step::Take(0), Step::Answer { worker: 0, micros: 5 }, Step::Turn];
    steps.extend([ask(300_000), ask(300_000), ask(300_000), Step::Turn, Step::Take(0), Step::TakeBack]);
    steps.extend([ask(300_000), Step::Turn, Step::Take(0), Step::Answer { worker: 0, micros: 7_000 }, Step::Turn]);
    run(1, steps);
}

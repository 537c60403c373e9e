//! The queue and its workers. For any actions of clients and workers, in any order, each request has one outcome, its
//! own; no waiting request is forgotten, or waits while a worker could take it; and nothing is left when all have gone.
//!
//! Input: steps, a byte each with what it needs.

use crate::input::Input;
use admission::Limits;
use dispatch::fuzzing::{Left, Thread};
use dispatch::{Batch, Express, Origin, Outcome, Owner, PoolEvent, Runner, Runs, Seat, Submission, Ticket, WorkerStats};
use exchange::{set_now, PipeReader};
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use shm::{pair, Assembler, RequestId, Sending, WorkerEnd};
use std::fs::{read_dir, File};
use std::future::Future;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Once, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use wire::stream::{Order, Part};
use wire::{ContentType, Notice, Reply, ReplyBody, ReplyHead};

/// Pools of workers.
const POOLS: u8 = 2;
/// Workers at a time, and requests in all.
const WORKERS: usize = 4;
const REQUESTS: usize = 300;

/// What a worker says that says what is not so.
const LIE: &[u8] = b"a lie";
/// What it says for a client while its handler goes on.
const HINT: &[u8] = b"<a>; rel=next";

/// See the module.
pub fn run(data: &[u8]) {
    // what a process opens once is no leak
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        dead();
        World::new().ends();
    });
    let before = descriptors();
    let mut world = World::new();
    let mut input = Input(data);
    while !input.0.is_empty() {
        world.step(&mut input);
        world.check();
    }
    world.ends();
    // the replay has other targets beside it, which open some, too
    if !cfg!(test) {
        assert_eq!(descriptors(), before, "descriptors are left");
    }
}

fn descriptors() -> usize {
    read_dir("/proc/self/fd").expect("this process").count()
}

/// Whether somebody was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A request whose client waits.
struct Asked {
    number: u32,
    ticket: Ticket,
    woken: Arc<Woken>,
}

/// A side of a worker.
struct Side {
    end: WorkerEnd,
    assembler: Assembler,
    /// what it has begun, with the number in it
    has: Vec<(RequestId, u32)>,
}

struct Worker {
    number: u32,
    r: Side,
    c: Option<Side>,
}

struct World {
    thread: Thread,
    events: UnboundedReceiver<PoolEvent>,
    now: u64,
    generation: u32,
    asked: Vec<Asked>,
    streams: Vec<PipeReader>,
    workers: Vec<Worker>,
    /// how many there were
    requests: u32,
    hired: u32,
    /// workers that are to be given nothing more, or were refused
    retired: Vec<u32>,
}

impl World {
    fn new() -> World {
        set_now(1);
        let limits = Limits { max_queue: 20, max_async: 4, queue_timeout: 2.0, kill_after: 3.0, ..Limits::default() };
        let mut thread = Thread::new(&limits);
        let events = thread.pool().events().expect("nobody else asks");
        thread.pool().set_growable(0, true);
        thread.pool().add_generation(1, POOLS);
        thread.pool().switch_to(1);
        thread.listens();
        World {
            thread,
            events,
            now: 1,
            generation: 1,
            asked: Vec::new(),
            streams: Vec::new(),
            workers: Vec::new(),
            requests: 0,
            hired: 0,
            retired: Vec::new(),
        }
    }

    fn step(&mut self, input: &mut Input) {
        match input.byte() % 21 {
            0..=3 => self.ask(input),
            4 | 5 => self.takes(input),
            6..=8 => self.says(input),
            9 => self.hire(input),
            10 => self.thread.sleeps(),
            11 => self.thread.listens(),
            12 => {
                self.now += u64::from(input.word());
                set_now(self.now);
                self.thread.expires();
            }
            13 => self.thread.takes_back(Duration::from_millis(u64::from(input.byte()))),
            // a client goes, or wants no more than what has begun
            14 => match self.one_of(input) {
                Some(at) if input.byte() & 1 == 0 => drop(self.asked.swap_remove(at)),
                Some(at) => self.asked[at].ticket.withdraw(),
                None => {}
            },
            15 => {
                let any = usize::from(input.byte());
                match self.streams.len() {
                    0 => {}
                    n if any & 1 == 0 => drop(self.streams.swap_remove(any / 2 % n)),
                    n => drop(self.streams[any / 2 % n].poll(&mut Context::from_waker(&nobody()))),
                }
            }
            16 => {
                if let Some(at) = self.a_worker(input) {
                    self.thread.pool().retire(self.workers[at].number);
                }
            }
            17 => {
                if let Some(at) = self.a_worker(input) {
                    let worker = self.workers.swap_remove(at);
                    self.thread.pool().gone(worker.number);
                }
            }
            18 => {
                let next = self.generation + 1;
                self.thread.pool().add_generation(next, POOLS);
                match input.byte() & 3 {
                    0 => self.thread.pool().drop_generation(next),
                    _ => self.thread.pool().switch_to(next),
                }
                self.generation = next;
            }
            19 => {
                let most = input.byte();
                let express = match most & 3 {
                    0 => Express::Off,
                    1 => Express::Turns,
                    2 => Express::Possible,
                    _ => Express::Beside(usize::from(most >> 2 & 3) + 1),
                };
                self.thread.pool().set_express(0, express);
            }
            _ => {
                self.thread.listens();
                self.thread.sleeps();
                self.thread.expires();
            }
        }
    }

    fn one_of(&self, input: &mut Input) -> Option<usize> {
        usize::from(input.byte()).checked_rem(self.asked.len())
    }

    fn a_worker(&self, input: &mut Input) -> Option<usize> {
        usize::from(input.byte()).checked_rem(self.workers.len())
    }

    fn ask(&mut self, input: &mut Input) {
        let (kind, whither) = (input.byte(), input.byte());
        if self.requests as usize >= REQUESTS {
            return;
        }
        self.requests += 1;
        let number = self.requests;
        // of long ones few find room in a ring of 256 kB, or none does
        let len = match kind >> 2 {
            62.. => 300_000,
            58..62 => 100_000,
            _ => 16,
        };
        let mut message = vec![b'?'; len];
        message[..4].copy_from_slice(&number.to_ne_bytes());
        let submission = Submission {
            request: u64::from(number),
            from: Origin { client: u64::from(whither >> 6), connection: u64::from(whither >> 4 & 3) },
            generation: self.generation.saturating_sub(u32::from(whither & 3 == 3)),
            pool: u8::from(whither & 3 == 2),
            route: u32::from(whither >> 2 & 3),
            runs: [Runs::R, Runs::R, Runs::Inline, Runs::Pool][usize::from(kind & 3)],
            timeout: [500, 5_000, 30_000, 60_000][usize::from(kind >> 2 & 3)],
            times_handler: kind & 8 != 0,
            ends_with_client: kind & 16 != 0,
            takes_notices: kind & 4 != 0,
            counts: true,
            peer: None,
            opens: (kind & 32 != 0).then_some(kind.into()),
            batch: (kind & 3 == 1).then_some(Batch { most: 8, bytes: 1 << 20, wait: u64::from(whither & 4) * 5 }),
            owner: match kind >> 6 {
                1 => Some(Owner::Process(1)),
                2 => Some(Owner::Session(self.generation)),
                _ => None,
            },
        };
        let (outstanding, most) = (self.thread.left().outstanding, self.thread.most());
        let elsewhere = kind & 32 != 0;
        let ticket = self.thread.submit(submission, &message, elsewhere);
        if outstanding < most {
            assert!(ticket.is_some(), "{outstanding} of {most} are out");
        } else if ticket.is_some() && !elsewhere {
            // and none waits that was for an app that is not served any more
            assert!(self.thread.left().outstanding <= outstanding, "no other has made place");
        }
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        self.asked.extend(ticket.map(|ticket| Asked { number, ticket, woken }));
    }

    fn hire(&mut self, input: &mut Input) {
        let kind = input.byte();
        if self.workers.len() == WORKERS {
            return;
        }
        let side = |end| Side { end, assembler: Assembler::default(), has: Vec::new() };
        let (end, mine) = pair(None).expect("memory for a link");
        let (c_end, c) = match kind & 1 {
            0 => (None, None),
            _ => pair(None).map(|(end, mine)| (Some(end), Some(side(mine)))).expect("memory for a link"),
        };
        let runner = match kind >> 1 & 3 {
            0 => None,
            1 => Some(Runner::Thread(Box::new(|| ()))),
            _ => Some(Runner::Process { pid: 1, fd: dead() }),
        };
        self.hired += 1;
        let stats = Arc::<WorkerStats>::default();
        stats.max_requests.store(u64::from(kind >> 5), Relaxed);
        let generation = if kind & 16 == 0 { self.generation } else { self.generation.saturating_sub(1) };
        let pool = u8::from(kind & 8 != 0);
        self.thread.pool().attach(Seat { worker: self.hired, generation, pool, end, c_end, runner, stats });
        self.workers.push(Worker { number: self.hired, r: side(mine), c });
    }

    /// A side of a worker.
    fn side(&mut self, input: &mut Input) -> Option<&mut Side> {
        let of_c = input.byte() & 1 == 1;
        let at = self.a_worker(input)?;
        let worker = &mut self.workers[at];
        Some(if of_c { worker.c.as_mut().unwrap_or(&mut worker.r) } else { &mut worker.r })
    }

    /// A worker looks for what it is to do.
    fn takes(&mut self, input: &mut Input) {
        let Some(side) = self.side(input) else { return };
        let read = |word, bytes: &[u8]| (RequestId::from_word(word), bytes.to_vec());
        while let Some((id, message)) = side.end.requests.receive(&mut side.assembler, read) {
            if Order::decode(&message).is_none() && side.end.slots.start(id) {
                let number = message.first_chunk().expect("a request that was made here");
                side.has.push((id, u32::from_ne_bytes(*number)));
                return;
            }
        }
    }

    /// A worker says something: its answer, or what it must not.
    fn says(&mut self, input: &mut Input) {
        let Some(side) = self.side(input) else { return };
        let (what, which) = (input.byte(), usize::from(input.byte()));
        let at = which.checked_rem(side.has.len());
        let own = at.map(|at| side.has[at]);
        let anything = RequestId { slot: (which & 3) as u32, generation: (which >> 2) as u32 };
        let id = own.map_or(anything, |(id, _)| id);
        let (mut message, mut said) = (Vec::new(), None);
        let head = ReplyHead { status: 200 + u16::from(what >> 4), content_type: ContentType::Text };
        match what & 15 {
            0..=6 => {
                let Some((_, number)) = own else { return };
                said = at;
                head.encode(ReplyBody::Bytes(&number.to_ne_bytes()), std::iter::empty, &mut message);
                wire::stamp(&mut message, u32::from(input.word()));
            }
            // its answer comes later
            7 => {}
            8 => {
                said = at;
                let file = File::open("/proc/self/status").expect("this process");
                // without room it is not sent, as in a worker
                let _ = side.end.files.send(id, file.as_fd());
                head.encode(ReplyBody::Spooled, std::iter::empty, &mut message);
            }
            9 => head.encode(ReplyBody::Stream, std::iter::empty, &mut message),
            10 => Part::Piece(&[b'.'; 20_000][..usize::from(input.word()) % 20_000]).encode(&mut message),
            11 => {
                said = at;
                Part::End { whole: which & 1 == 0, micros: 7, trailers: b"" }.encode(&mut message);
            }
            12 => message.extend_from_slice(input.bytes(usize::from(what >> 4))),
            13 => {
                head.encode(ReplyBody::Bytes(LIE), std::iter::empty, &mut message);
                return say(side, anything, &message);
            }
            // the same answer again
            14 => head.encode(ReplyBody::Bytes(LIE), std::iter::empty, &mut message),
            _ if which & 1 == 0 => return side.end.server_bell.ring(),
            _ => Notice::Links(HINT).encode(&mut message),
        }
        say(side, id, &message);
        if let Some(at) = said {
            side.has.swap_remove(at);
        }
    }

    /// Polls the requests whose wakers were called, or all, and checks their outcomes.
    fn collect(&mut self, woken_only: bool) {
        let mut streams = Vec::new();
        self.asked.retain_mut(|asked| {
            let was_woken = asked.woken.0.swap(false, Relaxed);
            if woken_only && !was_woken {
                return true;
            }
            let waker = Waker::from(asked.woken.clone());
            let mut poll = || Pin::new(&mut asked.ticket).poll(&mut Context::from_waker(&waker));
            let polled = loop {
                match poll() {
                    Poll::Ready(Outcome::Notice(notice)) => {
                        assert!(was_woken, "{} has a notice, and was not told", asked.number);
                        assert_eq!(Notice::decode(&notice), Ok(Notice::Links(HINT)));
                    }
                    polled => break polled,
                }
            };
            match polled {
                Poll::Pending => true,
                Poll::Ready(outcome) => {
                    assert!(was_woken, "{} has its outcome, and was not told", asked.number);
                    match outcome {
                        Outcome::Reply(message, ..) => is_its_own(asked.number, &message),
                        Outcome::Stream(_, reader) => streams.push(reader),
                        Outcome::Ending => panic!("the server does not end"),
                        Outcome::OfItself(_) => panic!("no request comes from a socket"),
                        Outcome::Notice(_) => panic!("a notice is no outcome"),
                        Outcome::Late(..) | Outcome::WorkerDied(_) | Outcome::Stale | Outcome::Full => {}
                    }
                    false
                }
            }
        });
        self.streams.append(&mut streams);
    }

    /// What holds at any time.
    fn check(&mut self) {
        self.thread.listens();
        self.collect(true);
        let left = self.thread.left();
        assert_eq!(left.outstanding, self.asked.len(), "requests that are out");
        assert_eq!(left.entries, self.asked.len(), "requests that are known");
        assert!(left.numbers <= left.entries && left.waiting <= left.entries, "{left:?}");
        assert!(left.seats <= self.hired as usize);
        while let Ok(event) = self.events.try_recv() {
            if let PoolEvent::Retired(worker) = event {
                assert!(!self.retired.contains(&worker), "{worker} was retired before");
                self.retired.push(worker);
            }
        }
    }

    /// All workers end, and the time of all requests is over.
    fn ends(mut self) {
        self.collect(false);
        for Worker { number, .. } in self.workers.drain(..) {
            self.thread.pool().gone(number);
        }
        self.check();
        set_now(self.now + 70_000);
        self.thread.expires();
        self.streams.clear();
        self.check();
        self.collect(false);
        assert_eq!(self.asked.len(), 0, "requests without an outcome");
        assert_eq!(self.thread.left(), Left::default());
    }
}

fn say(side: &mut Side, id: RequestId, message: &[u8]) {
    // what finds no room is not said
    side.end.replies.send(id.to_word(), message, &mut Sending::default());
    side.end.server_bell.ring();
}

fn is_its_own(number: u32, message: &[u8]) {
    let Ok(Reply { body: ReplyBody::Bytes(body), .. }) = Reply::decode(message) else { return };
    assert!(body == LIE || body == number.to_ne_bytes(), "{number} has the answer {body:?}");
}

fn nobody() -> Waker {
    Waker::from(Arc::new(Woken(AtomicBool::new(false))))
}

/// A process that has ended, and that signals find nevertheless.
fn dead() -> Arc<OwnedFd> {
    static DEAD: OnceLock<Arc<OwnedFd>> = OnceLock::new();
    let dead = || {
        let child = Command::new("true").spawn().expect("a process");
        let pid = Pid::from_raw(child.id() as i32).expect("its number");
        Arc::new(pidfd_open(pid, PidfdFlags::empty()).expect("its descriptor"))
    };
    DEAD.get_or_init(dead).clone()
}

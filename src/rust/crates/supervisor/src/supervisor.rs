//! The supervisor: one thread that knows all processes, sleeps until something happens to one of them, and acts.
//!
//! It waits in poll(2) for the control channels, the ends of processes, and an alarm that other threads sound; all
//! that it knows is its own, and one thing is done after the other. What is done about what, by file: `zygotes` (news
//! and ends of zygotes), `staff` (starts, news and ends of workers), `turnover` (how many workers, and for how long),
//! `generations` (loading the app and taking over), `inspection` (workers that look at themselves), `ending` (failure
//! and stop). Decisions that need no process are in `policy`.

use crate::alarm::Alarm;
use crate::asker::Asker;
use crate::board::{Board, Note};
use crate::ended::Ended;
use crate::generation::Generation;
use crate::leftovers::Leftovers;
use crate::options::LONGEST;
use crate::outlet::Outlet;
use crate::policy::{Backoff, PoolSize, Reason};
use crate::stage::Stage;
use crate::worker_handle::{Phase, WorkerHandle};
use crate::zygote::Zygote;
use crate::{Event, PoolOptions, Source};
use engine::{Level, Log, Metrics, Pool, PoolEvent, Restart, Server, WorkerState};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedReceiver;
use wire::control::Inspection;

/// What the supervisor is told by its owner.
#[derive(Debug)]
pub enum Command {
    /// load the app anew
    Reload(Source),
    /// here is a zygote for the present generation
    Adopt(Source),
    /// have the worker with this process id look at itself
    Inspect(i32, Inspection, Asker),
    /// shut down gracefully, within this many seconds; `None` for `graceful_timeout` of the options
    Stop(Option<f64>),
    /// end now
    End,
    /// a fresh worker in the place of this process
    Replace(i32),
    /// somebody wants the app loaded anew
    WantReload,
}

/// See the module.
pub struct Supervisor {
    pub(crate) server: Server,
    pub(crate) pool: Pool,
    pub(crate) log: Log,
    metrics: Option<Arc<Metrics>>,
    pub(crate) options: PoolOptions,
    /// variables of processes that are started
    pub(crate) told: Vec<(OsString, OsString)>,
    outlet: Outlet,
    /// events that are told when the board has been written
    untold: Vec<Event>,
    pub(crate) stage: Stage,
    pub(crate) workers: BTreeMap<u32, WorkerHandle>,
    pub(crate) zygotes: BTreeMap<u32, Zygote>,
    pub(crate) generations: BTreeMap<u32, Generation>,
    /// the generation that requests go to
    pub(crate) current: Option<u32>,
    /// what is to be loaded after what is being loaded now
    pub(crate) next_reload: Option<Source>,
    /// ended workers whose exit status the zygote has not reported yet
    pub(crate) unexplained: Vec<Ended>,
    pub(crate) leftovers: Leftovers,
    pub(crate) size: PoolSize,
    pub(crate) deaths: Backoff,
    pub(crate) forks: Backoff,
    /// workers to be replaced, one after the other, and the one whose replacement is being started
    pub(crate) worn: VecDeque<(u32, Reason)>,
    pub(crate) replacing: Option<u32>,
    /// when to check next for unused workers, for workers that hold too much memory, and for workers to start
    pub(crate) look_for_unused: Instant,
    pub(crate) look_at_memory: Instant,
    pub(crate) look_at_staff: Option<Instant>,
    last_number: u32,
    pub(crate) last_generation: u32,
    commands: Receiver<Command>,
    pool_events: UnboundedReceiver<PoolEvent>,
    alarm: Arc<Alarm>,
    waker: Waker,
    board: Arc<Board>,
}

/// What poll(2) watches.
#[derive(Clone, Copy)]
enum Watched {
    Alarm,
    ZygoteChannel(u32),
    WorkerLoader(u32),
    WorkerChannel(u32),
    ZygoteEnd(u32),
    WorkerEnd(u32),
}

impl Supervisor {
    /// One that has no processes yet.
    ///
    /// # Errors
    /// When another has the pool already.
    pub fn new(
        server: Server,
        options: PoolOptions,
        (told, uploads): (Vec<(OsString, OsString)>, PathBuf),
        commands: Receiver<Command>,
        alarm: Arc<Alarm>,
        board: Arc<Board>,
        outlet: Outlet,
    ) -> io::Result<Supervisor> {
        let now = Instant::now();
        let pool = server.pool().clone();
        let pool_events = pool.events().ok_or_else(|| io::Error::other("the pool has a supervisor already"))?;
        Ok(Supervisor {
            pool,
            log: server.log().clone(),
            metrics: server.metrics(),
            size: PoolSize::new(options.n_min, options.n_max),
            told,
            outlet,
            untold: Vec::new(),
            stage: Stage::Starting,
            workers: BTreeMap::new(),
            zygotes: BTreeMap::new(),
            generations: BTreeMap::new(),
            current: None,
            next_reload: None,
            unexplained: Vec::new(),
            leftovers: Leftovers::new(uploads),
            deaths: Backoff::of_deaths(),
            forks: Backoff::of_forks(),
            worn: VecDeque::new(),
            replacing: None,
            look_for_unused: now,
            look_at_memory: now,
            look_at_staff: None,
            last_number: 0,
            last_generation: 0,
            commands,
            pool_events,
            waker: Waker::from(alarm.clone()),
            alarm,
            board,
            options,
            server,
        })
    }

    /// Starts the processes and looks after them until the end, which is told last.
    pub fn run(mut self, source: Source) {
        self.prepare(source, self.options.n_min);
        let last = loop {
            self.staff(Instant::now());
            self.write_board();
            self.untold.drain(..).for_each(|event| self.outlet.send(event));
            if let Some(event) = self.is_over() {
                break event;
            }
            self.wait();
            self.look_at_clock(Instant::now());
        };
        let Supervisor { server, outlet, .. } = self;
        // the port is free when the end is told
        drop(server);
        outlet.send(last);
    }

    /// Tells the owner, once the board has been written: whoever hears of it finds there what it is about.
    pub(crate) fn notify(&mut self, event: Event) {
        self.untold.push(event);
    }

    /// A number that no process or generation of this server has had.
    pub(crate) fn next_number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    /// A worker has been replaced, or is to be.
    pub(crate) fn count_restart(&self, why: Restart) {
        if let Some(metrics) = &self.metrics {
            metrics.workers.restarts(why);
        }
    }

    /// R has collected garbage in a worker so often, which took so long.
    pub(crate) fn count_collections(&self, n: u32, micros: u32) {
        if let Some(metrics) = &self.metrics {
            metrics.workers.collected(n, micros);
        }
    }

    pub(crate) fn info(&self, text: &str) {
        self.log.line(Level::Info, text);
    }

    pub(crate) fn error(&self, text: &str) {
        self.log.line(Level::Error, text);
    }

    /// Sleeps until something happens or is due, and deals with what has happened.
    fn wait(&mut self) {
        let due = self.next_due();
        let mut watched = Vec::new();
        let mut fds = Vec::new();
        let mut watch = |what, fd| {
            watched.push(what);
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        };
        watch(Watched::Alarm, self.alarm.as_fd());
        // what a process has said comes before its end, and what the zygote says of a worker before what the worker
        // says
        for (&key, zygote) in &self.zygotes {
            if zygote.loader.open {
                watch(Watched::ZygoteChannel(key), zygote.loader.as_fd());
            }
        }
        for (&id, worker) in &self.workers {
            if let Some(loader) = worker.loader.as_ref().filter(|loader| loader.open) {
                watch(Watched::WorkerLoader(id), loader.as_fd());
            }
            if let Some(channel) = worker.readable() {
                watch(Watched::WorkerChannel(id), channel);
            }
        }
        for (&key, zygote) in &self.zygotes {
            watch(Watched::ZygoteEnd(key), zygote.process.as_fd());
        }
        for (&id, worker) in &self.workers {
            if let Some(process) = &worker.process {
                watch(Watched::WorkerEnd(id), process.as_fd());
            }
        }
        let timeout = due.map(|due| {
            let left = due.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) }
        });
        // interrupted by a signal, it comes back at once
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return;
        }
        let happened: Vec<Watched> =
            watched.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(what, _)| what).collect();
        let now = Instant::now();
        // why the engine has killed a worker, before the end of that worker
        self.receive_from_pool(now);
        for what in happened {
            match what {
                Watched::Alarm => self.alarm.hear(),
                Watched::ZygoteChannel(key) => self.receive_from_zygote(key, now),
                Watched::WorkerLoader(id) => self.receive_from_loader(id, now),
                Watched::WorkerChannel(id) => self.receive_from_worker(id, now),
                Watched::ZygoteEnd(key) => self.zygote_ended(key, now),
                Watched::WorkerEnd(id) => self.worker_ended(id, None, now),
            }
        }
        self.run_commands(now);
    }

    fn run_commands(&mut self, now: Instant) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Reload(source) => self.reload(source),
                Command::Adopt(source) => self.adopt(source, now),
                Command::Inspect(pid, what, asker) => self.inspect(pid, what, asker, now),
                Command::Stop(graceful_timeout) => self.stop(graceful_timeout, now),
                Command::End => self.stop_now(now),
                Command::Replace(pid) => self.replace_process(pid),
                Command::WantReload => self.notify(Event::ReloadWanted),
            }
        }
    }

    fn receive_from_pool(&mut self, now: Instant) {
        let waker = self.waker.clone();
        // the waker sounds the alarm when the next event comes
        while let Poll::Ready(Some(event)) = self.pool_events.poll_recv(&mut Context::from_waker(&waker)) {
            match event {
                PoolEvent::Pressure { waiting, .. } => self.grow(waiting, now),
                PoolEvent::Retired(worker) => self.retired(worker, now),
                PoolEvent::Drained(generation) => self.drained(generation),
                PoolEvent::Worn(worker) => self.worn_out(worker),
                PoolEvent::Late { worker, request } => self.replace(worker, Reason::Late(request)),
                PoolEvent::Blocked { worker, request } => self.replace(worker, Reason::Blocked(request)),
                PoolEvent::Stuck { worker, request } => {
                    self.stuck(worker, format!("request {request:016x} did not answer its interrupt"));
                }
                PoolEvent::Unresponsive { worker, left_by: Some(request) } => {
                    self.stuck(
                        worker,
                        format!("what request {request:016x} left to do, for a stream or a promise, did not return"),
                    );
                }
                PoolEvent::Unresponsive { worker, left_by: None } => {
                    self.stuck(worker, "a callback, such as one of later(), did not return".to_owned());
                }
                PoolEvent::GivenUp(worker) => self.stuck(worker, "a C handler did not return".to_owned()),
            }
        }
    }

    /// When the clock must be looked at next.
    fn next_due(&self) -> Option<Instant> {
        let mut due: Vec<Instant> = self.workers.values().filter_map(|w| w.deadline).collect();
        due.extend(self.zygotes.values().filter_map(|z| z.deadline));
        due.extend(self.unexplained.iter().map(|e| e.deadline));
        due.extend(self.generations.values().filter_map(Generation::due));
        due.extend(self.look_at_staff);
        due.extend(self.inspections_due());
        due.extend(self.turnover_due());
        due.extend(self.ending_due());
        due.into_iter().min()
    }

    fn look_at_clock(&mut self, now: Instant) {
        self.look_at_workers(now);
        self.look_at_zygotes(now);
        self.look_at_generations(now);
        self.look_at_inspections(now);
        self.look_at_turnover(now);
        self.look_at_ending(now);
    }

    fn write_board(&self) {
        let note = |worker: &WorkerHandle| {
            let state = match worker.phase {
                Phase::Starting => WorkerState::Starting,
                Phase::Serving => WorkerState::Idle,
                Phase::Retiring | Phase::Stopping(_) => WorkerState::Retiring,
            };
            Some(Note {
                process: worker.process.clone()?,
                generation: worker.generation,
                state,
                stats: worker.stats.clone(),
                since: worker.since,
            })
        };
        self.board.write(self.workers.values().filter_map(note).collect());
    }

    /// When what starts now has to be there. Later than anybody waits where that has no end: a clock may hold no more.
    pub(crate) fn start_deadline(&self, now: Instant) -> Instant {
        let most = self.options.start_timeout;
        Self::after(now, if most > 0.0 { most } else { LONGEST })
    }

    /// `now` plus a number of seconds from the options.
    pub(crate) fn after(now: Instant, seconds: f64) -> Instant {
        now + Duration::from_secs_f64(seconds)
    }
}

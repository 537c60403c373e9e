//! The supervisor: one thread that knows all processes, sleeps until something happens to one of them, and acts.
//!
//! It waits in poll(2) for the control channels, the ends of processes, and an alarm that other threads sound; all
//! that it knows is its own, and one thing is done after the other. What it knows has files of its own: `staff`,
//! `generations`, `pools`, `reports`, `inbox`. What is done about what, by file: `zygotes` (news and ends of
//! zygotes), `workers` (starts, news and ends of workers), `turnover` (how many workers, and for how long), `visitors`
//! (workers for one visitor each), `takeover`
//! (loading the app and taking over), `rest` (an app that is loaded when it is asked for), `inspection` (workers that
//! look at themselves), `ending` (failure and stop).
//! Decisions that need no process are in `policy`.

use crate::generations::Generations;
use crate::inbox::{Command, Inbox};
use crate::leftovers::Leftovers;
use crate::options::LONGEST;
use crate::os::available;
use crate::policy::Reason;
use crate::pools::{OnePool, Pools};
use crate::reports::Reports;
use crate::source::Launch;
use crate::staff::Staff;
use crate::stage::Stage;
use crate::zygote::Zygote;
use crate::{Event, PoolOptions, Source};
use engine::{PoolEvent, Server};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// See the module.
pub struct Supervisor {
    pub(crate) server: Server,
    pub(crate) options: PoolOptions,
    /// variables of processes that are started
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) leftovers: Leftovers,
    pub(crate) reports: Reports,
    inbox: Inbox,
    pub(crate) stage: Stage,
    pub(crate) staff: Staff,
    pub(crate) zygotes: BTreeMap<u32, Zygote>,
    pub(crate) generations: Generations,
    pub(crate) pools: Pools,
    /// bytes that were free at the start
    memory: u64,
    last_number: u32,
    /// how the app was last started, where that is by a program
    pub(crate) launch: Option<Launch>,
    /// how often the app could not be loaded, one time after the other, and when it is tried again
    pub(crate) failed_loads: u32,
    pub(crate) retry: Option<Instant>,
}

/// What poll(2) watches.
#[derive(Clone, Copy)]
enum Watched {
    Inbox,
    ZygoteChannel(u32),
    WorkerLoader(u32),
    WorkerChannel(u32),
    ZygoteEnd(u32),
    WorkerEnd(u32),
}

impl Supervisor {
    /// One that has no processes yet.
    pub fn new(
        server: Server,
        options: PoolOptions,
        (variables, uploads): (Vec<(OsString, OsString)>, PathBuf),
        inbox: Inbox,
        reports: Reports,
    ) -> Supervisor {
        // before it listens: whoever comes first waits for the app
        match (options.n_min, options.loads_on_request()) {
            (0, _) => server.pool().sleeps(),
            (_, true) => server.pool().starts(),
            (_, false) => {}
        }
        let memory = available();
        let for_requests = options.for_requests(options.most_workers(memory));
        Supervisor {
            variables,
            leftovers: Leftovers::new(uploads),
            reports,
            inbox,
            stage: Stage::Starting,
            staff: Staff::new(),
            zygotes: BTreeMap::new(),
            generations: Generations::default(),
            pools: Pools::new(OnePool::new("", options.clone(), for_requests, Instant::now())),
            memory,
            last_number: 0,
            launch: None,
            failed_loads: 0,
            retry: None,
            options,
            server,
        }
    }

    /// Starts the processes and looks after them until the end, which is told last.
    pub fn run(mut self, source: Source) {
        self.begin(source);
        // from now on it is woken for the next event of the pool: nothing else may happen for long
        self.receive_from_pool(Instant::now());
        let last = loop {
            self.hire(Instant::now());
            self.reports.publish(self.staff.iter().filter_map(|(_, worker)| worker.note()).collect());
            if let Some(event) = self.is_over() {
                break event;
            }
            self.wait();
            self.look_at_clock(Instant::now());
        };
        // of several apps the others may go on
        self.ends_for_good(Instant::now());
        let Supervisor { server, reports, .. } = self;
        // the port is free when the end is told
        drop(server);
        reports.end(last);
    }

    /// A number that no process or generation of this server has had.
    pub(crate) fn next_number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
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
        watch(Watched::Inbox, self.inbox.as_fd());
        // what a process has said comes before its end, and what the zygote says of a worker before what the worker
        // says
        for (&key, zygote) in &self.zygotes {
            if zygote.loader.open {
                watch(Watched::ZygoteChannel(key), zygote.loader.as_fd());
            }
        }
        for (id, worker) in self.staff.iter() {
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
        for (id, worker) in self.staff.iter() {
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
                Watched::Inbox => self.inbox.drain(),
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
        while let Some(command) = self.inbox.next_command() {
            match command {
                Command::Reload(source) => self.reload(source),
                Command::Adopt(source) => self.adopt(source, now),
                Command::Scale(pool, n_min, n_max) => self.scale(&pool, n_min, n_max, now),
                Command::Inspect(pid, what, asker) => self.inspect(pid, what, asker, now),
                Command::Stop(graceful_timeout) => self.stop(graceful_timeout, now),
                Command::End => self.stop_now(now),
                Command::Replace(pid) => self.replace_process(pid),
                Command::WantReload => self.reports.notify(Event::ReloadWanted),
            }
        }
    }

    fn receive_from_pool(&mut self, now: Instant) {
        while let Some(event) = self.inbox.next_pool_event() {
            match event {
                PoolEvent::Pressure { pool, waiting, ready, .. } => self.grow(pool, waiting, ready, now),
                PoolEvent::ShortWaits(pool) => self.short_waits(pool, now),
                PoolEvent::Wanted => self.wanted(),
                PoolEvent::Retired(worker) => self.retired(worker, now),
                PoolEvent::Drained { generation, pool } => self.drained(generation, pool),
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
        let mut due: Vec<Instant> = self.zygotes.values().filter_map(|zygote| zygote.deadline).collect();
        due.extend(self.staff.due());
        due.extend(self.generations.due());
        due.extend(self.inspections_due());
        due.extend(self.turnover_due());
        due.extend(self.ending_due());
        due.extend(self.retry.filter(|_| self.stage.is_serving()));
        due.into_iter().min()
    }

    fn look_at_clock(&mut self, now: Instant) {
        self.look_at_workers(now);
        self.look_at_zygotes(now);
        self.look_at_generations(now);
        self.look_at_inspections(now);
        self.look_at_turnover(now);
        self.look_at_rest(now);
        self.look_at_ending(now);
    }

    /// See [`PoolOptions::most_workers`].
    pub(crate) fn most_workers(&self) -> usize {
        self.options.most_workers(self.memory)
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

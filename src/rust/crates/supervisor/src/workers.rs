//! Workers: starting as many as there should be, what they tell, and what follows when one ends.

use crate::ended::Ended;
use crate::generation::{Generation, GenerationStage};
use crate::os::{Exit, Process};
use crate::policy::Wear;
use crate::pools::MAIN;
use crate::supervisor::Supervisor;
use crate::worker_handle::{Phase, Pressed, WorkerHandle};
use crate::zygote::Zygote;
use crate::Failure;
use engine::{Level, Restart, Runner, Seat};
use rustix::io::Errno;
use shm::{Channel, LinkFds, ServerEnd};
use std::io;
use std::time::{Duration, Instant};
use wire::control::{WorkerNews, ZygoteNews, ZygoteOrder};

/// How long the zygote's word about the end of a worker is waited for.
const EXPLANATION: Duration = Duration::from_millis(500);
/// How long a process may take to end that has closed its channel or said that it will end.
const LEAVING: Duration = Duration::from_secs(1);
/// How long a worker may take to end after SIGTERM.
const TERMINATION: Duration = Duration::from_secs(2);
/// Messages that are read from one worker at a time, so that one that talks without end does not keep others waiting.
const AT_A_TIME: usize = 64;

impl Supervisor {
    /// Starts workers where there are fewer than there should be.
    pub(crate) fn hire(&mut self, now: Instant) {
        self.staff.unblock();
        if !self.stage.needs_staff() {
            return self.pools.numbers().for_each(|pool| self.server.pool().set_growable(pool, false));
        }
        self.look_at_visitors();
        for pool in self.pools.numbers() {
            self.relieve(pool);
            self.reduce(pool);
        }
        for number in self.generations.numbers() {
            let pools = self.generations.get(number).map_or(0, Generation::pools);
            (0..pools).for_each(|pool| self.hire_for(number, pool, now));
        }
        self.pools.numbers().for_each(|pool| self.tell_of_growth(pool));
    }

    /// The same of a pool of a generation.
    fn hire_for(&mut self, number: u32, pool: u8, now: Instant) {
        let Some(generation) = self.generations.get(number) else { return };
        let wanted = match generation.stage {
            GenerationStage::Preparing { of, .. } => self.wanted_at_first(generation, pool, of),
            GenerationStage::Serving => self.pools.get(pool).map_or(0, |pool| pool.recycling.target()),
            // what waits for it must not wait for ever when its last worker has died
            GenerationStage::Draining { dry } => usize::from(!dry && !generation.is_dry(pool)),
        };
        // those that end count, too: they were retired because nothing waits
        let draining = matches!(generation.stage, GenerationStage::Draining { .. });
        let counts = |(id, worker): &(u32, &WorkerHandle)| {
            worker.pool == pool && (draining || worker.is_staff()) && !self.pools.is_replaced(*id)
        };
        let missing = wanted.saturating_sub(self.staff.of(number).filter(counts).count());
        let most = self.pools.main().recycling.sessions().most_processes();
        let missing = missing.min(most.saturating_sub(self.staff.of(number).count()));
        // one that prepares fails with its first worker instead of waiting
        if missing == 0 || !generation.is_preparing() && self.staff.is_blocked(now) {
            return;
        }
        for _ in 0..missing {
            if !self.start_worker(number, pool, now) {
                break;
            }
        }
    }

    /// Tells the engine whether there may be more workers of a pool of the app that serves.
    fn tell_of_growth(&mut self, number: u8) {
        let Some(pool) = self.pools.get(number) else { return };
        let of_current = self.generations.current().into_iter().flat_map(|current| self.staff.of(current));
        let staff = of_current.filter(|(_, worker)| worker.pool == number && worker.is_staff()).count();
        let for_requests = pool.options.for_requests(self.most_workers());
        let staff = pool.recycling.without_express(staff);
        let may_grow = pool.recycling.sessions().may_grow(staff, for_requests);
        self.server.pool().set_growable(number, may_grow);
        self.tell_of_express(number, may_grow);
    }

    /// Starts one worker; `false` when that is not possible now.
    fn start_worker(&mut self, number: u32, pool: u8, now: Instant) -> bool {
        let Some(generation) = self.generations.get(number) else { return false };
        let spawns = generation.spawns;
        if !spawns && !self.zygote_of(number).is_some_and(|zygote| zygote.loader.loaded) {
            return false;
        }
        let launch = generation.launch.clone();
        let name = generation.app.as_ref().and_then(|app| app.name_of_pool(pool));
        let pool_name = name.unwrap_or_default().to_owned();
        let id = self.next_number();
        let worker = WorkerHandle { pool_name, ..WorkerHandle::new(number, pool, now, self.start_deadline(now)) };
        self.staff.add(id, worker);
        let started = match launch.filter(|_| spawns) {
            Some(launch) => launch.start(self.leftovers.scratch(id), self.server.state()).map(|(loader, process)| {
                if let Some(worker) = self.staff.get_mut(id) {
                    worker.loader = Some(loader);
                    worker.pid = Some(process.pid());
                    worker.process = Some(process);
                }
            }),
            None => self.order(id, number),
        };
        if let Err(e) = started {
            self.fork_failed(number, Some(id), &format!("cannot start a worker: {e}"), now);
            return false;
        }
        true
    }

    /// A process that has loaded the app is a worker from now on, instead of a zygote.
    pub(crate) fn first_worker(&mut self, zygote: Zygote, now: Instant) {
        let id = self.next_number();
        let number = zygote.generation;
        let mut worker = WorkerHandle::new(number, MAIN, now, self.start_deadline(now));
        worker.pid = Some(zygote.process.pid());
        (worker.process, worker.loader) = (Some(zygote.process), Some(zygote.loader));
        self.staff.add(id, worker);
        self.make_worker(id, number, now);
    }

    /// Has the process that has loaded the app become a worker, if that is possible.
    fn make_worker(&mut self, id: u32, generation: u32, now: Instant) {
        if let Err(e) = self.order(id, generation) {
            self.fork_failed(generation, Some(id), &format!("cannot start a worker: {e}"), now);
        }
    }

    /// Gives a worker its link and control channel, by way of the process that is to fork or become it.
    fn order(&mut self, id: u32, generation: u32) -> io::Result<()> {
        let (ours, theirs) = Channel::pair()?;
        let (end, link) = ServerEnd::new()?;
        let in_c = self.generations.get(generation).is_some_and(Generation::has_c_handlers);
        let c = in_c.then(ServerEnd::new).transpose()?;
        let (c_end, c_link) = c.unzip();
        let links: Vec<&LinkFds> = [&link].into_iter().chain(&c_link).collect();
        let zygote = self.generations.get(generation).and_then(|g| g.zygote).and_then(|z| self.zygotes.get(&z));
        let has_timers = self.has_timers(generation);
        let Some(worker) = self.staff.get_mut(id) else { return Ok(()) };
        let pool = worker.pool;
        let timers = pool == MAIN && !has_timers;
        let (loader, order) = match (&worker.loader, zygote) {
            (Some(loader), _) => (loader, ZygoteOrder::Become { worker: id, generation, timers, pool: pool.into() }),
            (None, Some(zygote)) => {
                (&zygote.loader, ZygoteOrder::Fork { worker: id, generation, timers, pool: pool.into() })
            }
            (None, None) => return Err(io::Error::other("there is no zygote")),
        };
        loader.order(order, &theirs, &links)?;
        (worker.channel, worker.end, worker.c_end) = (Some(ours), Some(end), c_end);
        worker.timers = timers;
        Ok(())
    }

    /// Whether a worker of this generation has the app's timers, and is not about to go.
    fn has_timers(&self, generation: u32) -> bool {
        let has =
            |(id, worker): (u32, &WorkerHandle)| worker.timers && worker.is_staff() && !self.pools.is_replaced(id);
        self.staff.of(generation).any(has)
    }

    /// A worker cannot be made: neither the zygote nor the system is to be tried too often.
    pub(crate) fn fork_failed(&mut self, generation: u32, worker: Option<u32>, why: &str, now: Instant) {
        if let Some(mut worker) = worker.and_then(|worker| self.staff.remove(worker)) {
            worker.kill("it could not be started");
        }
        if self.generations.is_preparing(generation) {
            return self.generation_failed(generation, Failure::System, why.to_owned(), now);
        }
        let setback = self.staff.not_made(now);
        if setback.is_news {
            self.reports.error(&format!("{why}; tried again in {} s", setback.wait.as_secs_f64()));
        }
    }

    /// The zygote has forked a worker.
    pub(crate) fn forked(&mut self, id: u32, pid: i32, now: Instant) {
        let process = Process::open(pid);
        let Some(worker) = self.staff.get_mut(id) else {
            // it is not wanted any more
            return process.iter().for_each(Process::kill);
        };
        worker.pid = Some(pid);
        match process {
            Ok(process) => {
                worker.process = Some(process);
                match worker.phase {
                    // it was not wanted any more before it was there
                    Phase::Stopping(Pressed::Killed) => worker.kill("it is not needed any more"),
                    _ => self.seat(id, now),
                }
            }
            // it has ended before it could be looked at
            Err(e) if e.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => self.worker_ended(id, None, now),
            Err(e) => {
                let generation = worker.generation;
                self.fork_failed(generation, Some(id), &format!("cannot watch a worker: {e}"), now);
            }
        }
    }

    /// Reads what a fresh process has sent before it is a worker.
    pub(crate) fn receive_from_loader(&mut self, id: u32, now: Instant) {
        let mut message = Vec::new();
        while let Some(loader) = self.staff.get_mut(id).and_then(|worker| worker.loader.as_mut()) {
            if !loader.receive(&mut message) {
                break;
            }
            let failure = match ZygoteNews::decode(&message) {
                Ok(ZygoteNews::App(piece)) => loader.add_piece(piece).err(),
                Ok(ZygoteNews::Loaded) => match loader.finish() {
                    Ok(app) => {
                        self.worker_loaded(id, app, now);
                        None
                    }
                    Err(why) => Some(why),
                },
                Ok(ZygoteNews::LoadFailed(why)) => Some(why.to_owned()),
                // what it holds is its own
                Ok(_) => None,
                Err(e) => Some(format!("it sent nonsense: {e}")),
            };
            if let Some(why) = failure {
                self.worker_failed(id, Failure::Load, why, now);
            }
        }
    }

    /// A fresh process has loaded the app and can become a worker.
    fn worker_loaded(&mut self, id: u32, app: engine::AppConfig, now: Instant) {
        let Some(worker) = self.staff.get(id) else { return };
        let (number, since) = (worker.generation, worker.since);
        let Some(generation) = self.generations.get(number) else { return };
        match &generation.app {
            None => self.app_known(number, app, since, now),
            Some(known) if known.routes_like(&app) => {}
            Some(_) => return self.app_differs(id, now),
        }
        if self.generations.get(number).is_none() {
            return;
        }
        self.make_worker(id, number, now);
    }

    /// Reads what a worker has sent.
    pub(crate) fn receive_from_worker(&mut self, id: u32, now: Instant) {
        let mut message = Vec::new();
        for _ in 0..AT_A_TIME {
            let Some(worker) = self.staff.get_mut(id) else { return };
            if !worker.receive(&mut message) {
                break;
            }
            match WorkerNews::decode(&message) {
                Ok(WorkerNews::Ready) => {
                    worker.ready = true;
                    self.seat(id, now);
                }
                Ok(WorkerNews::StartFailed(why)) => {
                    self.worker_failed(id, Failure::WorkerStart, why.to_owned(), now);
                }
                Ok(WorkerNews::Log { level, text }) => {
                    self.reports.of_worker(Level::from_number(level), worker.pid, text);
                }
                Ok(WorkerNews::Heap { collections, micros, bytes }) => {
                    worker.stats.heap.store(bytes, std::sync::atomic::Ordering::Relaxed);
                    self.reports.count_collections(collections, micros);
                }
                Ok(WorkerNews::Report { number, piece, last }) => worker.has_reported(number, piece, last),
                Ok(WorkerNews::NoReport { number, why }) => worker.does_not_report(number, why),
                Err(e) => self.worker_failed(id, Failure::System, format!("it sent nonsense: {e}"), now),
            }
        }
        if let Some(worker) = self.staff.get_mut(id).filter(|worker| !worker.open && !worker.is_stopping()) {
            let soon = now + LEAVING;
            worker.deadline = Some(worker.deadline.map_or(soon, |deadline| deadline.min(soon)));
        }
    }

    /// A worker has said that it cannot serve; it is about to end.
    fn worker_failed(&mut self, id: u32, kind: Failure, why: String, now: Instant) {
        let Some(worker) = self.staff.get_mut(id) else { return };
        let number = worker.generation;
        // its zygote may not have told yet which process it is: then it is told when that ends
        if worker.pid.is_some() && self.generations.is_preparing(number) {
            // before it is said that it was killed, which comes of it
            let text = format!("{} cannot start: {why}", worker.name());
            self.reports.error(&text);
            return self.generation_failed(number, kind, why, now);
        }
        worker.failure = Some(why);
        worker.deadline = Some(now + LEAVING);
    }

    /// Has a worker serve that is ready and whose process is known.
    fn seat(&mut self, id: u32, now: Instant) {
        let Some(worker) = self.staff.get_mut(id) else { return };
        if !worker.ready || worker.phase != Phase::Starting {
            return;
        }
        let Some(process) = &worker.process else { return };
        match self.generations.stage(worker.generation) {
            None | Some(GenerationStage::Draining { dry: true }) => {
                return worker.kill("its app is not served any more");
            }
            _ => {}
        }
        let Some(end) = worker.end.take() else { return };
        let named = (worker.pool != MAIN).then(|| self.options.of_pool(&worker.pool_name));
        let wear =
            Wear::new(named.as_ref().unwrap_or(&self.options), now, u64::from(id) ^ (process.pid() as u64) << 32);
        worker.stats.max_requests.store(wear.requests(), std::sync::atomic::Ordering::Relaxed);
        self.server.pool().attach(Seat {
            worker: id,
            generation: worker.generation,
            pool: worker.pool,
            end,
            c_end: worker.c_end.take(),
            runner: Some(Runner::Process { pid: process.pid(), fd: process.fd().clone() }),
            stats: worker.stats.clone(),
        });
        worker.wear = Some(wear);
        worker.phase = Phase::Serving;
        worker.deadline = None;
        worker.since = now;
        let (name, number) = (worker.name(), worker.generation);
        self.reports.info(&format!("{name} is ready"));
        if let Some(GenerationStage::Preparing { of, .. }) = self.generations.stage(number) {
            self.one_more_ready(number, of, now);
        }
    }

    /// The process of a worker is gone: `exit` says how, when that is known.
    pub(crate) fn worker_ended(&mut self, id: u32, exit: Option<Exit>, now: Instant) {
        // the last it said
        self.receive_from_loader(id, now);
        self.receive_from_worker(id, now);
        let Some(worker) = self.staff.remove(id) else { return };
        if worker.wear.is_some() {
            self.server.pool().gone(id);
        }
        let reaped = worker.process.as_ref().map_or(Exit::Unknown, |process| {
            process.kill();
            self.leftovers.sweep(process.pid());
            process.reap()
        });
        self.pools.forget(id);
        let lived = if worker.wear.is_some() { now - worker.since } else { Duration::ZERO };
        let ended = Ended {
            worker: id,
            name: worker.name(),
            generation: worker.generation,
            expected: worker.is_stopping(),
            because: worker.ended_because,
            failure: worker.failure,
            hung: worker.hung,
            deadline: now + EXPLANATION,
        };
        let preparing = self.generations.is_preparing(ended.generation);
        if !ended.expected && !preparing && self.stage.needs_staff() {
            let setback = self.staff.died(now, lived);
            if setback.is_news {
                let (n, wait) = (setback.failures, setback.wait.as_secs_f64());
                self.reports.error(&format!("workers keep ending ({n} within 10 s): the next one starts in {wait} s"));
            }
        }
        let known = exit.or_else(|| (reaped != Exit::Unknown).then_some(reaped));
        match known {
            Some(exit) => self.conclude(ended, exit, now),
            None if self.zygote_of(ended.generation).is_some() => self.staff.await_explanation(ended),
            None => self.conclude(ended, Exit::Unknown, now),
        }
        self.settle(now);
    }

    /// The zygote has told how a worker has ended.
    pub(crate) fn explained(&mut self, id: u32, exit: Exit, now: Instant) {
        match self.staff.explained(id) {
            Some(ended) => self.conclude(ended, exit, now),
            None => self.worker_ended(id, Some(exit), now),
        }
    }

    /// A generation's zygote is gone: how its workers ended stays unknown, and those still to be forked are dropped.
    pub(crate) fn unborn(&mut self, generation: u32, now: Instant) {
        for ended in self.staff.unexplained_of(generation) {
            self.conclude(ended, Exit::Unknown, now);
        }
        self.staff.forget_unborn(generation);
    }

    /// Says what became of a worker.
    fn conclude(&mut self, ended: Ended, exit: Exit, now: Instant) {
        let Ended { name, generation, expected, because, failure, hung, .. } = ended;
        if expected {
            return self.reports.info(&match (exit, because) {
                // the signal is the server's own
                (Exit::Signal(_) | Exit::Unknown, Some(why)) => format!("{name} was ended: {why}"),
                _ => format!("{name} {exit}"),
            });
        }
        self.reports.count_restart(match exit {
            _ if hung => Restart::Hung,
            _ if failure.is_some() => Restart::Failed,
            Exit::Signal(_) => Restart::Signal,
            Exit::Status(_) => Restart::Exit,
            Exit::Unknown => Restart::Failed,
        });
        match &failure {
            Some(why) => self.reports.error(&format!("{name} {exit}: {why}")),
            // by SIGTERM, or quit()
            None if exit == Exit::Status(0) => self.reports.info(&format!("{name} ended by itself")),
            None => self.reports.error(&format!("{name} {exit}")),
        }
        if self.generations.is_preparing(generation) {
            let why = failure.unwrap_or_else(|| format!("{name} {exit} while it started"));
            self.generation_failed(generation, Failure::WorkerStart, why, now);
        }
    }

    /// It has been killed by the engine, because of this.
    pub(crate) fn stuck(&mut self, id: u32, why: String) {
        if let Some(worker) = self.staff.get_mut(id) {
            worker.failure = Some(why);
            worker.hung = true;
        }
    }

    /// Presses workers whose time is over, and gives up waiting for explanations.
    pub(crate) fn look_at_workers(&mut self, now: Instant) {
        let termination = self.stage.last_grace().unwrap_or(TERMINATION);
        for number in self.staff.press(now, termination, self.options.start_timeout) {
            // a zygote that does not fork is no good
            if let Some(zygote) = self.zygote_of(number) {
                zygote.process.kill();
            }
        }
        for ended in self.staff.given_up(now) {
            self.conclude(ended, Exit::Unknown, now);
        }
    }
}

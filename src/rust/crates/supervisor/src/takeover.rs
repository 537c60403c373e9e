//! Loading the app, and taking over: the first time, at a reload, and when a zygote comes back with another app.

use crate::generation::Generation;
use crate::pools::{OnePool, MAIN};
use crate::source::Launch;
use crate::supervisor::Supervisor;
use crate::worker_handle::Phase;
use crate::{Event, Failure, Parts, Source, Start};
use engine::AppConfig;
use shm::Channel;
use std::io;
use std::time::{Duration, Instant};

impl Supervisor {
    /// Begins a generation that takes over when `of` workers are ready.
    pub(crate) fn prepare(&mut self, source: Source, of: usize) {
        let now = Instant::now();
        match source {
            Source::Command { program, args, env } => {
                let launch = Launch::new(program, args, env, self.variables.clone());
                self.launch = Some(launch.clone());
                self.load(launch, of);
            }
            Source::Zygote { channel, pid } => {
                let number = self.generations.begin(None, false, of, now, self.start_deadline(now));
                let adopted = match self.options.start {
                    Start::Auto | Start::Fork => self.adopt_zygote(number, Channel::from(channel), pid, now),
                    Start::Spawn => Err(io::Error::other("start = \"spawn\" needs an app in a file")),
                };
                self.begun(number, adopted, now);
            }
        }
    }

    /// The same, of a program.
    pub(crate) fn load(&mut self, launch: Launch, of: usize) {
        let now = Instant::now();
        let spawns = self.options.start == Start::Spawn;
        let number = self.generations.begin(Some(launch.clone()), spawns, of, now, self.start_deadline(now));
        // each worker loads the app by itself, or one for all
        let started = if spawns { Ok(()) } else { self.start_zygote(number, &launch, now) };
        self.begun(number, started, now);
    }

    fn begun(&mut self, number: u32, begun: io::Result<()>, now: Instant) {
        if let Err(e) = begun {
            self.generation_failed(number, Failure::System, e.to_string(), now);
        }
    }

    /// The app of a generation has been loaded for the first time.
    pub(crate) fn app_known(&mut self, number: u32, app: AppConfig, since: Instant, now: Instant) {
        if let Err(why) = self.server.pool().add_generation(number, &app, None) {
            return self.generation_failed(number, Failure::Load, why, now);
        }
        let Some(generation) = self.generations.get_mut(number) else { return };
        let parts = Parts::of(&app);
        generation.app = Some(app);
        let seconds = (now - since).as_secs_f64();
        self.reports.notify(Event::Loaded { generation: number, seconds, parts });
    }

    /// A zygote that was restarted has loaded another app than the one before: it begins a generation.
    pub(crate) fn promote(&mut self, key: u32, app: AppConfig, now: Instant) {
        let Some(zygote) = self.zygotes.get_mut(&key) else { return };
        let old = zygote.generation;
        let since = zygote.since;
        let launch = self.generations.get_mut(old).and_then(|generation| {
            generation.zygote = None;
            generation.launch.clone()
        });
        if !self.generations.is_current(old) || self.generations.preparing().is_some() {
            // what is being loaded has the change as well
            return zygote.kill();
        }
        let number = self.begin_changed(launch, false, now);
        if let Some(zygote) = self.zygotes.get_mut(&key) {
            zygote.generation = number;
        }
        if let Some(generation) = self.generations.get_mut(number) {
            generation.zygote = Some(key);
        }
        self.app_known(number, app, since, now);
    }

    /// A fresh worker has loaded another app than the others of its generation.
    pub(crate) fn app_differs(&mut self, id: u32, now: Instant) {
        let Some(worker) = self.staff.get_mut(id) else { return };
        worker.kill("it has loaded another app than those before it");
        let number = worker.generation;
        if self.generations.is_preparing(number) {
            let why = "the app changed while it was loaded".to_owned();
            return self.generation_failed(number, Failure::Load, why, now);
        }
        if self.generations.preparing().is_some() {
            return;
        }
        let Some(old) = self.generations.get(number) else { return };
        self.begin_changed(old.launch.clone(), old.spawns, now);
    }

    /// Begins the generation of an app that has changed by itself, without a reload.
    fn begin_changed(&mut self, launch: Option<Launch>, spawns: bool, now: Instant) -> u32 {
        self.reports.info("the app has changed: its workers are replaced");
        let (of, deadline) = (self.workers_for_takeover(), self.start_deadline(now));
        self.generations.begin(launch, spawns, of, now, deadline)
    }

    /// Loads the app anew.
    pub(crate) fn reload(&mut self, source: Source) {
        if !self.stage.is_serving() {
            return self.reload_failed("the server is starting or stopping".to_owned());
        }
        if self.generations.preparing().is_some() {
            if self.generations.put_off(source) {
                self.reload_failed("another reload came after it".to_owned());
            }
            return;
        }
        self.server.reload_tls();
        self.prepare(source, self.workers_for_takeover());
    }

    fn reload_failed(&mut self, message: String) {
        if self.options.loads_on_request() && self.generations.current().is_none() && self.stage.needs_staff() {
            self.rests_after_failure(&message, Instant::now());
        } else if !self.options.stays {
            // with `stays`, the receiver of the event reports the failure itself
            self.reports.error(&format!("not reloaded: {message}"));
        }
        self.reports.notify(Event::ReloadFailed { message });
    }

    fn reload_next(&mut self) {
        if let Some(source) = self.generations.take_waiting() {
            self.reload(source);
        }
    }

    /// Gives the current generation a zygote.
    pub(crate) fn adopt(&mut self, source: Source, now: Instant) {
        let Some(number) = self.generations.current().filter(|_| self.stage.needs_staff()) else { return };
        let Source::Zygote { channel, pid } = source else { return self.reports.error("a command cannot be adopted") };
        if let Err(e) = self.adopt_zygote(number, Channel::from(channel), pid, now) {
            self.reports.error(&format!("the zygote {pid} cannot be adopted: {e}"));
            self.reports.notify(Event::ZygoteLost);
        }
    }

    /// A generation that prepares has one more worker.
    pub(crate) fn one_more_ready(&mut self, number: u32, of: usize, now: Instant) {
        let ready = self.staff.ready(number);
        let Some(generation) = self.generations.get(number) else { return };
        let wanted = |pool: u8| self.wanted_at_first(generation, pool, of);
        let are_there = (0..generation.pools()).all(|pool| self.staff.ready_in(number, pool) >= wanted(pool));
        let of = (0..generation.pools()).map(wanted).sum();
        self.reports.notify(Event::WorkerReady { ready, of });
        if are_there {
            self.take_over(number, now);
        }
    }

    /// How many workers of a pool a generation has when it takes over: `of` for requests that name no pool; of others
    /// as many as there are now, or the fewest.
    pub(crate) fn wanted_at_first(&self, generation: &Generation, pool: u8, of: usize) -> usize {
        if pool == MAIN {
            return of;
        }
        let Some(name) = generation.app.as_ref().and_then(|app| app.name_of_pool(pool)) else { return 0 };
        match self.pools.named(name) {
            Some((before, one)) => one.recycling.for_takeover(self.staff_in(before).count()),
            None => self.options.of_pool(name).n_min,
        }
    }

    /// The pools of the app that serves from now on.
    fn open_pools(&mut self, number: u32, now: Instant) {
        let app = self.generations.get(number).and_then(|generation| generation.app.as_ref());
        let names = app.map(|app| app.pools.clone()).unwrap_or_default();
        for (name, _) in self.options.named_pools().filter(|(name, _)| !names.iter().any(|known| known == name)) {
            self.reports.info(&format!("no route of the app has `pool = \"{name}\"`: it has no workers"));
        }
        self.reports.set_pools(names.clone());
        let memory = self.most_workers();
        let named = names.iter().map(|name| {
            let options = self.options.of_pool(name);
            let most = options.for_requests(memory);
            OnePool::new(name, options, most, now)
        });
        let named: Vec<OnePool> = named.collect();
        self.pools.replace(named);
        for pool in self.pools.numbers() {
            let ready = self.staff.ready_in(number, pool);
            if let Some(pool) = self.pools.get_mut(pool) {
                pool.recycling.start_over(ready, now);
            }
        }
    }

    /// Requests go to this generation from now on.
    fn take_over(&mut self, number: u32, now: Instant) {
        self.server.pool().switch_to(number);
        self.server.pool().serves();
        let old = self.generations.take_over(number);
        self.open_pools(number, now);
        self.has_recovered();
        self.may_not_rest(number, now);
        if self.stage.is_starting() {
            return self.open(now);
        }
        if let Some(old) = old {
            self.retire_generation(old);
        }
        let how = if old.is_some() { "reloaded" } else { "the app was started" };
        self.reports.info(&format!("{how}: generation {number} serves"));
        self.reports.notify(Event::Reloaded { generation: number });
        self.reload_next();
    }

    /// Another generation has taken the place of this one.
    fn retire_generation(&mut self, number: u32) {
        let pools = self.generations.get(number).map_or(0, Generation::pools);
        for pool in 0..pools {
            self.staff.kill_starting(number, pool, "the app was reloaded before it was ready");
        }
        // the pool retires them as they run dry
        for worker in self.staff.of_mut(number).filter(|worker| worker.phase == Phase::Serving) {
            worker.phase = Phase::Retiring;
        }
    }

    /// A generation that another has taken the place of has no request left for a pool.
    pub(crate) fn drained(&mut self, number: u32, pool: u8) {
        self.generations.drained(number, pool);
        self.staff.kill_starting(number, pool, "its app is not served any more");
        self.settle(Instant::now());
    }

    /// Ends what is left of generations that are dry.
    pub(crate) fn settle(&mut self, now: Instant) {
        for number in self.generations.settle(|number| self.staff.of(number).next().is_some()) {
            for zygote in self.zygotes.values_mut().filter(|zygote| zygote.generation == number) {
                zygote.quit(Self::after(now, self.options.graceful_timeout), false);
            }
        }
    }

    /// A generation does not come about; the one before goes on, if there is one.
    pub(crate) fn generation_failed(&mut self, number: u32, kind: Failure, message: String, now: Instant) {
        let starts = self.stage.is_starting();
        if starts {
            let is_fatal = match kind {
                Failure::Listen => true,
                Failure::System => !self.options.loads_on_request(),
                _ => !self.options.stays && !self.options.loads_on_request(),
            };
            if is_fatal {
                return self.fail(kind, message, now);
            }
            // told first: those who come as soon as it listens are shown why
            self.reload_failed(message.clone());
            self.open(now);
        }
        // when all ends, this one fails of that, and it has been told why
        if !self.stage.needs_staff() {
            return;
        }
        if !self.generations.discard(number) {
            return;
        }
        self.server.pool().drop_generation(number);
        self.staff.of_mut(number).for_each(|worker| worker.kill("its app cannot be served"));
        for zygote in self.zygotes.values_mut().filter(|zygote| zygote.generation == number) {
            zygote.give_up(now, false);
        }
        if !starts {
            self.reload_failed(message);
        }
        self.reload_next();
    }

    /// Restarts zygotes whose time has come, and ends generations that take too long to prepare.
    pub(crate) fn look_at_generations(&mut self, now: Instant) {
        self.report_slow_starts(now);
        for number in self.generations.due_by(now) {
            let Some(generation) = self.generations.get_mut(number) else { continue };
            if generation.is_preparing() {
                if self.staff.ready(number) > 0 {
                    // better few than none
                    self.take_over(number, now);
                } else {
                    let why = format!("no worker was ready within {} s (start_timeout)", self.options.start_timeout);
                    if self.stage.is_starting() {
                        // a reload's failure is told anyway; before what becomes of its workers
                        self.reports.error(&why);
                    }
                    self.generation_failed(number, Failure::WorkerStart, why, now);
                }
                continue;
            }
            generation.restart = None;
            let Some(launch) = generation.launch.clone() else { continue };
            if !self.stage.needs_staff() {
                continue;
            }
            if let Err(e) = self.start_zygote(number, &launch, now) {
                self.reports.error(&format!("no new zygote: {e}"));
                if let Some(generation) = self.generations.get_mut(number) {
                    generation.restart = Some(now + generation.losses.failure(now, Duration::ZERO).wait);
                }
            }
        }
    }

    /// Says of generations that prepare for long that they still do, and how long they may.
    fn report_slow_starts(&mut self, now: Instant) {
        let most = self.options.start_timeout;
        let most = if most > 0.0 { format!("{most} s") } else { "0, for as long as it takes".to_owned() };
        for (doing, took) in self.generations.slow(now) {
            let seconds = took.as_secs_f64();
            self.reports.info(&format!(
                "the app is still on its way after {seconds:.0} s: {doing}, within `start_timeout` = {most}"
            ));
        }
    }
}

//! Loading the app, and taking over: the first time, at a reload, and when a zygote comes back with another app.

use crate::generation::{Generation, GenerationStage};
use crate::source::Launch;
use crate::supervisor::Supervisor;
use crate::worker_handle::Phase;
use crate::{Event, Failure, Parts, Source, Start};
use engine::AppConfig;
use shm::Channel;
use std::io;
use std::time::{Duration, Instant};

impl Generation {
    /// When the clock must be looked at next.
    pub fn due(&self) -> Option<Instant> {
        match self.stage {
            GenerationStage::Preparing { deadline, .. } => Some(deadline.min(self.next_word)),
            _ => self.restart,
        }
    }
}

impl Supervisor {
    /// Begins a generation that takes over when `of` workers are ready.
    pub(crate) fn prepare(&mut self, source: Source, of: usize) {
        let now = Instant::now();
        let number = self.next_generation();
        let deadline = self.start_deadline(now);
        let begun = match source {
            Source::Command { program, args, env } => {
                let launch = Launch::new(program, args, env, self.told.clone());
                let spawns = self.options.start == Start::Spawn;
                self.generations.insert(number, Generation::new(Some(launch.clone()), spawns, of, now, deadline));
                // each worker loads the app by itself, or one for all
                if spawns {
                    Ok(())
                } else {
                    self.start_zygote(number, &launch, now)
                }
            }
            Source::Zygote { channel, pid } => {
                self.generations.insert(number, Generation::new(None, false, of, now, deadline));
                match self.options.start {
                    Start::Auto | Start::Fork => self.adopt_zygote(number, Channel::from(channel), pid, now),
                    Start::Spawn => Err(io::Error::other("start = \"spawn\" needs an app in a file")),
                }
            }
        };
        if let Err(e) = begun {
            self.generation_failed(number, Failure::System, e.to_string(), now);
        }
    }

    /// They are counted from 1.
    fn next_generation(&mut self) -> u32 {
        self.last_generation += 1;
        self.last_generation
    }

    /// The app of a generation has been loaded for the first time.
    pub(crate) fn app_known(&mut self, number: u32, app: AppConfig, since: Instant, now: Instant) {
        if let Err(why) = self.pool.add_generation(number, &app, None) {
            return self.generation_failed(number, Failure::Load, why, now);
        }
        let Some(generation) = self.generations.get_mut(&number) else { return };
        let parts = Parts::of(&app);
        generation.app = Some(app);
        let seconds = (now - since).as_secs_f64();
        self.notify(Event::Loaded { generation: number, seconds, parts });
    }

    /// A zygote that was restarted has loaded another app than the one before: it begins a generation.
    pub(crate) fn promote(&mut self, key: u32, app: AppConfig, now: Instant) {
        let Some(zygote) = self.zygotes.get_mut(&key) else { return };
        let old = zygote.generation;
        let since = zygote.since;
        let launch = self.generations.get_mut(&old).and_then(|generation| {
            generation.zygote = None;
            generation.launch.clone()
        });
        if Some(old) != self.current || self.generations.values().any(Generation::is_preparing) {
            // what is being loaded has the change as well
            return zygote.kill();
        }
        let number = self.next_generation();
        if let Some(zygote) = self.zygotes.get_mut(&key) {
            zygote.generation = number;
        }
        self.info("the app has changed: its workers are replaced");
        let of = self.size.for_takeover(self.staff_of_current().count());
        let mut generation = Generation::new(launch, false, of, now, self.start_deadline(now));
        generation.zygote = Some(key);
        self.generations.insert(number, generation);
        self.app_known(number, app, since, now);
    }

    /// A fresh worker has loaded another app than the others of its generation.
    pub(crate) fn app_differs(&mut self, id: u32, now: Instant) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.kill("it has loaded another app than those before it");
        let number = worker.generation;
        if self.generations.get(&number).is_some_and(Generation::is_preparing) {
            let why = "the app changed while it was loaded".to_owned();
            return self.generation_failed(number, Failure::Load, why, now);
        }
        if self.generations.values().any(Generation::is_preparing) {
            return;
        }
        let Some(old) = self.generations.get(&number) else { return };
        let (launch, spawns) = (old.launch.clone(), old.spawns);
        self.info("the app has changed: its workers are replaced");
        let of = self.size.for_takeover(self.staff_of_current().count());
        let number = self.next_generation();
        let deadline = self.start_deadline(now);
        self.generations.insert(number, Generation::new(launch, spawns, of, now, deadline));
    }

    /// Loads the app anew.
    pub(crate) fn reload(&mut self, source: Source) {
        if !self.stage.is_serving() {
            return self.reload_failed("the server is starting or stopping".to_owned());
        }
        if self.generations.values().any(Generation::is_preparing) {
            if self.next_reload.replace(source).is_some() {
                self.reload_failed("another reload came after it".to_owned());
            }
            return;
        }
        self.server.reload_tls();
        let of = self.size.for_takeover(self.staff_of_current().count());
        self.prepare(source, of);
    }

    fn reload_failed(&mut self, message: String) {
        // with `stays`, the receiver of the event reports the failure itself
        if !self.options.stays {
            self.error(&format!("not reloaded: {message}"));
        }
        self.notify(Event::ReloadFailed { message });
    }

    fn reload_next(&mut self) {
        if let Some(source) = self.next_reload.take() {
            self.reload(source);
        }
    }

    /// Gives the current generation a zygote.
    pub(crate) fn adopt(&mut self, source: Source, now: Instant) {
        let Some(number) = self.current.filter(|_| self.stage.needs_staff()) else { return };
        let Source::Zygote { channel, pid } = source else { return self.error("a command cannot be adopted") };
        if let Err(e) = self.adopt_zygote(number, Channel::from(channel), pid, now) {
            self.error(&format!("the zygote {pid} cannot be adopted: {e}"));
            self.notify(Event::ZygoteLost);
        }
    }

    /// A generation that prepares has one more worker.
    pub(crate) fn one_more_ready(&mut self, number: u32, of: usize, now: Instant) {
        let ready = self.ready_of(number);
        self.notify(Event::WorkerReady { ready, of });
        if ready >= of {
            self.take_over(number, now);
        }
    }

    fn ready_of(&self, number: u32) -> usize {
        self.workers.values().filter(|w| w.generation == number && w.phase == Phase::Serving).count()
    }

    /// Requests go to this generation from now on.
    fn take_over(&mut self, number: u32, now: Instant) {
        self.pool.switch_to(number);
        let old = self.current.replace(number);
        if let Some(generation) = self.generations.get_mut(&number) {
            generation.stage = GenerationStage::Serving;
        }
        self.size.set(self.ready_of(number));
        self.replacing = None;
        self.worn.clear();
        self.look_for_unused = Self::after(now, self.options.check_unused);
        if self.stage.is_starting() {
            return self.open(now);
        }
        // there is none when the app could not be loaded so far
        if let Some(generation) = old.and_then(|old| self.generations.get_mut(&old)) {
            generation.stage = GenerationStage::Draining { dry: false };
            generation.restart = None;
        }
        for worker in self.workers.values_mut().filter(|w| Some(w.generation) == old) {
            match worker.phase {
                Phase::Starting => worker.kill("the app was reloaded before it was ready"),
                // the pool retires them as they run dry
                Phase::Serving => worker.phase = Phase::Retiring,
                _ => {}
            }
        }
        self.info(&format!("reloaded: generation {number} serves"));
        self.notify(Event::Reloaded { generation: number });
        self.reload_next();
    }

    /// A generation that another has taken the place of has no request left.
    pub(crate) fn drained(&mut self, number: u32) {
        if let Some(generation) = self.generations.get_mut(&number) {
            generation.stage = GenerationStage::Draining { dry: true };
        }
        for worker in self.workers.values_mut().filter(|w| w.generation == number && w.phase == Phase::Starting) {
            worker.kill("its app is not served any more");
        }
        self.settle(Instant::now());
    }

    /// Ends what is left of generations that are dry.
    pub(crate) fn settle(&mut self, now: Instant) {
        let dry: Vec<u32> = self
            .generations
            .iter()
            .filter(|(number, generation)| {
                generation.stage == GenerationStage::Draining { dry: true }
                    && !self.workers.values().any(|worker| worker.generation == **number)
            })
            .map(|(&number, _)| number)
            .collect();
        for number in dry {
            self.generations.remove(&number);
            for zygote in self.zygotes.values_mut().filter(|zygote| zygote.generation == number) {
                zygote.quit(Self::after(now, self.options.graceful_timeout), false);
            }
        }
    }

    /// A generation does not come about; the one before goes on, if there is one.
    pub(crate) fn generation_failed(&mut self, number: u32, kind: Failure, message: String, now: Instant) {
        if self.stage.is_starting() {
            if !self.options.stays || matches!(kind, Failure::Listen | Failure::System) {
                return self.fail(kind, message, now);
            }
            self.open(now);
        }
        // when all ends, this one fails of that, and it has been told why
        if !self.stage.needs_staff() {
            return;
        }
        if self.generations.remove(&number).is_none() {
            return;
        }
        self.pool.drop_generation(number);
        for worker in self.workers.values_mut().filter(|worker| worker.generation == number) {
            worker.kill("its app cannot be served");
        }
        for zygote in self.zygotes.values_mut().filter(|zygote| zygote.generation == number) {
            zygote.give_up(now, false);
        }
        self.reload_failed(message);
        self.reload_next();
    }

    /// Restarts zygotes whose time has come, and ends generations that take too long to prepare.
    pub(crate) fn look_at_generations(&mut self, now: Instant) {
        self.report_slow_starts(now);
        let due: Vec<u32> =
            self.generations.iter().filter(|(_, g)| g.due().is_some_and(|at| at <= now)).map(|(&n, _)| n).collect();
        for number in due {
            let Some(generation) = self.generations.get_mut(&number) else { continue };
            if generation.is_preparing() {
                if self.ready_of(number) > 0 {
                    // better few than none
                    self.take_over(number, now);
                } else {
                    let why = format!("no worker was ready within {} s (start_timeout)", self.options.start_timeout);
                    if self.stage.is_starting() {
                        // a reload's failure is told anyway; before what becomes of its workers
                        self.error(&why);
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
                self.error(&format!("no new zygote: {e}"));
                if let Some(generation) = self.generations.get_mut(&number) {
                    generation.restart = Some(now + generation.losses.failure(now, Duration::ZERO).wait);
                }
            }
        }
    }

    /// Says of generations that prepare for long that they still do, and how long they may.
    fn report_slow_starts(&mut self, now: Instant) {
        let mut slow = Vec::new();
        for generation in self.generations.values_mut() {
            let Some(took) = generation.has_word(now) else { continue };
            slow.push((if generation.app.is_some() { "its workers start" } else { "it is loaded" }, took));
        }
        let most = self.options.start_timeout;
        let most = if most > 0.0 { format!("{most} s") } else { "0, for as long as it takes".to_owned() };
        for (doing, took) in slow {
            let seconds = took.as_secs_f64();
            self.info(&format!(
                "the app is still on its way after {seconds:.0} s: {doing}, within `start_timeout` = {most}"
            ));
        }
    }
}

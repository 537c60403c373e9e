//! Zygotes: starting and adopting them, what they tell, and what follows when one ends.

use crate::generation::GenerationStage;
use crate::loader::Loader;
use crate::os::{Exit, Process};
use crate::source::Launch;
use crate::supervisor::Supervisor;
use crate::zygote::Zygote;
use crate::{Event, Failure, Start};
use shm::Channel;
use std::io;
use std::time::{Duration, Instant};
use wire::control::ZygoteNews;

/// How long a process may take to end that has closed its channel.
const LEAVING: Duration = Duration::from_secs(1);
/// What to do about what forks cannot use.
const CURE: &str = "Open it in dr_on_worker_start(), or let each worker load the app: start = \"auto\"";

impl Supervisor {
    /// Starts a zygote for a generation.
    pub(crate) fn start_zygote(&mut self, generation: u32, launch: &Launch, now: Instant) -> io::Result<()> {
        let key = self.next_number();
        let (loader, process) = launch.start(self.leftovers.scratch(key), self.server.state())?;
        self.add_zygote(key, generation, loader, process, now);
        Ok(())
    }

    /// Takes over a zygote that the session has forked.
    pub(crate) fn adopt_zygote(&mut self, generation: u32, channel: Channel, pid: i32, now: Instant) -> io::Result<()> {
        let process = Process::open(pid)?;
        let key = self.next_number();
        self.add_zygote(key, generation, Loader::new(channel, None), process, now);
        Ok(())
    }

    fn add_zygote(&mut self, key: u32, generation: u32, loader: Loader, process: Process, now: Instant) {
        let zygote = Zygote {
            process,
            loader,
            generation,
            deadline: Some(self.start_deadline(now)),
            leaving: false,
            since: now,
        };
        self.zygotes.insert(key, zygote);
        if let Some(generation) = self.generations.get_mut(generation) {
            generation.zygote = Some(key);
            generation.restart = None;
        }
    }

    /// That of a generation, while it is there.
    pub(crate) fn zygote_of(&self, generation: u32) -> Option<&Zygote> {
        let key = self.generations.get(generation)?.zygote?;
        self.zygotes.get(&key)
    }

    /// Reads what a zygote has sent.
    pub(crate) fn receive_from_zygote(&mut self, key: u32, now: Instant) {
        let mut message = Vec::new();
        while let Some(zygote) = self.zygotes.get_mut(&key) {
            if !zygote.loader.receive(&mut message) {
                break;
            }
            match ZygoteNews::decode(&message) {
                Ok(news) => self.zygote_reports(key, news, now),
                Err(e) => {
                    zygote.process.kill();
                    let pid = zygote.process.pid();
                    self.reports.error(&format!("the zygote {pid} is killed: it sent nonsense: {e}"));
                    break;
                }
            }
        }
        if let Some(zygote) = self.zygotes.get_mut(&key).filter(|zygote| !zygote.loader.open) {
            let soon = now + LEAVING;
            zygote.deadline = Some(zygote.deadline.map_or(soon, |deadline| deadline.min(soon)));
        }
    }

    fn zygote_reports(&mut self, key: u32, news: ZygoteNews<'_>, now: Instant) {
        let Some(zygote) = self.zygotes.get_mut(&key) else { return };
        let generation = zygote.generation;
        match news {
            ZygoteNews::App(piece) => {
                if let Err(why) = zygote.loader.add_piece(piece) {
                    self.zygote_failed(key, why, now);
                }
            }
            ZygoteNews::Holds(what) => zygote.loader.holds = Some(what.to_owned()),
            ZygoteNews::Loaded => {
                zygote.deadline = None;
                let since = zygote.since;
                match zygote.loader.finish() {
                    Ok(app) => self.zygote_loaded(key, app, since, now),
                    Err(why) => self.zygote_failed(key, why, now),
                }
            }
            ZygoteNews::LoadFailed(why) => self.zygote_failed(key, why.to_owned(), now),
            ZygoteNews::Forked { worker, pid } => self.forked(worker, pid as i32, now),
            ZygoteNews::ForkFailed { worker, why } => {
                self.fork_failed(generation, Some(worker), &format!("cannot fork a worker: {why}"), now);
            }
            ZygoteNews::Exited { worker, status, .. } => self.explained(worker, Exit::from_wait(status), now),
        }
    }

    fn zygote_loaded(&mut self, key: u32, app: engine::AppConfig, since: Instant, now: Instant) {
        let Some(number) = self.zygotes.get(&key).map(|zygote| zygote.generation) else { return };
        let Some(generation) = self.generations.get(number) else { return };
        match &generation.app {
            None => self.app_known(number, app, since, now),
            Some(known) if known.routes_like(&app) => self.reports.info("the zygote is there again"),
            // the file has changed since: what this one forks is another generation
            Some(_) => self.promote(key, app, now),
        }
        self.mind_what_it_holds(key, now);
    }

    /// Forks of a zygote that has connections or threads must not use them. Where the app can be loaded again, each
    /// worker does that by itself, and this zygote is the first.
    fn mind_what_it_holds(&mut self, key: u32, now: Instant) {
        let Some(zygote) = self.zygotes.get_mut(&key) else { return };
        let Some(what) = zygote.loader.holds.take() else { return };
        let number = zygote.generation;
        let Some(generation) = self.generations.get_mut(number) else { return };
        if self.options.start != Start::Auto || generation.launch.is_none() {
            return self.reports.error(&format!("forked workers cannot use what was opened before: {what}. {CURE}"));
        }
        generation.spawns = true;
        generation.zygote = None;
        self.reports
            .info(&format!("each worker loads the app by itself, as forks must not share what it has opened: {what}"));
        let Some(zygote) = self.zygotes.remove(&key) else { return };
        self.first_worker(zygote, now);
    }

    /// A zygote cannot do what it is for.
    fn zygote_failed(&mut self, key: u32, why: String, now: Instant) {
        let Some(zygote) = self.zygotes.get_mut(&key) else { return };
        let number = zygote.generation;
        zygote.deadline = Some(now + LEAVING);
        let Some(generation) = self.generations.get_mut(number) else { return };
        if generation.is_preparing() {
            self.generation_failed(number, Failure::Load, why, now);
        } else {
            self.reports.error(&format!("the app could not be loaded again: {why}"));
        }
    }

    /// The process of a zygote is gone.
    pub(crate) fn zygote_ended(&mut self, key: u32, now: Instant) {
        // the last it said
        self.receive_from_zygote(key, now);
        let Some(zygote) = self.zygotes.remove(&key) else { return };
        zygote.process.kill();
        let exit = zygote.process.reap();
        self.unborn(zygote.generation, now);
        let Some(generation) = self.generations.get_mut(zygote.generation) else { return };
        if generation.zygote == Some(key) {
            generation.zygote = None;
        }
        if zygote.leaving {
            return;
        }
        // its workers go on, and have their temporary files there
        generation.kept.extend(zygote.loader.scratch);
        if generation.is_preparing() {
            let doing = if zygote.loader.loaded { "after it had loaded the app" } else { "while it loaded the app" };
            let why = format!("R {exit} {doing}");
            return self.generation_failed(zygote.generation, Failure::Load, why, now);
        }
        let lived = if zygote.loader.loaded { now - zygote.since } else { Duration::ZERO };
        let wait = generation.losses.failure(now, lived).wait;
        let restarts = generation.launch.is_some();
        generation.restart = restarts.then(|| now + wait);
        let serving = generation.stage == GenerationStage::Serving;
        self.reports.error(&format!("the zygote {} {exit}; its workers serve on", zygote.process.pid()));
        if serving && !restarts {
            self.reports.notify(Event::ZygoteLost);
        }
    }

    /// Kills zygotes whose time is over.
    pub(crate) fn look_at_zygotes(&mut self, now: Instant) {
        let late: Vec<u32> =
            self.zygotes.iter().filter(|(_, z)| z.deadline.is_some_and(|at| at <= now)).map(|(&key, _)| key).collect();
        for key in late {
            let Some(zygote) = self.zygotes.get_mut(&key) else { continue };
            zygote.deadline = None;
            zygote.process.kill();
            let (number, knows) = (zygote.generation, zygote.leaving || !zygote.loader.open || zygote.loader.loaded);
            if !knows {
                let seconds = self.options.start_timeout;
                let why = format!("the app was not loaded within {seconds} s (start_timeout)");
                if self.generations.is_preparing(number) {
                    self.generation_failed(number, Failure::Load, why, now);
                } else {
                    self.reports.error(&why);
                }
            }
        }
    }
}

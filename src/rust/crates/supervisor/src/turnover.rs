//! How many workers of the current generation there are and how long they serve: growth, shrinking, replacing,
//! retiring. `recycling` decides; here is what it decides about, and what follows.

use crate::options::usable_cores;
use crate::os::{processing, resident, Processing};
use crate::policy::{Reason, Unused};
use crate::pools::MAIN;
use crate::supervisor::Supervisor;
use crate::worker_handle::{Phase, WorkerHandle};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Of many busy workers so many show what all of them do: a file is read for each.
const LOOKED_AT: usize = 16;

impl Supervisor {
    /// Requests wait and none of `ready` workers is free.
    pub(crate) fn grow(&mut self, pool: u8, waiting: usize, ready: usize, now: Instant) {
        if self.generations.current().is_none() {
            return self.wanted();
        }
        let starting = self.staff_in(pool).filter(|(_, worker)| worker.phase == Phase::Starting).count();
        let serving = self.staff_in(pool).count() - starting;
        // those that have come since are for those that wait
        let starting = starting + serving.saturating_sub(ready);
        let serving = serving.min(ready);
        let is_auto = self.pools.get(pool).is_some_and(|pool| pool.options.is_auto());
        let waiting = if is_auto { waiting.min(self.room(pool, starting, now)) } else { waiting };
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.recycling.grow(waiting, serving, starting, now);
        }
    }

    /// How many more workers may be started as those that there are wait for something else than a processor.
    fn room(&mut self, pool: u8, starting: usize, now: Instant) -> usize {
        // what those do that start is seen when they serve; and a look reads files
        if starting > 0 || !self.pools.get(pool).is_some_and(|pool| pool.load.is_due(now)) {
            return 0;
        }
        let is_busy = |worker: &WorkerHandle| worker.stats.in_flight.load(Ordering::Relaxed) > 0;
        let busy: Vec<(u32, i32)> = self
            .staff_in(pool)
            .filter_map(|(id, worker)| Some((id, worker.pid.filter(|_| is_busy(worker))?)))
            .collect();
        let times = busy.iter().take(LOOKED_AT).filter_map(|(id, pid)| Some((*id, processing(*pid)?)));
        let sample: Vec<(u32, Processing)> = times.collect();
        let load = self.pools.get_mut(pool).map(|pool| &mut pool.load);
        load.map_or(0, |load| load.room(now, &sample, busy.len(), usable_cores()))
    }

    /// Workers of the current generation that serve or will, without the one that is being replaced.
    pub(crate) fn staff_of_current(&self) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        self.staff.iter().filter(|(id, worker)| {
            self.generations.is_current(worker.generation) && worker.is_staff() && !self.pools.is_replaced(*id)
        })
    }

    /// Those of one pool.
    pub(crate) fn staff_in(&self, pool: u8) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        self.staff_of_current().filter(move |(_, worker)| worker.pool == pool)
    }

    fn serving_in(&self, pool: u8) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        self.staff_in(pool).filter(|(_, worker)| worker.phase == Phase::Serving)
    }

    /// How many workers the next generation starts with, for requests that name no pool.
    pub(crate) fn workers_for_takeover(&self) -> usize {
        self.pools.main().recycling.for_takeover(self.staff_in(MAIN).count()).max(1)
    }

    fn shrink(&mut self, pool: u8, now: Instant) {
        let n_min = self.pools.get(pool).map_or(0, |pool| pool.options.n_min);
        let clock = engine::now_ms();
        let idle = |(id, worker): (u32, &WorkerHandle)| {
            let stats = &worker.stats;
            // the app's timers are not interrupted for want of requests, nor are clients that say nothing now
            let has_clients = worker.pid.is_some_and(|pid| self.server.websockets_of(pid) > 0);
            let has_timers = worker.timers && n_min > 0;
            let free = worker.phase == Phase::Serving && !has_timers && !has_clients;
            let idle = free && stats.in_flight.load(Ordering::Relaxed) == 0;
            let since = stats.last_used_ms.load(Ordering::Relaxed);
            // the engine may not have come to note that it is there
            let longest = now - worker.since;
            idle.then(|| Unused { worker: id, idle: Duration::from_millis(clock.saturating_sub(since)).min(longest) })
        };
        let unused = self.staff_in(pool).filter_map(idle).collect();
        let workers = self.staff_in(pool).count();
        let Some(pool) = self.pools.get_mut(pool) else { return };
        for id in pool.recycling.shrink(workers, unused, now) {
            if let Some(worker) = self.staff.get(id) {
                let seconds = self.options.max_age;
                self.reports.info(&format!("{} is retired: not needed for {seconds} s", worker.name()));
            }
            self.retire(id);
        }
    }

    /// Other bounds for the number of workers in a pool.
    pub(crate) fn scale(&mut self, name: &str, n_min: usize, n_max: usize, now: Instant) {
        let of_it = if name.is_empty() { String::new() } else { format!(" of the pool {name}") };
        let before = self.options.of_pool(name).workers();
        self.options.set_workers(name, n_min, n_max);
        let after = self.options.of_pool(name);
        self.reports.info(&format!("workers{of_it}={}, it was {before}", after.workers()));
        let most = after.for_requests(self.most_workers());
        // an app that is loaded later has them as well
        let Some((number, _)) = self.pools.named(name) else { return };
        if let Some(pool) = self.pools.get_mut(number) {
            pool.recycling.resize(n_min, most, now);
            pool.options = after;
        }
    }

    /// Retires workers that are more than there should be, since fewer were asked for: those whose end costs least.
    pub(crate) fn reduce(&mut self, pool: u8) {
        let target = self.pools.get(pool).map_or(0, |pool| pool.recycling.target());
        let cost = |(id, worker): (u32, &WorkerHandle)| {
            let has_clients = worker.pid.is_some_and(|pid| self.server.websockets_of(pid) > 0);
            let in_flight = worker.stats.in_flight.load(Ordering::Relaxed);
            (worker.timers, has_clients, in_flight, worker.stats.last_used_ms.load(Ordering::Relaxed), id)
        };
        let mut serving: Vec<_> = self.serving_in(pool).map(cost).collect();
        let surplus = serving.len().saturating_sub(target);
        serving.sort_unstable();
        for &(.., id) in &serving[..surplus] {
            if let Some(worker) = self.staff.get(id) {
                self.reports.info(&format!("{} is retired: there are to be fewer", worker.name()));
            }
            self.retire(id);
        }
    }

    /// Gives a worker no more requests; it is told to end when it has none left.
    pub(crate) fn retire(&mut self, id: u32) {
        self.pools.forget(id);
        if let Some(worker) = self.staff.get_mut(id) {
            worker.phase = Phase::Retiring;
            self.server.pool().retire(id);
        }
    }

    /// A worker has nothing left to do.
    pub(crate) fn retired(&mut self, id: u32, now: Instant) {
        let deadline = Self::after(now, self.options.graceful_timeout);
        let is_last = self.is_last_before_rest(id);
        if self.staff_of_current().any(|(worker, _)| worker == id) {
            // not by order: the engine cannot use it, and another one started at once would fare no better
            self.staff.not_made(now);
        }
        if let Some(worker) = self.staff.get_mut(id).filter(|worker| !worker.is_stopping()) {
            worker.stop(deadline, is_last);
        }
    }

    /// A worker has served as many requests as it may.
    pub(crate) fn worn_out(&mut self, id: u32) {
        let requests = self.staff.get(id).map(|worker| worker.stats.requests.load(Ordering::Relaxed));
        if let Some(requests) = requests {
            self.replace(id, Reason::Requests(requests));
        }
    }

    /// A worker has served long enough: it goes when a fresh one is there.
    pub(crate) fn replace(&mut self, id: u32, reason: Reason) {
        let Some(worker) = self.staff.get(id).filter(|worker| worker.phase == Phase::Serving) else { return };
        let is_current = self.generations.is_current(worker.generation);
        if let Some(pool) = self.pools.get_mut(worker.pool).filter(|_| is_current) {
            pool.recycling.replace(id, reason);
        }
    }

    /// The same of the worker that is this process, as somebody wants it.
    pub(crate) fn replace_process(&mut self, pid: i32) {
        if let Some((id, _)) = self.staff.with_process(pid) {
            self.replace(id, Reason::Asked);
        }
    }

    /// The worker that is being replaced may go when there are enough without it; then it is the next one's turn, which
    /// does not count from now on, so that `hire` starts another.
    pub(crate) fn relieve(&mut self, pool: u8) {
        let serving = self.serving_in(pool).count();
        if let Some(old) = self.pools.get_mut(pool).and_then(|pool| pool.recycling.end_replacement(serving)) {
            self.retire(old);
        }
        let serves = |id| {
            let worker = self.staff.get(id);
            worker.is_some_and(|w| self.generations.is_current(w.generation) && w.phase == Phase::Serving)
        };
        let next = self.pools.get_mut(pool).and_then(|pool| pool.recycling.begin_next(serves));
        let Some((id, reason)) = next else { return };
        let Some(worker) = self.staff.get(id) else { return };
        self.reports.info(&format!("{} is replaced: {reason}", worker.name()));
        self.reports.count_restart(reason.restart());
    }

    /// When the clock must be looked at next.
    pub(crate) fn turnover_due(&self) -> Option<Instant> {
        let old = self.lasting().filter_map(|(_, worker)| worker.wear.as_ref()?.ends());
        old.chain(self.pools.due()).min().filter(|_| self.stage.is_serving())
    }

    /// Workers that serve and are not about to be replaced.
    fn lasting(&self) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        self.staff_of_current().filter(|(id, worker)| worker.phase == Phase::Serving && self.pools.lasts(*id))
    }

    pub(crate) fn look_at_turnover(&mut self, now: Instant) {
        if !self.stage.is_serving() {
            return;
        }
        self.look_at_express(now);
        for pool in self.pools.numbers() {
            if self.pools.get(pool).is_some_and(|pool| pool.recycling.may_shrink(now)) {
                self.shrink(pool, now);
            }
            let weighs = self.pools.get_mut(pool).is_some_and(|pool| pool.recycling.weighs(now));
            let worn = |(id, worker): (u32, &WorkerHandle)| {
                let wear = worker.wear.as_ref()?;
                let memory = || wear.by_memory(resident(worker.process.as_ref().filter(|_| weighs)?.pid())?);
                Some((id, wear.by_age(now, worker.since).or_else(memory)?))
            };
            let lasting = self.lasting().filter(|(_, worker)| worker.pool == pool);
            let worn: Vec<(u32, Reason)> = lasting.filter_map(worn).collect();
            for (id, reason) in worn {
                self.replace(id, reason);
            }
        }
    }
}

//! How many workers of the current generation there are and how long they serve: growth, shrinking, recycling,
//! retiring.

use crate::policy::{Reason, Unused};
use crate::supervisor::Supervisor;
use crate::worker_handle::{Phase, WorkerHandle};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the memory of workers is looked at when it has a bound.
const MEMORY: Duration = Duration::from_secs(1);

impl Supervisor {
    /// Requests wait and no worker is free.
    pub(crate) fn grow(&mut self, waiting: usize, now: Instant) {
        if !self.size.can_shrink() {
            // the clock for unused workers stood still
            self.look_for_unused = Self::after(now, self.options.check_unused);
        }
        let starting = self.staff_of_current().filter(|(_, worker)| worker.phase == Phase::Starting).count();
        let serving = self.staff_of_current().count() - starting;
        self.size.grow(waiting, serving, starting);
    }

    /// Workers of the current generation that serve or will, without the one that is being replaced.
    pub(crate) fn staff_of_current(&self) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        let counts = |(id, worker): &(u32, &WorkerHandle)| {
            Some(worker.generation) == self.current && worker.is_staff() && Some(*id) != self.replacing
        };
        self.workers.iter().map(|(&id, worker)| (id, worker)).filter(counts)
    }

    fn shrink(&mut self, now: Instant) {
        self.look_for_unused = Self::after(now, self.options.check_unused);
        let clock = engine::now_ms();
        let idle = |(id, worker): (u32, &WorkerHandle)| {
            let stats = &worker.stats;
            // the app's timers are not interrupted for want of requests
            let free = worker.phase == Phase::Serving && !worker.timers;
            let idle = free && stats.in_flight.load(Ordering::Relaxed) == 0;
            let since = stats.last_used_ms.load(Ordering::Relaxed);
            // the engine may not have come to note that it is there
            let longest = now - worker.since;
            idle.then(|| Unused { worker: id, idle: Duration::from_millis(clock.saturating_sub(since)).min(longest) })
        };
        let unused = self.staff_of_current().filter_map(idle).collect();
        let workers = self.staff_of_current().count();
        for id in self.size.shrink(workers, unused, Duration::from_secs_f64(self.options.max_age)) {
            if let Some(worker) = self.workers.get(&id) {
                self.info(&format!("{} is retired: not needed for {} s", worker.name(), self.options.max_age));
            }
            self.retire(id);
        }
    }

    /// Gives a worker no more requests; it is told to end when it has none left.
    fn retire(&mut self, id: u32) {
        self.worn.retain(|&(worn, _)| worn != id);
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.phase = Phase::Retiring;
            self.pool.retire(id);
        }
    }

    /// A worker has nothing left to do.
    pub(crate) fn retired(&mut self, id: u32, now: Instant) {
        let deadline = Self::after(now, self.options.graceful_timeout);
        if self.staff_of_current().any(|(worker, _)| worker == id) {
            // not by order: the engine cannot use it, and another one started at once would fare no better
            self.forks.failure(now, Duration::ZERO);
        }
        if let Some(worker) = self.workers.get_mut(&id).filter(|worker| !worker.is_stopping()) {
            worker.stop(deadline, false);
        }
    }

    /// A worker has served as many requests as it may.
    pub(crate) fn worn_out(&mut self, id: u32) {
        let requests = self.workers.get(&id).map(|worker| worker.stats.requests.load(Ordering::Relaxed));
        if let Some(requests) = requests {
            self.replace(id, Reason::Requests(requests));
        }
    }

    /// A worker has served long enough: it goes when a fresh one is there.
    pub(crate) fn replace(&mut self, id: u32, reason: Reason) {
        let known = self.replacing == Some(id) || self.worn.iter().any(|&(worn, _)| worn == id);
        let serves = self.workers.get(&id).is_some_and(|worker| worker.phase == Phase::Serving);
        if known || !serves {
            return;
        }
        match reason {
            // urgent: an interrupt may have left something behind, a thread is lost, or an operator waits
            Reason::Late(_) | Reason::Blocked(_) | Reason::Asked => self.worn.push_front((id, reason)),
            _ => self.worn.push_back((id, reason)),
        }
    }

    /// The same of the worker that is this process, as somebody wants it.
    pub(crate) fn replace_process(&mut self, pid: i32) {
        let is_meant = |worker: &WorkerHandle| worker.process.as_ref().is_some_and(|process| process.pid() == pid);
        if let Some(id) = self.workers.iter().find(|(_, worker)| is_meant(worker)).map(|(id, _)| *id) {
            self.replace(id, Reason::Asked);
        }
    }

    /// One at a time, so that there is never more than one worker too many. It does not count from now on, so `staff`
    /// starts another.
    fn replace_next(&mut self) {
        while self.replacing.is_none() {
            let Some((id, reason)) = self.worn.pop_front() else { return };
            let Some(worker) = self.workers.get(&id) else { continue };
            if Some(worker.generation) == self.current && worker.phase == Phase::Serving {
                self.info(&format!("{} is replaced: {reason}", worker.name()));
                self.count_restart(reason.restart());
                self.replacing = Some(id);
            }
        }
    }

    /// The worker that is being replaced may go when there are enough without it; then it is the next one's turn.
    pub(crate) fn relieve(&mut self) {
        let serving = |supervisor: &Self| {
            supervisor.staff_of_current().filter(|(_, worker)| worker.phase == Phase::Serving).count()
        };
        if let Some(old) = self.replacing.filter(|_| serving(self) >= self.size.target()) {
            self.replacing = None;
            self.retire(old);
        }
        self.replace_next();
    }

    /// When the clock must be looked at next.
    pub(crate) fn turnover_due(&self) -> impl Iterator<Item = Instant> + '_ {
        let serves = self.stage.is_serving();
        let unused = (serves && self.size.can_shrink()).then_some(self.look_for_unused);
        let memory = (serves && self.options.max_rss > 0).then_some(self.look_at_memory);
        let old = self.lasting().filter_map(|(_, worker)| worker.wear.as_ref()?.ends()).filter(move |_| serves);
        unused.into_iter().chain(memory).chain(old)
    }

    /// Workers that serve and are not about to be replaced.
    fn lasting(&self) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        let lasts = |(id, worker): &(u32, &WorkerHandle)| {
            worker.phase == Phase::Serving && !self.worn.iter().any(|&(worn, _)| worn == *id)
        };
        self.staff_of_current().filter(lasts)
    }

    pub(crate) fn look_at_turnover(&mut self, now: Instant) {
        if !self.stage.is_serving() {
            return;
        }
        if self.size.can_shrink() && self.look_for_unused <= now {
            self.shrink(now);
        }
        let weigh = self.options.max_rss > 0 && self.look_at_memory <= now;
        if weigh {
            self.look_at_memory = now + MEMORY;
        }
        let worn = |(id, worker): (u32, &WorkerHandle)| {
            let wear = worker.wear.as_ref()?;
            let memory = || wear.by_memory(Self::memory_of(worker).filter(|_| weigh)?);
            Some((id, wear.by_age(now, worker.since).or_else(memory)?))
        };
        let worn: Vec<(u32, Reason)> = self.lasting().filter_map(worn).collect();
        for (id, reason) in worn {
            self.replace(id, reason);
        }
    }
}

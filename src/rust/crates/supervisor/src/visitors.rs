//! Workers for one visitor each: started while others are free, and ended when the visitor has gone. What there is for
//! them beside the workers for requests is decided in `policy`; which worker a session goes to, by the dispatcher.

use crate::generation::Generation;
use crate::policy::Sessions;
use crate::pools::MAIN;
use crate::supervisor::Supervisor;
use crate::worker_handle::{Phase, WorkerHandle};
use engine::SHARED_SESSIONS;
use std::sync::atomic::Ordering;

impl Supervisor {
    /// Counts the workers that visitors have, and retires those that they have left: what a visitor leaves behind in R
    /// is not for the next one.
    pub(crate) fn look_at_visitors(&mut self) {
        let current = self.generations.current().and_then(|number| self.generations.get(number));
        let per_worker = self.options.sessions_per_worker;
        let are_apart = per_worker > 0 && self.most_workers() > 1 && current.is_some_and(Generation::has_sessions);
        if !are_apart {
            self.pools.main_mut().recycling.set_sessions(Sessions::default());
            return self.server.pool().set_sessions(0);
        }
        // whether it had one is read first: until that is known, it is among those that it has
        let look = |(id, worker): (u32, &WorkerHandle)| {
            let had = worker.stats.had_session.load(Ordering::Relaxed);
            let has = worker.pid.is_some_and(|pid| self.server.websockets_of(pid) > 0);
            (worker.phase == Phase::Serving && (had || has)).then_some((id, has))
        };
        let theirs: Vec<(u32, bool)> = self.staff_in(MAIN).filter_map(look).collect();
        let taken = theirs.iter().filter(|(_, has)| *has).count();
        for (id, _) in theirs.into_iter().filter(|(_, has)| !has) {
            if let Some(worker) = self.staff.get(id) {
                self.reports.info(&format!("{} is retired: its visitor has gone", worker.name()));
            }
            self.retire(id);
        }
        // visitors of an app from before a reload go on in its workers, which take their part of the memory
        let of_before = |worker: &WorkerHandle| !self.generations.is_current(worker.generation) && worker.pid.is_some();
        let before = self.staff.iter().filter(|(_, worker)| of_before(worker)).count();
        let sessions = Sessions::new(taken, self.most_workers().saturating_sub(before).max(1));
        self.pools.main_mut().recycling.set_sessions(sessions);
        self.server.pool().set_sessions(if sessions.have_room() { per_worker } else { SHARED_SESSIONS });
    }
}

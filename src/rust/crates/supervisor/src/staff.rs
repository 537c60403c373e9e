//! The workers that there are, and those that have ended until it is known how.
//!
//! Not for what is done about them, which takes the rest of the supervisor (`workers`, `turnover`). Neighbours:
//! `worker_handle` (one of them), `policy` (when others may be started after failures).

use crate::ended::Ended;
use crate::policy::{Backoff, Setback};
use crate::worker_handle::{Phase, Pressed, WorkerHandle};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Why a worker is terminated that was asked to end.
const LATE: &str = "it did not end in time when it was asked to";

/// See the module.
#[derive(Debug)]
pub struct Staff {
    workers: BTreeMap<u32, WorkerHandle>,
    /// those whose exit status the zygote has not reported yet
    unexplained: Vec<Ended>,
    deaths: Backoff,
    forks: Backoff,
    /// when those that are missing may be started
    blocked_until: Option<Instant>,
}

impl Staff {
    /// Without any.
    pub fn new() -> Self {
        Staff {
            workers: BTreeMap::new(),
            unexplained: Vec::new(),
            deaths: Backoff::of_deaths(),
            forks: Backoff::of_forks(),
            blocked_until: None,
        }
    }

    /// One more, of this number.
    pub fn add(&mut self, id: u32, worker: WorkerHandle) {
        self.workers.insert(id, worker);
    }

    /// The worker of this number.
    pub fn get(&self, id: u32) -> Option<&WorkerHandle> {
        self.workers.get(&id)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut WorkerHandle> {
        self.workers.get_mut(&id)
    }

    /// It is none any more.
    pub fn remove(&mut self, id: u32) -> Option<WorkerHandle> {
        self.workers.remove(&id)
    }

    /// The one with this process.
    pub fn with_process(&mut self, pid: i32) -> Option<(u32, &mut WorkerHandle)> {
        let is_meant = |worker: &WorkerHandle| worker.process.as_ref().is_some_and(|process| process.pid() == pid);
        self.workers.iter_mut().find(|(_, worker)| is_meant(worker)).map(|(&id, worker)| (id, worker))
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        self.workers.iter().map(|(&id, worker)| (id, worker))
    }

    /// The same, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut WorkerHandle)> {
        self.workers.iter_mut().map(|(&id, worker)| (id, worker))
    }

    /// Those of one generation.
    pub fn of(&self, generation: u32) -> impl Iterator<Item = (u32, &WorkerHandle)> {
        self.iter().filter(move |(_, worker)| worker.generation == generation)
    }

    /// The same, to change them.
    pub fn of_mut(&mut self, generation: u32) -> impl Iterator<Item = &mut WorkerHandle> {
        self.workers.values_mut().filter(move |worker| worker.generation == generation)
    }

    /// How many of a generation serve.
    pub fn ready(&self, generation: u32) -> usize {
        self.of(generation).filter(|(_, worker)| worker.phase == Phase::Serving).count()
    }

    /// How many of a pool of it do.
    pub fn ready_in(&self, generation: u32, pool: u8) -> usize {
        self.of(generation).filter(|(_, worker)| worker.pool == pool && worker.phase == Phase::Serving).count()
    }

    /// Kills all of them.
    pub fn kill(&mut self, why: &'static str) {
        self.workers.values_mut().for_each(|worker| worker.kill(why));
    }

    /// Kills those of a pool of a generation that do not serve yet.
    pub fn kill_starting(&mut self, generation: u32, pool: u8, why: &'static str) {
        let starts = |worker: &&mut WorkerHandle| worker.pool == pool && worker.phase == Phase::Starting;
        self.of_mut(generation).filter(starts).for_each(|worker| worker.kill(why));
    }

    /// How many processes there are. A worker that was never forked has none: it is its zygote's to make.
    pub fn processes(&self) -> usize {
        self.workers.values().filter(|worker| worker.process.is_some()).count()
    }

    /// Forgets those of a generation that were still to be forked, as its zygote is gone.
    pub fn forget_unborn(&mut self, generation: u32) {
        self.workers.retain(|_, worker| worker.generation != generation || worker.process.is_some());
    }

    /// A worker has ended that had served for so long.
    pub fn died(&mut self, now: Instant, lived: Duration) -> Setback {
        self.deaths.failure(now, lived)
    }

    /// A worker could not be made, or not be used.
    pub fn not_made(&mut self, now: Instant) -> Setback {
        self.forks.failure(now, Duration::ZERO)
    }

    /// All that are missing will be looked for.
    pub fn unblock(&mut self) {
        self.blocked_until = None;
    }

    /// Whether no worker may be started now, after too many have come to grief; then it is due when one may.
    pub fn is_blocked(&mut self, now: Instant) -> bool {
        self.blocked_until = self.deaths.blocked_until(now).max(self.forks.blocked_until(now));
        self.blocked_until.is_some()
    }

    /// Keeps one that has ended until its zygote has reported how.
    pub fn await_explanation(&mut self, ended: Ended) {
        self.unexplained.push(ended);
    }

    /// The one of this number that waits for its explanation.
    pub fn explained(&mut self, id: u32) -> Option<Ended> {
        let at = self.unexplained.iter().position(|ended| ended.worker == id)?;
        Some(self.unexplained.remove(at))
    }

    /// Those of a generation whose zygote is gone: none will be explained any more.
    pub fn unexplained_of(&mut self, generation: u32) -> Vec<Ended> {
        self.unexplained.extract_if(.., |ended| ended.generation == generation).collect()
    }

    /// Those that have waited for too long.
    pub fn given_up(&mut self, now: Instant) -> Vec<Ended> {
        self.unexplained.extract_if(.., |ended| ended.deadline <= now).collect()
    }

    /// Presses those whose time is over; after SIGTERM they have `termination` to end. Answers the generations of
    /// those that were never forked: they are dropped.
    pub fn press(&mut self, now: Instant, termination: Duration, start_timeout: f64) -> Vec<u32> {
        let mut unborn = Vec::new();
        self.workers.retain(|_, worker| {
            if worker.deadline.is_none_or(|deadline| deadline > now) {
                return true;
            }
            match worker.phase {
                Phase::Stopping(Pressed::Asked) => worker.terminate(now + termination, LATE),
                Phase::Stopping(_) => worker.kill(LATE),
                Phase::Starting | Phase::Serving | Phase::Retiring => {
                    worker.deadline = None;
                    worker.failure.get_or_insert_with(|| match (worker.phase, worker.open) {
                        (Phase::Starting, true) => {
                            format!("it was not ready within {start_timeout} s (start_timeout)")
                        }
                        _ => "it closed its control channel".to_owned(),
                    });
                    match &worker.process {
                        Some(process) => process.kill(),
                        None => {
                            unborn.push(worker.generation);
                            return false;
                        }
                    }
                }
            }
            true
        });
        unborn
    }

    /// When the clock must be looked at next.
    pub fn due(&self) -> Option<Instant> {
        let deadlines = self.workers.values().filter_map(|worker| worker.deadline);
        deadlines.chain(self.unexplained.iter().map(|ended| ended.deadline)).chain(self.blocked_until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_TIMEOUT: f64 = 9.0;
    const TERMINATION: Duration = Duration::from_secs(2);

    fn staff(now: Instant) -> Staff {
        let mut staff = Staff::new();
        for (id, generation) in [(1, 1), (2, 1), (3, 2)] {
            staff.add(id, WorkerHandle::new(generation, 0, now, now + Duration::from_secs_f64(START_TIMEOUT)));
        }
        staff
    }

    fn ended(worker: u32, generation: u32, deadline: Instant) -> Ended {
        Ended {
            worker,
            name: format!("worker {worker}"),
            generation,
            expected: false,
            because: None,
            failure: None,
            hung: false,
            deadline,
        }
    }

    #[test]
    fn workers_that_are_not_forked_in_time_are_dropped() {
        let now = Instant::now();
        let mut staff = staff(now);
        staff.get_mut(2).unwrap().deadline = None;
        assert_eq!(staff.due(), Some(now + Duration::from_secs(9)));
        assert!(staff.press(now, TERMINATION, START_TIMEOUT).is_empty());
        assert_eq!(staff.press(now + Duration::from_secs(9), TERMINATION, START_TIMEOUT), [1, 2]);
        assert_eq!((staff.iter().map(|(id, _)| id).collect::<Vec<_>>(), staff.due()), (vec![2], None));
    }

    #[test]
    fn who_was_asked_to_end_is_terminated_and_then_killed() {
        let now = Instant::now();
        let mut staff = staff(now);
        staff.kill_starting(2, 0, "not needed");
        staff.get_mut(1).unwrap().stop(now, false);
        let phase = |staff: &Staff, id| staff.get(id).unwrap().phase;
        staff.press(now, TERMINATION, START_TIMEOUT);
        assert_eq!(phase(&staff, 1), Phase::Stopping(Pressed::Terminated));
        assert_eq!(staff.get(1).unwrap().deadline, Some(now + TERMINATION));
        staff.press(now + TERMINATION, TERMINATION, START_TIMEOUT);
        assert_eq!(phase(&staff, 1), Phase::Stopping(Pressed::Killed));
        assert_eq!((phase(&staff, 2), phase(&staff, 3)), (Phase::Starting, Phase::Stopping(Pressed::Killed)));
        let because = [1, 3].map(|id| staff.get(id).unwrap().ended_because);
        assert_eq!(because, [Some(LATE), Some("not needed")]);
    }

    #[test]
    fn those_that_ended_are_explained_once() {
        let now = Instant::now();
        let mut staff = Staff::new();
        for (id, generation, seconds) in [(1, 1, 1), (2, 2, 2), (3, 1, 3), (4, 2, 4)] {
            staff.await_explanation(ended(id, generation, now + Duration::from_secs(seconds)));
        }
        let ids = |ended: Vec<Ended>| ended.iter().map(|ended| ended.worker).collect::<Vec<_>>();
        assert_eq!(staff.due(), Some(now + Duration::from_secs(1)));
        assert_eq!(staff.explained(2).map(|ended| ended.name), Some("worker 2".to_owned()));
        assert!(staff.explained(2).is_none());
        assert_eq!(ids(staff.given_up(now + Duration::from_secs(1))), [1]);
        assert_eq!(ids(staff.unexplained_of(1)), [3]);
        assert_eq!(ids(staff.given_up(now + Duration::from_secs(9))), [4]);
        assert_eq!(staff.due(), None);
    }

    #[test]
    fn a_wait_after_failures_is_due_at_its_end() {
        let now = Instant::now();
        let mut staff = Staff::new();
        assert!(!staff.is_blocked(now));
        let wait = staff.not_made(now).wait;
        assert!(staff.is_blocked(now));
        assert_eq!(staff.due(), Some(now + wait));
        staff.unblock();
        assert_eq!(staff.due(), None);
        assert!(!staff.is_blocked(now + wait));
    }
}

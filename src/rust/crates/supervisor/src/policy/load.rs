//! Whether more workers would get more done, where their number follows from what they do (`workers = "auto"`): they
//! would while requests wait, and those workers that there are wait for something else than a processor, such as a
//! database or another server. Where they compute, more of them would only share the processors, and the memory.

use crate::os::Processing;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What workers did is looked at over this time at least: one of R does little else than to compute for a moment.
const LOOK: Duration = Duration::from_millis(20);
/// What was seen so long ago says nothing of now: while requests wait, that is looked at every few milliseconds.
const STALE: Duration = Duration::from_millis(100);
/// A processor counts as free that is used for less than half of the time.
const FREE: f64 = 0.5;
/// How many times as many workers there may be at the next look: what waits now may compute then.
const GROWTH: usize = 4;

/// How long busy workers have had processors or waited for one, when they were last looked at.
#[derive(Debug, Default)]
pub struct Load {
    seen: Option<(Instant, HashMap<u32, Duration>)>,
}

impl Load {
    /// Whether it is time for another look: [`Load::room`] says nothing before.
    pub fn is_due(&self, now: Instant) -> bool {
        self.seen.as_ref().is_none_or(|(since, _)| now - *since >= LOOK)
    }

    /// How many more workers may be started, when a look is due. Of the `busy` workers, `sample` has some. 0 also where
    /// that is not known yet: ask again, as long as requests wait.
    pub fn room(&mut self, now: Instant, sample: &[(u32, Processing)], busy: usize, processors: usize) -> usize {
        let (since, before) = match &self.seen {
            Some((since, before)) if now - *since < STALE => (*since, before),
            _ => {
                self.look(now, sample);
                return 0;
            }
        };
        let elapsed = now - since;
        let share = |(id, worker): &(u32, Processing)| {
            let used = worker.so_far.saturating_sub(*before.get(id)?).div_duration_f64(elapsed);
            // one that waits for a processor all the time has had none of it
            Some(if worker.now { used.max(1.0) } else { used })
        };
        let shares: Vec<f64> = sample.iter().filter_map(share).collect();
        self.look(now, sample);
        if shares.is_empty() {
            return 0;
        }
        let computing = shares.iter().sum::<f64>() / shares.len() as f64 * busy as f64;
        if processors as f64 - computing < FREE {
            return 0;
        }
        (GROWTH - 1) * busy.max(1)
    }

    fn look(&mut self, now: Instant, sample: &[(u32, Processing)]) {
        self.seen = Some((now, sample.iter().map(|(id, worker)| (*id, worker.so_far)).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used_so_far(ms: u64) -> Processing {
        Processing { so_far: Duration::from_millis(ms), now: false }
    }

    /// Workers that were looked at twice, 20 ms apart: how many more there may be when each has used so many of them.
    fn room(used_ms: &[u64], busy: usize, processors: usize) -> usize {
        let (start, mut load) = (Instant::now(), Load::default());
        let sample = |used: &dyn Fn(usize) -> u64| -> Vec<(u32, Processing)> {
            (0..used_ms.len()).map(|at| (at as u32, used_so_far(used(at)))).collect()
        };
        assert_eq!(load.room(start, &sample(&|_| 1000), busy, processors), 0);
        load.room(start + LOOK, &sample(&|at| 1000 + used_ms[at]), busy, processors)
    }

    #[test]
    fn workers_that_wait_leave_room_and_those_that_compute_do_not() {
        assert_eq!(room(&[0, 0], 2, 2), 6);
        assert_eq!(room(&[20, 20], 2, 2), 0);
        assert_eq!(room(&[0, 20], 2, 2), 6, "a processor is free");
        assert_eq!(room(&[16, 16], 2, 2), 0, "less than half of one is");
        assert_eq!(room(&[10, 10, 10, 10], 4, 2), 0);
        assert_eq!(room(&[1, 0, 0, 0], 100, 2), 300, "of many some are looked at");
        assert_eq!(room(&[1, 0, 1, 0], 100, 2), 0, "together they use more than there is");
        assert_eq!(room(&[10, 10], 40, 2), 0);
        assert_eq!((room(&[40, 0], 2, 2), room(&[40, 0], 2, 4)), (0, 6), "one computes in two threads");
        assert_eq!(room(&[], 2, 2), 0);
    }

    #[test]
    fn workers_that_get_no_processor_on_a_busy_machine_compute_all_the_same() {
        let (start, mut load) = (Instant::now(), Load::default());
        let all = |now: bool| [1, 2].map(|id| (id, Processing { so_far: Duration::ZERO, now }));
        assert_eq!([load.room(start, &all(true), 2, 2), load.room(start + LOOK, &all(true), 2, 2)], [0, 0]);
        assert_eq!(load.room(start + 2 * LOOK, &all(false), 2, 2), 6);
    }

    #[test]
    fn what_is_too_new_or_too_old_says_nothing() {
        let (start, mut load) = (Instant::now(), Load::default());
        let sample = [(1, used_so_far(0))];
        let mut at = |ms: u64, sample: &[(u32, Processing)]| {
            let now = start + Duration::from_millis(ms);
            if load.is_due(now) {
                load.room(now, sample, 1, 1)
            } else {
                0
            }
        };
        assert_eq!(
            [at(0, &sample), at(19, &sample), at(20, &sample), at(30, &sample), at(40, &sample)],
            [0, 0, 3, 0, 3]
        );
        assert_eq!([at(140, &sample), at(160, &sample)], [0, 3]);
        assert_eq!(at(180, &[(2, used_so_far(0))]), 0, "it is another one");
    }
}

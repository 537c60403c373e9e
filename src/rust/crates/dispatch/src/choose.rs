//! Which worker a request goes to. The rules, first match first, for R and for C handlers alike:
//!
//! 1. A quick request goes along with quick ones to a lane that is at it already, while together they take next to no
//!    time: waking another process would cost more than the wait.
//! 2. A lane with a thread to spare, the one with the least to do; of those the one used last: its caches are warm, and
//!    those that are not needed can be told. One from which a request had to be taken back, as it was doing something
//!    else, comes after the others, last of all while it still is. So does one with promises or streams under way,
//!    which it goes back to at any time.
//! 3. With all threads busy, quick requests are handed ahead up to a millisecond of work for each thread, and one that
//!    is not long is handed ahead to each thread, so that it finds its next request when it has replied.
//! 4. Otherwise it waits, for whichever thread is free first.
//!
//! A request for a connection that stays with its worker goes to a lane with a thread to spare, of those that are not
//! away to the one whose worker has the fewest of these; with all threads busy it is as any other that is not quick.
//! Where visitors have processes of their own, `sessions` says which workers may have it at all.
//!
//! A worker that has as many promises under way as it may have is given no requests: they wait for it, or go to others.
//! What was handed ahead is taken back when the request before it turns out slow: see `check`.

use crate::crew::Crew;
use crate::lane::Lane;
use crate::runs::{Of, Runs};
use crate::worker::Worker;
use slab::Slab;
use std::cell::OnceCell;
use std::time::{Duration, Instant};

/// A handler that is expected to take less, in microseconds, is quick.
const QUICK: u32 = 100;
/// Quick requests share a lane up to this much work for each of its threads, in microseconds, even if others are idle.
const TOGETHER: u64 = 200;
/// With none idle, up to this much.
const AHEAD: u64 = 1_000;
/// And up to this many requests.
const MOST: usize = 256;
/// A handler that is expected to take more, in microseconds, has none handed ahead behind it, and is not handed ahead
/// itself.
const LONG: u32 = 10_000;
/// A request that has run this long is slow, even if expected to be quick: nothing is added behind it.
pub(crate) const SLOW: Duration = Duration::from_micros(500);

/// Of lanes with a thread to spare the greatest: one that is not away; whose worker costs least, as `sessions`
/// has it; with the fewest requests; that begins what it is given; with least under way; used
/// last.
type Rank = (bool, usize, usize, u32, usize, u64);

/// The worker for a request of `crew` that should take `expected` microseconds, if one is to have it now. `cost`:
/// how unwelcome it is to a worker, as `sessions` has it; `None` for one that is not to have it.
pub(crate) fn choose(
    workers: &Slab<Worker>,
    crew: Crew,
    runs: Runs,
    expected: Option<u32>,
    cost: impl Fn(&Worker) -> Option<usize>,
) -> Option<usize> {
    // the clock is read only when a worker that is busy may get it
    let clock = OnceCell::new();
    let now = || *clock.get_or_init(Instant::now);
    let quick = expected.is_some_and(|e| e <= QUICK);
    let is_swift = |lane: &Lane| lane.load(runs).quiet_for(now()) < SLOW;
    let (mut spare, mut together, mut ahead) = (None::<(Rank, usize)>, None, None::<(u64, usize)>);
    for (at, worker) in workers.iter().filter(|(_, w)| w.crew == crew) {
        let Some(lane) = worker.open(runs) else { continue };
        if runs != Runs::Inline && lane.is_blocked(now, SLOW) {
            continue;
        }
        let Some(cost) = cost(worker) else { continue };
        let (load, width) = (lane.load(runs), lane.width_of(runs));
        let most = MOST.min(lane.room());
        let fits = |micros: u64| load.micros <= micros * width as u64;
        if quick && load.n > 0 && fits(TOGETHER) && load.n < most && together.is_none() && is_swift(lane) {
            together = Some(at);
        }
        if load.n < width {
            let (running, under_way) = (usize::MAX - lane.running(), usize::MAX - lane.len());
            let cheap = usize::MAX - cost;
            let rank = (!lane.is_away(), cheap, running, u32::MAX - lane.missed(), under_way, worker.last_turn);
            if spare.is_none_or(|(best, _)| rank > best) {
                spare = Some((rank, at));
            }
            continue;
        }
        let one_ahead = load.n < most.min(2 * width) && fits(LONG.into());
        let takes = if quick {
            (fits(AHEAD) && load.n < most || one_ahead) && is_swift(lane)
        } else {
            expected.is_some_and(|e| e <= LONG) && one_ahead
        };
        if takes && ahead.is_none_or(|(least, _)| load.micros < least) {
            ahead = Some((load.micros, at));
        }
    }
    match spare {
        Some((_, spare)) => Some(together.unwrap_or(spare)),
        None => ahead.map(|(_, at)| at),
    }
}

/// Whether R of this worker is to have a request now that should take `expected` microseconds and that no other worker
/// may have: it is free, or at quick ones, and this is one, too.
pub(crate) fn has_time(worker: &Worker, expected: Option<u32>) -> bool {
    let Some(lane) = worker.lane(Of::R).filter(|lane| lane.room() > 0 && lane.link.has_room()) else { return false };
    let load = lane.load(Runs::R);
    let is_quick = || expected.is_some_and(|e| e <= QUICK) && load.micros <= AHEAD && load.n < MOST.min(lane.room());
    worker.interrupted.is_none() && (load.n == 0 || (is_quick() && load.quiet_for(Instant::now()) < SLOW))
}

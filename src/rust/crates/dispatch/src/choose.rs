//! Which worker a request goes to. The rules, first match first:
//!
//! 1. A quick request goes along with quick ones to a worker that is at it already, while together they take next to no time:
//!    waking another one would cost more than the wait.
//! 2. An idle worker, the one used last: its caches are warm, and those that are not needed can be told.
//! 3. With all workers busy, quick requests are handed ahead up to a millisecond of work, and one that is not long is handed
//!    ahead to each worker, so that it finds its next request when it has replied.
//! 4. Otherwise it waits, for whichever worker is free first.
//!
//! What was handed ahead is taken back when the request before it turns out slow: see `check`.

use crate::seat::Placed;
use slab::Slab;
use std::time::{Duration, Instant};

/// A handler that is expected to take less, in microseconds, is quick.
const QUICK: u32 = 100;
/// Quick requests share a worker up to this much work, in microseconds, even if others are idle.
const TOGETHER: u32 = 200;
/// With none idle, up to this much.
const AHEAD: u32 = 1_000;
/// And up to this many requests.
const MOST: usize = 256;
/// A handler that is expected to take more, in microseconds, has none handed ahead behind it, and is not handed ahead itself.
const LONG: u32 = 10_000;
/// A request that has run so long is slow, whatever was expected: nothing is added behind it.
pub(crate) const SLOW: Duration = Duration::from_micros(500);

/// The seat for a request of `generation` that is expected to take so many microseconds, if one is to have it now.
pub(crate) fn choose(seats: &Slab<Placed>, generation: u32, expected: Option<u32>) -> Option<usize> {
    let quick = expected.is_some_and(|e| e <= QUICK);
    let (mut idle, mut together, mut ahead) = (None::<(u64, usize)>, None, None::<(u32, usize)>);
    for (at, seat) in seats.iter().filter(|(_, s)| s.generation == generation && s.is_open()) {
        if seat.is_idle() {
            if idle.is_none_or(|(turn, _)| seat.last_turn > turn) {
                idle = Some((seat.last_turn, at));
            }
            continue;
        }
        let load = seat.load();
        if quick && load <= AHEAD && seat.assigned().len() < MOST {
            if load <= TOGETHER && together.is_none() {
                together = Some(at);
            }
        } else if seat.assigned().len() > 1 || expected.is_none_or(|e| e > LONG) || load > LONG {
            continue;
        }
        if ahead.is_none_or(|(least, _)| load < least) {
            ahead = Some((load, at));
        }
    }
    // the clock is read only when a worker that is busy may get it
    let is_swift = |at: &usize| seats[*at].running_for(Instant::now()) < SLOW;
    match idle {
        Some((_, idle)) => Some(together.filter(is_swift).unwrap_or(idle)),
        None => ahead.map(|(_, at)| at).filter(|at| !quick || is_swift(at)),
    }
}

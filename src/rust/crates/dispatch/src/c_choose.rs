//! Which worker process a request for a handler in C goes to. The rules, first match first:
//!
//! 1. A quick request goes along with quick ones to a process that is at it already, while together they take next to no time, as in
//!    `choose`: waking another process costs more.
//! 2. Otherwise to the one with the fewest requests that has a thread to spare; inline ones, to one whose link is idle.
//! 3. With all threads busy, quick requests are handed ahead, so that no thread waits for the server between two of them.
//! 4. Otherwise it waits.
//!
//! Nothing is handed behind handlers that turn out slow, and what was is taken back: see `check`.

use crate::c_seat::CSeat;
use crate::choose::SLOW;
use crate::runs::Runs;
use crate::seat::Placed;
use slab::Slab;
use std::cell::OnceCell;
use std::time::Instant;

/// A handler that is expected to take less, in microseconds, is quick.
const QUICK: u32 = 100;
/// Quick requests share a process up to this much work for each of its threads, in microseconds.
const TOGETHER: u64 = 200;
/// Work that is handed ahead to a thread, in microseconds.
const AHEAD: u64 = 1_000;
/// Requests that are handed ahead to a thread.
const MOST: usize = 64;
/// Requests with the thread of a link, at most.
const MOST_INLINE: usize = 256;

/// How good a seat is; the greatest is best.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Fit {
    Ahead,
    Spare,
    Together,
}

/// The seat for a request of `generation` that is expected to take so many microseconds, if one is to have it now.
pub(crate) fn choose(seats: &Slab<Placed>, generation: u32, runs: Runs, expected: Option<u32>) -> Option<usize> {
    // the clock is read only when a process that is busy may get it
    let clock = OnceCell::new();
    let now = || *clock.get_or_init(Instant::now);
    let mut best: Option<((Fit, i64, u64), usize)> = None;
    for (at, seat) in seats.iter().filter(|(_, s)| s.generation == generation && !s.retiring) {
        let Some(c) = seat.c.as_ref().filter(|c| c.line.has_room()) else { continue };
        let fit = match runs {
            Runs::Inline => inline(c, expected, &now),
            _ => pool(c, expected, &now),
        };
        let Some(fit) = fit else { continue };
        let rank = match fit {
            // always the same one, so that the others sleep
            Fit::Together => (fit, -(at as i64), 0),
            // the one used last is the warmest
            _ => (fit, -(c.running() as i64), seat.last_turn),
        };
        if best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, at));
        }
    }
    best.map(|(_, at)| at)
}

fn inline(c: &CSeat, expected: Option<u32>, now: &impl Fn() -> Instant) -> Option<Fit> {
    if c.inline.n == 0 {
        return Some(Fit::Spare);
    }
    let fits = expected.is_some() && c.inline.n < MOST_INLINE && c.inline.micros <= AHEAD;
    if !fits || c.inline.quiet_for(now()) >= SLOW {
        return None;
    }
    Some(if c.inline.micros <= TOGETHER { Fit::Together } else { Fit::Ahead })
}

fn pool(c: &CSeat, expected: Option<u32>, now: &impl Fn() -> Instant) -> Option<Fit> {
    // the thread of the link hands requests on: while it is in a slow handler itself, they wait
    if c.inline.n > 0 && c.inline.quiet_for(now()) >= SLOW {
        return None;
    }
    let (n, threads) = (c.pool.n, c.threads);
    let quick = expected.is_some_and(|e| e <= QUICK) && n > 0 && c.pool.micros <= TOGETHER * threads as u64;
    if n < threads {
        return Some(if quick { Fit::Together } else { Fit::Spare });
    }
    let each = AHEAD / u64::from(expected?.max(1));
    let ahead = threads * usize::try_from(each).unwrap_or(MOST).min(MOST);
    if n >= threads + ahead || c.pool.quiet_for(now()) >= SLOW {
        return None;
    }
    Some(if quick { Fit::Together } else { Fit::Ahead })
}

//! Words that loom follows, in place of those of the standard library; see there for what the functions do.
//!
//! Each place in the code that asks for an ordering is remembered, and one of them may be given a weaker one
//! (`weaken`). Each use is a step at which a thread may stop for ever ([`mortal`]).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe, Location};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// A place that asks for an ordering: file, line, column, and which argument.
pub(super) type Place = (&'static str, u32, u32, u8);

/// The orderings asked for so far, but for relaxed ones, which cannot be weaker.
static ASKED: Mutex<BTreeMap<Place, Ordering>> = Mutex::new(BTreeMap::new());
/// The place that gets another ordering than it asks for.
static WEAKENED: Mutex<Option<(Place, Ordering)>> = Mutex::new(None);

/// All places seen so far, with the orderings they ask for.
pub(super) fn places() -> BTreeMap<Place, Ordering> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// From now on this place gets this ordering.
pub(super) fn set_weakened(weakened: Option<(Place, Ordering)>) {
    *WEAKENED.lock().unwrap_or_else(PoisonError::into_inner) = weakened;
}

fn ordering(asked: Ordering, caller: &'static Location<'static>, argument: u8) -> Ordering {
    if asked == Ordering::Relaxed {
        return asked;
    }
    let place = (caller.file(), caller.line(), caller.column(), argument);
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).insert(place, asked);
    match *WEAKENED.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((weakened, weaker)) if weakened == place => weaker,
        _ => asked,
    }
}

loom::thread_local! {
    /// How many steps this thread has left; none: it does not die.
    static LEFT: Cell<Option<u32>> = Cell::new(None);
}

/// Thrown to end a thread.
struct Stopped;

/// Runs `life` on this thread until it ends or has done `steps` steps: then the thread does nothing any more.
pub(super) fn mortal(steps: u32, life: impl FnOnce()) {
    LEFT.with(|left| left.set(Some(steps)));
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(life)) {
        if !thrown.is::<Stopped>() {
            resume_unwind(thrown);
        }
    }
    LEFT.with(|left| left.set(None));
}

fn step() {
    let dies = LEFT.with(|left| match left.get() {
        None => false,
        Some(0) => true,
        Some(n) => {
            left.set(Some(n - 1));
            false
        }
    });
    if dies {
        // without the message of a panic: this is no fault
        resume_unwind(Box::new(Stopped));
    }
}

#[derive(Debug)]
pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

impl AtomicU64 {
    pub(super) fn new(value: u64) -> Self {
        AtomicU64(loom::sync::atomic::AtomicU64::new(value))
    }

    #[track_caller]
    pub(crate) fn load(&self, asked: Ordering) -> u64 {
        step();
        self.0.load(ordering(asked, Location::caller(), 0))
    }

    #[track_caller]
    pub(crate) fn store(&self, value: u64, asked: Ordering) {
        step();
        self.0.store(value, ordering(asked, Location::caller(), 0));
    }

    #[track_caller]
    pub(crate) fn swap(&self, value: u64, asked: Ordering) -> u64 {
        step();
        self.0.swap(value, ordering(asked, Location::caller(), 0))
    }

    #[track_caller]
    pub(crate) fn compare_exchange(&self, old: u64, new: u64, asked: Ordering, failed: Ordering) -> Result<u64, u64> {
        step();
        let caller = Location::caller();
        self.0.compare_exchange(old, new, ordering(asked, caller, 0), ordering(failed, caller, 1))
    }
}

#[track_caller]
pub(crate) fn fence(asked: Ordering) {
    step();
    loom::sync::atomic::fence(ordering(asked, Location::caller(), 0));
}

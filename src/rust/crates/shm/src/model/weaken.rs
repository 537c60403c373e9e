//! The tests: that all models hold, and that each ordering of the crate is needed for it.

use super::words::{places, set_weakened, Place};
use super::MODELS;
use std::panic::{set_hook, take_hook};
use std::sync::atomic::Ordering;
use std::sync::OnceLock;
use std::time::Instant;

/// Of the models with the code as it is: which hold.
static AS_IT_IS: OnceLock<Vec<bool>> = OnceLock::new();

fn hold_as_it_is() -> &'static [bool] {
    AS_IT_IS.get_or_init(|| {
        let timed = MODELS.iter().map(|(name, model)| {
            let begun = Instant::now();
            let holds = holds(*model);
            println!("{:6.2} s  {name}: {}", begun.elapsed().as_secs_f64(), if holds { "holds" } else { "FAILS" });
            holds
        });
        timed.collect()
    })
}

/// Whether a model holds. It has a thread of its own: loom leaves what it knows with the thread when a model fails.
fn holds(model: fn()) -> bool {
    std::thread::spawn(model).join().is_ok()
}

/// The orderings next below one.
fn weaker(ordering: Ordering) -> &'static [Ordering] {
    match ordering {
        Ordering::SeqCst => &[Ordering::AcqRel],
        Ordering::AcqRel => &[Ordering::Acquire, Ordering::Release],
        Ordering::Acquire | Ordering::Release => &[Ordering::Relaxed],
        _ => &[],
    }
}

#[test]
fn the_models_hold() {
    assert!(hold_as_it_is().iter().all(|holds| *holds));
}

#[test]
fn every_ordering_weakened_once_makes_a_model_fail() {
    // also: all places are known after this, and the other test does not run a model while one is weakened
    assert!(hold_as_it_is().iter().all(|holds| *holds));
    let asked = places();
    let weakened: Vec<(Place, Ordering)> =
        asked.iter().flat_map(|(place, asked)| weaker(*asked).iter().map(|weaker| (*place, *weaker))).collect();
    // the failures wanted here would fill the output
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let found = weakened.iter().map(|(place, weaker)| {
        set_weakened(Some((*place, *weaker)));
        let found = MODELS.iter().find(|(_, model)| !holds(*model));
        (place, weaker, found.map(|(name, _)| *name))
    });
    let found: Vec<_> = found.collect();
    set_weakened(None);
    set_hook(hook);
    for ((file, line, ..), weaker, found) in &found {
        println!("{file}:{line} {weaker:?}: {}", found.unwrap_or("NOTHING FAILS"));
    }
    let rings = asked.keys().filter(|(file, ..)| file.ends_with("ring.rs")).count();
    let fences = asked.values().filter(|ordering| **ordering == Ordering::SeqCst).count();
    assert!(rings >= 4 && fences >= 2, "the models do not reach all orderings: {asked:?}");
    assert!(found.iter().all(|(.., found)| found.is_some()), "an ordering that no model needs; see above");
}

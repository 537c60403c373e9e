//! All generations that have processes, the one that requests go to, and the reload that waits.
//!
//! Not for what is done about them, which takes the rest of the supervisor (`takeover`). Neighbour: `generation`,
//! one of them.

use crate::generation::{Generation, GenerationStage};
use crate::source::{Launch, Source};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// See the module.
#[derive(Debug, Default)]
pub struct Generations {
    all: BTreeMap<u32, Generation>,
    current: Option<u32>,
    waiting: Option<Source>,
    last: u32,
}

impl Generations {
    /// One begins to load, and takes over when `of` workers are ready. Answers its number: they are counted from 1.
    pub fn begin(&mut self, launch: Option<Launch>, spawns: bool, of: usize, now: Instant, deadline: Instant) -> u32 {
        self.last += 1;
        self.all.insert(self.last, Generation::new(launch, spawns, of, now, deadline));
        self.last
    }

    /// The generation of this number.
    pub fn get(&self, number: u32) -> Option<&Generation> {
        self.all.get(&number)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Generation> {
        self.all.get_mut(&number)
    }

    /// It does not come about. Whether there was one.
    pub fn discard(&mut self, number: u32) -> bool {
        self.all.remove(&number).is_some()
    }

    /// The numbers of all, the oldest first.
    pub fn numbers(&self) -> Vec<u32> {
        self.all.keys().copied().collect()
    }

    /// The one that requests go to.
    pub fn current(&self) -> Option<u32> {
        self.current
    }

    /// Whether it is this one.
    pub fn is_current(&self, number: u32) -> bool {
        self.current == Some(number)
    }

    /// The one that prepares: there is one at most.
    pub fn preparing(&self) -> Option<u32> {
        self.all.iter().find(|(_, generation)| generation.is_preparing()).map(|(&number, _)| number)
    }

    /// Whether this one prepares.
    pub fn is_preparing(&self, number: u32) -> bool {
        self.get(number).is_some_and(Generation::is_preparing)
    }

    /// Where this one is in its life.
    pub fn stage(&self, number: u32) -> Option<GenerationStage> {
        self.get(number).map(|generation| generation.stage)
    }

    /// Requests go to this one from now on. Answers the one that they went to; there is none at the start, and none
    /// when the app could not be loaded so far.
    pub fn take_over(&mut self, number: u32) -> Option<u32> {
        let old = self.current.replace(number);
        if let Some(generation) = self.all.get_mut(&number) {
            generation.stage = GenerationStage::Serving;
        }
        if let Some(generation) = old.and_then(|old| self.all.get_mut(&old)) {
            generation.stage = GenerationStage::Draining { dry: false };
            generation.restart = None;
        }
        old
    }

    /// There is none that requests go to, until another takes over. Answers the one that they went to.
    pub fn rest(&mut self) -> Option<u32> {
        let number = self.current.take()?;
        self.all.remove(&number);
        Some(number)
    }

    /// One that another has taken the place of has no request left for a pool.
    pub fn drained(&mut self, number: u32, pool: u8) {
        if let Some(generation) = self.all.get_mut(&number).filter(|generation| !generation.is_preparing()) {
            if !generation.is_now_dry(pool) {
                return;
            }
            generation.stage = GenerationStage::Draining { dry: true };
        }
    }

    /// Removes those that are dry and have no workers left. Answers their numbers.
    pub fn settle(&mut self, has_workers: impl Fn(u32) -> bool) -> Vec<u32> {
        let dry = |generation: &Generation| generation.stage == GenerationStage::Draining { dry: true };
        let over = self.all.iter().filter(|(number, generation)| dry(generation) && !has_workers(**number));
        let over: Vec<u32> = over.map(|(&number, _)| number).collect();
        self.all.retain(|number, _| !over.contains(number));
        over
    }

    /// Keeps what is to be loaded after what is being loaded now. Whether it takes the place of another.
    pub fn put_off(&mut self, source: Source) -> bool {
        self.waiting.replace(source).is_some()
    }

    /// What was put off, if something was.
    pub fn take_waiting(&mut self) -> Option<Source> {
        self.waiting.take()
    }

    /// Those for which the clock has come.
    pub fn due_by(&self, now: Instant) -> Vec<u32> {
        self.all.iter().filter(|(_, g)| g.due().is_some_and(|at| at <= now)).map(|(&number, _)| number).collect()
    }

    /// When the clock must be looked at next.
    pub fn due(&self) -> Option<Instant> {
        self.all.values().filter_map(Generation::due).min()
    }

    /// Of those that prepare for long: what each does, and for how long it has been preparing, as often as that is to
    /// be said.
    pub fn slow(&mut self, now: Instant) -> Vec<(&'static str, Duration)> {
        let doing =
            |generation: &Generation| if generation.app.is_some() { "its workers start" } else { "it is loaded" };
        self.all.values_mut().filter_map(|g| g.has_word(now).map(|took| (doing(g), took))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(100);

    fn begin(generations: &mut Generations, now: Instant) -> u32 {
        generations.begin(None, true, 2, now, now + DEADLINE)
    }

    #[test]
    fn one_prepares_takes_over_and_drains() {
        let now = Instant::now();
        let mut generations = Generations::default();
        let first = begin(&mut generations, now);
        assert_eq!((first, generations.current(), generations.preparing()), (1, None, Some(1)));
        assert_eq!(generations.take_over(first), None);
        assert_eq!((generations.current(), generations.preparing()), (Some(1), None));
        let second = begin(&mut generations, now);
        assert_eq!(generations.take_over(second), Some(1));
        assert_eq!(generations.stage(1), Some(GenerationStage::Draining { dry: false }));
        assert!(generations.settle(|_| false).is_empty());
        generations.drained(1, 0);
        assert!(generations.settle(|number| number == 1).is_empty());
        assert_eq!(generations.settle(|_| false), [1]);
        assert_eq!((generations.numbers(), generations.stage(2)), (vec![2], Some(GenerationStage::Serving)));
    }

    #[test]
    fn one_that_rests_is_gone_and_the_next_takes_over_from_none() {
        let now = Instant::now();
        let mut generations = Generations::default();
        let first = begin(&mut generations, now);
        generations.take_over(first);
        assert_eq!((generations.rest(), generations.rest(), generations.current()), (Some(1), None, None));
        let second = begin(&mut generations, now);
        assert_eq!((second, generations.take_over(second)), (2, None));
    }

    #[test]
    fn a_number_is_not_used_again() {
        let now = Instant::now();
        let mut generations = Generations::default();
        let failed = begin(&mut generations, now);
        assert!(generations.discard(failed) && !generations.discard(failed));
        assert_eq!(begin(&mut generations, now), failed + 1);
    }

    #[test]
    fn the_last_reload_that_was_put_off_counts() {
        let source = |program: &str| Source::Command { program: program.into(), args: Vec::new(), env: Vec::new() };
        let mut generations = Generations::default();
        assert!(!generations.put_off(source("one")));
        assert!(generations.put_off(source("two")));
        let waiting = generations.take_waiting();
        assert!(matches!(&waiting, Some(Source::Command { program, .. }) if program == "two"), "{waiting:?}");
        assert!(generations.take_waiting().is_none());
    }

    #[test]
    fn one_that_prepares_for_long_is_spoken_of_until_its_deadline() {
        let now = Instant::now();
        let mut generations = Generations::default();
        let number = begin(&mut generations, now);
        let due = generations.due().unwrap();
        assert!(due > now && due < now + DEADLINE);
        assert!(generations.slow(now).is_empty());
        assert_eq!((generations.due_by(due), generations.slow(due)), (vec![number], vec![("it is loaded", due - now)]));
        assert!(generations.slow(due).is_empty());
        assert_eq!(generations.due_by(now + DEADLINE), [number]);
        assert!(generations.slow(now + DEADLINE).is_empty());
    }
}

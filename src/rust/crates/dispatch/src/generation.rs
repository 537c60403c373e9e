//! What the dispatcher knows of one generation of the app: the requests that wait for its workers, and how long its
//! routes have lately taken.

use crate::fair::Waiting;
use crate::request::Key;
use crate::runs::Runs;
use crate::submission::Origin;
use exchange::follow;
use std::collections::BTreeMap;

/// What a request stands in line for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// any handler of this kind
    Of(Runs),
    /// R of a worker that may have one more session: others do not wait behind it
    Session,
}

impl Line {
    /// All that there are.
    pub(crate) const ALL: [Line; 4] = [Line::Of(Runs::R), Line::Of(Runs::Inline), Line::Of(Runs::Pool), Line::Session];

    fn index(self) -> usize {
        match self {
            Line::Of(runs) => runs as usize,
            Line::Session => Line::ALL.len() - 1,
        }
    }
}

pub(crate) struct Generation {
    pub id: u32,
    /// requests without a worker by what they wait for; some may have ended since
    waiting: [Waiting; Line::ALL.len()],
    /// requests that wait for others of their route, to be in a batch with them, before they stand in line
    gathering: BTreeMap<u32, Waiting>,
    /// another has taken over: this one ends when its requests have
    pub closing: bool,
    pace: Vec<Option<u32>>,
}

impl Generation {
    pub(crate) fn new(id: u32) -> Self {
        Generation { id, waiting: Default::default(), gathering: BTreeMap::new(), closing: false, pace: Vec::new() }
    }

    /// The requests in one line: those that wait for a thread do not hold up those that wait for R.
    pub(crate) fn waiting(&mut self, line: Line) -> &mut Waiting {
        &mut self.waiting[line.index()]
    }

    /// One more of this route waits for others: how many do.
    pub(crate) fn gather(&mut self, route: u32, from: Origin, key: Key) -> usize {
        let gathering = self.gathering.entry(route).or_default();
        gathering.push(from, key);
        gathering.len()
    }

    /// Those of this route wait for no more.
    pub(crate) fn gathered(&mut self, route: u32) -> Vec<(Origin, Key)> {
        self.gathering.remove(&route).map(|gathering| gathering.all()).unwrap_or_default()
    }

    /// The routes of which some wait for others, with those that may be the oldest of them.
    pub(crate) fn gathering(&self) -> impl Iterator<Item = (u32, Key)> + '_ {
        self.gathering.iter().flat_map(|(route, of)| of.oldest().map(|key| (*route, key)))
    }

    /// How many wait in all.
    pub(crate) fn waits(&self) -> usize {
        self.in_line() + self.gathering.values().map(Waiting::len).sum::<usize>()
    }

    /// How many wait for workers.
    pub(crate) fn in_line(&self) -> usize {
        self.waiting.iter().map(Waiting::len).sum()
    }

    /// Those that have waited longest for a worker are among these.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = Key> + '_ {
        self.waiting.iter().flat_map(Waiting::oldest)
    }

    /// It is not wanted any more.
    pub(crate) fn forget(&mut self, from: Origin, key: Key) {
        self.waiting.iter_mut().chain(self.gathering.values_mut()).for_each(|queue| queue.forget(from, key));
        self.gathering.retain(|_, of| !of.is_empty());
    }

    /// The client of which most wait for the same, and that; `None` when nothing waits.
    pub(crate) fn longest(&self) -> Option<(&Waiting, u64, usize)> {
        let each = self.waiting.iter().filter_map(|queue| queue.longest().map(|(client, len)| (queue, client, len)));
        each.max_by_key(|&(_, _, len)| len)
    }

    /// All that wait.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Key> {
        let all = self.waiting.iter_mut().chain(self.gathering.values_mut());
        let all: Vec<_> = all.flat_map(Waiting::take_all).collect();
        self.gathering.clear();
        all.into_iter()
    }

    /// Whether it ends, and nothing waits for its workers any more.
    pub(crate) fn is_over(&self) -> bool {
        self.closing && self.waits() == 0
    }

    fn index(route: u32) -> usize {
        // the not-found handler, u32::MAX, comes first
        route.wrapping_add(1) as usize
    }

    /// Microseconds that a handler of this route is expected to take; `None` before the first.
    pub(crate) fn expected(&self, route: u32) -> Option<u32> {
        self.pace.get(Self::index(route)).copied().flatten()
    }

    /// One took so long.
    pub(crate) fn took(&mut self, route: u32, micros: u32) {
        let index = Self::index(route);
        if index >= self.pace.len() {
            self.pace.resize(index + 1, None);
        }
        let before = self.pace[index].unwrap_or(micros);
        self.pace[index] = Some(follow(before, micros, 100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pause_is_forgiven_and_a_slow_route_is_not() {
        let mut g = Generation::new(1);
        assert_eq!(g.expected(0), None);
        for _ in 0..100 {
            g.took(0, 3);
        }
        assert_eq!(g.expected(0), Some(3));
        g.took(0, 5_000);
        assert!(g.expected(0).unwrap() < 25);
        for _ in 0..40 {
            g.took(0, 3);
        }
        assert!(g.expected(0).unwrap() <= 4);
        for _ in 0..6 {
            g.took(0, 300_000);
        }
        assert!(g.expected(0).unwrap() > 200);
        g.took(u32::MAX, 9);
        assert_eq!((g.expected(u32::MAX), g.expected(7)), (Some(9), None));
    }
}

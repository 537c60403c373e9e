//! What the dispatcher knows of one generation of the app, as far as one pool of its workers goes: the requests that
//! wait for them, and how long its routes take, which `pace` has.

use crate::crew::Crew;
use crate::fair::Waiting;
use crate::pace::Paces;
use crate::request::Key;
use crate::runs::Runs;
use crate::submission::Origin;
use std::collections::BTreeMap;

/// What a request stands in line for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// any handler of this kind
    Of(Runs),
    /// R, for a handler that takes far less time than others of the app: see `express`
    Short,
    /// R of a worker that may have one more session: others do not wait behind it
    Session,
}

impl Line {
    /// All that there are.
    pub(crate) const ALL: [Line; 5] =
        [Line::Of(Runs::R), Line::Of(Runs::Inline), Line::Of(Runs::Pool), Line::Short, Line::Session];

    fn index(self) -> usize {
        match self {
            Line::Of(runs) => runs as usize,
            Line::Short => 3,
            Line::Session => 4,
        }
    }
}

pub(crate) struct Generation {
    /// its workers
    pub crew: Crew,
    /// requests without a worker by what they wait for; some may have ended since
    waiting: [Waiting; Line::ALL.len()],
    /// requests that wait for others of their route, to be in a batch with them, before they stand in line
    gathering: BTreeMap<u32, Waiting>,
    /// another has taken over: this one ends when its requests have
    pub closing: bool,
    /// how long its routes have lately taken
    pub paces: Paces,
    /// R that is free has a short request next, if one waits
    pub short_is_next: bool,
}

impl Generation {
    pub(crate) fn new(crew: Crew) -> Self {
        Generation {
            crew,
            waiting: Default::default(),
            gathering: BTreeMap::new(),
            closing: false,
            paces: Paces::default(),
            short_is_next: false,
        }
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
}

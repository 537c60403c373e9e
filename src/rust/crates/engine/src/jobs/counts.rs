//! How many jobs there are. The store looks at all of them to count them: what it has counted is told for a while.

use super::{locked, Jobs};
use ::jobs::{State, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::iter::Sum;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long counts are told for, at least.
const FRESH: Duration = Duration::from_secs(1);

/// They are told for this many times as long as counting took: it is to take no more than a twentieth of the store's
/// time, however many jobs there are.
const TIMES: u32 = 20;

/// How many jobs are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCounts {
    /// a worker is to have them
    pub waiting: u64,
    /// a worker has them
    pub running: u64,
    /// they may be begun later
    pub scheduled: u64,
    /// they have a result
    pub done: u64,
    /// they have none
    pub failed: u64,
    /// they were not wanted any more
    pub cancelled: u64,
}

impl JobCounts {
    /// By the names of the states, in the order of a job's life.
    pub fn by_state(&self) -> [(&'static str, u64); 6] {
        self.counts().map(|(state, n)| (state.name(), n))
    }

    fn counts(&self) -> [(State, u64); 6] {
        [
            (State::Waiting, self.waiting),
            (State::Running, self.running),
            (State::Scheduled, self.scheduled),
            (State::Done, self.done),
            (State::Failed, self.failed),
            (State::Cancelled, self.cancelled),
        ]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == JobCounts::default()
    }

    fn add(&mut self, state: State, n: u64) {
        let count = match state {
            State::Waiting => &mut self.waiting,
            State::Running => &mut self.running,
            State::Scheduled => &mut self.scheduled,
            State::Done => &mut self.done,
            State::Failed => &mut self.failed,
            State::Cancelled => &mut self.cancelled,
        };
        *count += n;
    }
}

impl Sum for JobCounts {
    fn sum<I: Iterator<Item = JobCounts>>(all: I) -> Self {
        let mut sum = JobCounts::default();
        all.flat_map(|one| one.counts()).for_each(|(state, n)| sum.add(state, n));
        sum
    }
}

/// The counts of each kind.
#[derive(Clone, Debug, Default)]
pub struct Counts(pub Vec<(String, JobCounts)>);

impl Counts {
    /// Counts now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        let kinds = store.counts()?.into_iter().map(|(kind, states)| {
            let mut counts = JobCounts::default();
            states.into_iter().for_each(|(state, n)| counts.add(state, n));
            (kind, counts)
        });
        Ok(Counts(kinds.collect()))
    }

    /// Those of all kinds.
    pub fn all(&self) -> JobCounts {
        let mut all = JobCounts::default();
        for (state, n) in self.0.iter().flat_map(|(_, counts)| counts.counts()) {
            all.add(state, n);
        }
        all
    }
}

/// How many attempts have ended, by the kinds of their jobs and what came of them.
pub type Attempts = BTreeMap<(String, &'static str), u64>;

/// What was counted last.
#[derive(Default)]
pub struct Counted {
    counts: Arc<Counts>,
    /// `None` before the first time
    until: Option<Instant>,
}

impl Jobs {
    /// How many there are; none where they cannot be counted.
    pub async fn counts(&self) -> Arc<Counts> {
        let (reply, counted) = oneshot::channel();
        let mut reply = Some(reply);
        self.count(move |counts| drop(reply.take().map(|reply| reply.send(counts))));
        counted.await.unwrap_or_default()
    }

    /// The same, for threads that may wait, within this time.
    pub fn counts_within(&self, patience: Duration) -> Arc<Counts> {
        let (reply, counted) = sync_channel(1);
        self.count(move |counts| drop(reply.try_send(counts)));
        counted.recv_timeout(patience).unwrap_or_default()
    }

    /// An attempt has ended, after which its job is in this state.
    pub fn attempt_ended(&self, kind: &str, state: State) {
        let end = if state.is_over() { state.name() } else { "retried" };
        *locked(&self.attempts).entry((kind.to_owned(), end)).or_default() += 1;
    }

    /// How many have, since the server began.
    pub fn attempts(&self) -> Attempts {
        locked(&self.attempts).clone()
    }

    /// Has `then` called with the counts, or dropped: at once, or by the thread of the store.
    fn count(&self, mut then: impl FnMut(Arc<Counts>) + Send + 'static) {
        let Some(desk) = self.desk.get() else { return then(Arc::default()) };
        // not this: the thread of the store must not be the last to have it
        let counted = self.counted.clone();
        if let Some(fresh) = fresh(&counted) {
            return then(fresh);
        }
        drop(desk.ask(move |store| {
            // another one may have asked a moment before
            let counts = match fresh(&counted) {
                Some(fresh) => fresh,
                None => {
                    let began = Instant::now();
                    let counts = Arc::new(Counts::of(store)?);
                    let until = Instant::now() + FRESH.max(began.elapsed() * TIMES);
                    *locked(&counted) = Counted { counts: counts.clone(), until: Some(until) };
                    counts
                }
            };
            then(counts);
            Ok(())
        }));
    }
}

fn fresh(counted: &Mutex<Counted>) -> Option<Arc<Counts>> {
    let counted = locked(counted);
    counted.until.filter(|until| Instant::now() < *until).map(|_| counted.counts.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_for_a_while_and_not_longer() {
        let counts = Arc::new(Counts(vec![
            ("POST /a".into(), JobCounts { waiting: 2, failed: 1, ..JobCounts::default() }),
            ("POST /b".into(), JobCounts { waiting: 3, ..JobCounts::default() }),
        ]));
        let until = |until| Mutex::new(Counted { counts: counts.clone(), until });
        let now = Instant::now();
        assert!(fresh(&until(None)).is_none() && fresh(&until(Some(now))).is_none());
        let told = fresh(&until(Some(now + Duration::from_secs(60)))).unwrap().all();
        assert_eq!(told, JobCounts { waiting: 5, failed: 1, ..JobCounts::default() });
        assert!(!told.is_empty() && JobCounts::default().is_empty());
        let mut of_each = JobCounts::default();
        State::ALL.into_iter().zip(1..).for_each(|(state, n)| of_each.add(state, n));
        for (state, n) in State::ALL.into_iter().zip(1..) {
            assert!(of_each.by_state().contains(&(state.name(), n)), "{state:?}");
        }
    }
}

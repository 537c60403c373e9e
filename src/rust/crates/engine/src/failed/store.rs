//! Where failed requests are kept. Parts of one come by different ways, in any order: the request and its answer from
//! the I/O thread that had it, its error from the log, and its seed from the worker. What comes before its request
//! waits for it.

use super::redact::Redact;
use super::{FailedLine, FailedRequest};
use observe::RecentError;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Requests whose error or seed is here before them. An error waits for as long as its reply is on its way; and what
/// ends without a 500 leaves some, too.
const MOST_LOOSE: usize = 64;
/// Longest seed in words: that of the largest generator of R has 626.
const LONGEST_SEED: usize = 4096;

/// What a setting says of it.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub most: usize,
    pub bytes: u64,
    pub age: Duration,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct FailedRequests {
    bounds: Bounds,
    pub redact: Redact,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// the oldest first
    kept: VecDeque<Kept>,
    bytes: u64,
    loose: VecDeque<(u64, Loose)>,
}

/// A request, by the number that names it.
#[derive(Debug)]
pub(crate) struct Kept {
    pub id: u64,
    pub since: Instant,
    pub request: FailedRequest,
}

/// What is known of a request that is not here.
#[derive(Debug, Default)]
struct Loose {
    error: Option<RecentError>,
    seed: Option<Vec<i32>>,
}

impl FailedRequests {
    pub(crate) fn new(bounds: Bounds, redact: Redact) -> Self {
        FailedRequests { bounds, redact, state: Mutex::default() }
    }

    /// The longest body that is kept: what is longer would push all others out.
    pub(crate) fn longest_body(&self) -> u64 {
        self.bounds.bytes / 4
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // no code panics while holding this lock
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.kept.front().is_some_and(|kept| kept.since.elapsed() >= self.bounds.age) {
            state.forget_oldest();
        }
        state
    }

    /// Forgets those that are too old, which are otherwise forgotten when the next comes or somebody asks.
    pub(crate) fn forget_old(&self) {
        drop(self.state());
    }

    /// Keeps one more. The oldest go where there are too many.
    pub(crate) fn keep(&self, mut kept: Kept) {
        let mut state = self.state();
        if let Some(at) = state.loose.iter().position(|(id, _)| *id == kept.id) {
            if let Some((_, loose)) = state.loose.remove(at) {
                loose.join(&mut kept.request);
            }
        }
        state.bytes += kept.request.size();
        state.kept.push_back(kept);
        self.shrink(&mut state);
    }

    fn shrink(&self, state: &mut State) {
        while state.kept.len() > self.bounds.most || state.bytes > self.bounds.bytes {
            state.forget_oldest();
        }
    }

    /// The log has said this of a request.
    pub(crate) fn has_error(&self, error: &RecentError) {
        let id = error.request.as_deref().and_then(|id| u64::from_str_radix(id, 16).ok());
        if let Some(id) = id {
            self.add(id, Loose { error: Some(error.clone()), seed: None });
        }
    }

    /// A worker says what `.Random.seed` was when the handler of a request began: words of this machine.
    pub(crate) fn has_seed(&self, id: u64, seed: &[u8]) {
        let words = seed.chunks_exact(4).map(|word| i32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        if seed.len() <= 4 * LONGEST_SEED {
            self.add(id, Loose { error: None, seed: Some(words.collect()) });
        }
    }

    fn add(&self, id: u64, part: Loose) {
        let mut state = self.state();
        // most likely the last one
        if let Some(at) = state.kept.iter().rposition(|kept| kept.id == id) {
            let request = &mut state.kept[at].request;
            let before = request.size();
            part.join(request);
            let after = request.size();
            state.bytes = state.bytes + after - before;
            return self.shrink(&mut state);
        }
        match state.loose.iter_mut().find(|(other, _)| *other == id) {
            Some((_, loose)) => {
                // of several errors the one with a traceback is the cause, and otherwise the first
                let has_calls = loose.error.as_ref().is_some_and(|error| !error.calls.is_empty());
                loose.error = match part.error {
                    Some(error) if !has_calls && !error.calls.is_empty() => Some(error),
                    other => loose.error.take().or(other),
                };
                loose.seed = loose.seed.take().or(part.seed);
            }
            None => {
                if state.loose.len() == MOST_LOOSE {
                    state.loose.pop_front();
                }
                state.loose.push_back((id, part));
            }
        }
    }

    /// A line about each, the latest first.
    pub(crate) fn lines(&self) -> Vec<FailedLine> {
        self.state().kept.iter().rev().map(|kept| kept.request.line()).collect()
    }

    /// The request with this id, if it is still here.
    pub(crate) fn get(&self, id: u64) -> Option<FailedRequest> {
        self.state().kept.iter().rev().find(|kept| kept.id == id).map(|kept| kept.request.clone())
    }

    /// The ids of those that can be played again, as the log has them.
    pub(crate) fn ids(&self) -> Vec<String> {
        let state = self.state();
        let whole = state.kept.iter().map(|kept| &kept.request).filter(|request| request.is_replayable());
        whole.map(|request| request.id.clone()).collect()
    }
}

impl State {
    fn forget_oldest(&mut self) {
        if let Some(kept) = self.kept.pop_front() {
            self.bytes -= kept.request.size();
        }
    }
}

impl Loose {
    fn join(self, request: &mut FailedRequest) {
        // an app may log errors of its own: they are not why a handler took too long
        let is_cause = |error: &RecentError| request.error.is_empty() || !error.calls.is_empty();
        if let Some(error) = self.error.filter(|error| request.calls.is_empty() && is_cause(error)) {
            request.worker = request.worker.or(error.worker);
            request.error = without_head(error.message, request.status);
            request.calls = error.calls;
        }
        request.seed = request.seed.take().or(self.seed);
    }
}

/// A line of the log without client, method, path and status, which stand beside it.
fn without_head(message: String, status: u16) -> String {
    let head = format!(" {status} ");
    message.split_once(&head).map(|(_, rest)| rest.to_owned()).unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(most: usize, bytes: u64, age: Duration) -> FailedRequests {
        FailedRequests::new(Bounds { most, bytes, age }, Redact::new(&[]).unwrap())
    }

    fn kept(id: u64, body: usize) -> Kept {
        let request = FailedRequest { id: format!("{id:016x}"), status: 500, ..FailedRequest::default() };
        Kept { id, since: Instant::now(), request: request.with_body(vec![b'a'; body]) }
    }

    fn error(id: u64, message: &str) -> RecentError {
        let request = Some(format!("{id:016x}"));
        let calls = vec!["f()".to_owned()];
        RecentError { number: 1, at: 0, worker: Some(7), request, message: message.to_owned(), calls }
    }

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn the_oldest_go_first_by_number_and_by_size() {
        let ids = |store: &FailedRequests| store.lines().iter().map(|l| l.id[15..].to_owned()).collect::<String>();
        let few = store(2, u64::MAX, LONG);
        (1..=3).for_each(|id| few.keep(kept(id, 0)));
        assert_eq!(ids(&few), "32");
        let small = store(100, 6000, LONG);
        (1..=4).for_each(|id| small.keep(kept(id, 2000)));
        assert_eq!(ids(&small), "43");
        assert!(small.state().bytes <= 6000);
        // one that is too large for all of it pushes itself out as well, and what is counted is nothing
        small.keep(kept(5, 7000));
        assert_eq!((ids(&small).as_str(), small.state().bytes), ("", 0));
    }

    #[test]
    fn those_that_are_too_old_are_gone() {
        let store = store(10, u64::MAX, Duration::ZERO);
        store.keep(kept(1, 0));
        assert!(store.lines().is_empty() && store.get(1).is_none());
    }

    #[test]
    fn parts_come_in_any_order() {
        let store = store(10, u64::MAX, LONG);
        let seed: Vec<u8> = [403i32, -1].iter().flat_map(|word| word.to_ne_bytes()).collect();
        store.has_error(&error(1, "127.0.0.1 GET /a 500 it broke"));
        store.has_error(&error(1, "second"));
        store.has_seed(1, &seed);
        store.keep(kept(1, 0));
        store.keep(kept(2, 0));
        store.has_seed(2, &seed);
        store.has_error(&error(2, "late"));
        for (id, message) in [(1, "it broke"), (2, "late")] {
            let one = store.get(id).unwrap();
            assert_eq!((one.error.as_str(), one.worker, one.seed), (message, Some(7), Some(vec![403, -1])));
            assert_eq!(one.calls, ["f()"]);
        }
        assert_eq!(store.state().loose.len(), 0);
        let state = store.state();
        assert_eq!(state.bytes, state.kept.iter().map(|kept| kept.request.size()).sum::<u64>());
    }

    #[test]
    fn what_an_app_logs_is_not_the_cause_where_there_is_another() {
        let store = store(10, u64::MAX, LONG);
        let logged = |id, message| RecentError { calls: Vec::new(), ..error(id, message) };
        store.has_error(&logged(1, "of the app"));
        store.has_error(&error(1, "it broke"));
        store.has_error(&logged(1, "later"));
        store.keep(kept(1, 0));
        store.has_error(&logged(2, "of the app"));
        let mut late = kept(2, 0);
        late.request.error = "too late".to_owned();
        store.keep(late);
        store.has_error(&logged(3, "of the app"));
        store.keep(kept(3, 0));
        assert_eq!([1, 2, 3].map(|id| store.get(id).unwrap().error), ["it broke", "too late", "of the app"]);
    }

    #[test]
    fn what_belongs_to_no_request_is_bounded() {
        let store = store(10, u64::MAX, LONG);
        (0..1000).for_each(|id| store.has_seed(id, &[0; 8]));
        store.has_seed(5000, &vec![0; 4 * LONGEST_SEED + 4]);
        assert_eq!(store.state().loose.len(), MOST_LOOSE);
        assert!(store.state().loose.iter().all(|(id, _)| *id != 5000));
    }
}

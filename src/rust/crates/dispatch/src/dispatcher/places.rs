//! How many requests may wait for an answer: as many as the queue and the workers have places for, and beside them
//! those whose handlers have returned promises, which `lane` bounds for each worker. When there is no place, a client
//! with fewer requests in the queue takes a place from the client with the most.

use super::Dispatcher;
use crate::generation::Generation;
use crate::outcome::Outcome;
use crate::request::{Key, Waiter};
use crate::submission::Submission;
use std::sync::atomic::Ordering::Relaxed;

impl Dispatcher {
    /// Makes place for a request when the queue is full: the last one of the client of which most wait is refused, if
    /// these are more than those of the newcomer's client would be. `false` when there is none such.
    pub(crate) fn make_place(&mut self, newcomer: &Submission) -> bool {
        // what has ended since is in no queue any more, or is answered: then the next one has to go
        while let Some(key) = self.last_of_longest(newcomer) {
            let Some(entry) = self.entries.get(key) else { return false };
            let (submission, waits) = (entry.submission, !matches!(entry.waiter, Waiter::Answered(_)));
            if !submission.counts {
                // there would be no more place without it
                return false;
            }
            self.forget(key, submission);
            if waits {
                self.settle(key, Outcome::Full);
                return true;
            }
        }
        false
    }

    fn last_of_longest(&mut self, newcomer: &Submission) -> Option<Key> {
        let line = self.line(newcomer);
        let own = |g: &mut Generation| g.waiting(line).len_of(newcomer.from.client);
        let own = self.index(newcomer.crew()).map_or(0, |g| own(&mut self.generations[g]));
        let longest = self.generations.iter().filter_map(Generation::longest).max_by_key(|&(_, _, len)| len);
        let (queue, client, len) = longest?;
        self.shared.longest.store(client, Relaxed);
        if len > own + 1 {
            queue.last_of(client)
        } else {
            None
        }
    }

    /// A client waits for one request less, which counted or not, and was `promised` or not.
    pub(super) fn is_out_no_more(&mut self, counts: bool, promised: bool) {
        if !counts {
            return;
        }
        self.shared.outstanding.fetch_sub(1, Relaxed);
        if promised {
            self.promised -= 1;
            self.shared.most.fetch_sub(1, Relaxed);
        }
    }

    /// A handler of R has returned a promise: its request waits for no worker and occupies none, so that another may
    /// wait in its place.
    pub(super) fn is_promised(&mut self, key: Key) {
        let Some(entry) = self.entries.get(key) else { return };
        if !entry.submission.counts
            || matches!(entry.waiter, Waiter::Answered(_))
            || std::mem::replace(&mut entry.promised, true)
        {
            return;
        }
        self.promised += 1;
        self.shared.most.fetch_add(1, Relaxed);
    }
}

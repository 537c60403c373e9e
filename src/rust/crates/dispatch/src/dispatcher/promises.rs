//! How many may wait for an answer: as many as the queue and the workers have places for, and beside them those whose
//! handlers have returned promises. How many promises a worker may have is the lane's (`lane`).

use super::Dispatcher;
use crate::request::{Client, Key};
use std::sync::atomic::Ordering::Relaxed;

impl Dispatcher {
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
            || matches!(entry.client, Client::Answered(_))
            || std::mem::replace(&mut entry.promised, true)
        {
            return;
        }
        self.promised += 1;
        self.shared.most.fetch_add(1, Relaxed);
    }
}

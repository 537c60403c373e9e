//! Sessions of visitors that have processes for themselves: which workers may have one more, and which requests.
//!
//! A worker that has or had a session is that visitor's, and ends with it; those that had none are free. A session goes
//! to a free worker, unless it is the last: that is kept for pages, which visitors need before they have sessions.
//! Requests of no session go to free ones, so that no visitor waits for what another has asked for.
//!
//! How many sessions a worker may have, and whether there will be more workers, is the supervisor's to say
//! (`set_sessions` of `pool`). Neighbour: `choose`, which has the rules for all workers alike.

use super::Dispatcher;
use crate::generation::Line;
use crate::pool::SHARED_SESSIONS;
use crate::request::Key;
use crate::runs::Runs;
use crate::submission::Submission;
use crate::worker::Worker;
use std::sync::atomic::Ordering::Relaxed;

/// Of a reply: the client has its WebSocket.
const SWITCHING_PROTOCOLS: u32 = 101;

impl Dispatcher {
    /// How many sessions a worker may have, where visitors have processes of their own and this is about R.
    fn sessions_for(&self, submission: &Submission) -> Option<usize> {
        let most = self.shared.sessions.load(Relaxed);
        (most > 0 && submission.runs == Runs::R && submission.pool == 0).then_some(most)
    }

    /// What a request stands in line for.
    pub(super) fn line(&self, submission: &Submission) -> Line {
        let is_session = submission.opens.is_some() && self.sessions_for(submission).is_some();
        if is_session {
            Line::Session
        } else if submission.runs == Runs::R && self.is_short(submission) {
            Line::Short
        } else {
            Line::Of(submission.runs)
        }
    }

    /// How unwelcome a request is to a worker that may have it; `None` to one that is not to have it.
    pub(super) fn costs(&self, submission: &Submission) -> impl Fn(&Worker) -> Option<usize> + '_ {
        let opens = submission.opens.is_some();
        let most = self.sessions_for(submission);
        let kept = |worker: &Worker| self.commands.kept_by(worker.owner());
        let is_free = move |worker: &Worker| !worker.had_session() && kept(worker) == 0;
        let crew = submission.crew();
        let of_crew = |worker: &&Worker| worker.crew == crew && !worker.retiring;
        let workers = self.workers.iter().map(|(_, worker)| worker);
        let free = most.map_or(0, |_| workers.filter(of_crew).filter(|worker| is_free(worker)).count());
        move |worker| {
            let Some(most) = most else { return Some(if opens { kept(worker) } else { 0 }) };
            match (opens, is_free(worker)) {
                (false, true) => Some(0),
                // better than none at all
                (false, false) => (free == 0).then(|| kept(worker)),
                (true, true) => (free > 1).then_some(1),
                (true, false) => {
                    let n = kept(worker);
                    let costs = if most == SHARED_SESSIONS { n + 1 } else { 0 };
                    // one that has none any more ends
                    (n > 0 && n < most).then_some(costs)
                }
            }
        }
    }

    /// A worker has answered: when it has taken a session, it is free no more.
    pub(super) fn may_begin_session(&mut self, at: usize, key: Key, status: u32) {
        if status != SWITCHING_PROTOCOLS || self.shared.sessions.load(Relaxed) == 0 {
            return;
        }
        if self.entries.get(key).is_some_and(|entry| entry.submission.opens.is_some()) {
            self.workers[at].has_session();
        }
    }
}

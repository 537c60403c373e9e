//! Requests that one worker process only may have: what is kept of their connection is there.

use super::requests::Choice;
use super::Dispatcher;
use crate::outcome::Outcome;
use crate::request::Key;
use crate::submission::Submission;

impl Dispatcher {
    /// Hands a request to the one worker that may have it, which waits for no turn: it is bounded in another way.
    pub(super) fn hand_to(&mut self, key: Key, submission: Submission, process: i32) {
        let at = self.workers.iter().find(|(_, worker)| worker.pid() == Some(process)).map(|(at, _)| at);
        let lane = at.and_then(|at| self.workers[at].lane(submission.runs.into()).map(|lane| (at, lane)));
        match lane {
            Some((at, lane)) if lane.link.has_room() => {
                let expected = self.index(submission.generation);
                let expected = expected.and_then(|g| self.generations[g].expected(submission.route));
                self.hand_and_ring(key, Choice { at, expected });
            }
            Some(_) => self.settle(key, Outcome::Full),
            None => self.settle(key, Outcome::WorkerDied(Some(process))),
        }
    }

    /// Whoever sends such requests is told that this process gets none any more.
    pub(super) fn report_left(&self, process: Option<i32>) {
        if let Some(process) = process {
            self.commands.has_left(process);
        }
    }
}

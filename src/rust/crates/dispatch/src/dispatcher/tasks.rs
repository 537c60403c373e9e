//! What becomes of tasks: requests of their own kind, which wait in the one queue for whichever worker is free, with
//! what is left of the time of the request whose handler asks. They end with that.

use super::requests::Choice;
use super::Dispatcher;
use crate::outcome::Outcome;
use crate::request::{Asker, Key, Waiter};
use crate::runs::Of;
use crate::submission::{Origin, Submission};
use crate::tasks::{Parent, Wanted};
use admission::{Late, NEVER};
use bytes::Bytes;
use exchange::now;
use observe::Level;
use shm::RequestId;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::OwnedFd;
use wire::task::{Ended, Task, LONGEST_TASK};
use wire::{BodyRef, Reply, ReplyBody, RequestHead};

/// More routes than any app has: a worker that user code has corrupted may name any.
const MOST_ROUTES: u32 = 1 << 20;

impl Dispatcher {
    /// A worker wants a task run. It is begun when all that workers have said has been read.
    pub(super) fn ask_for_task(&mut self, at: usize, of: Of, message: Bytes) {
        let worker = &self.workers[at];
        let asks = Task::decode(&message).ok().filter(|task| of == Of::R && task.route < MOST_ROUTES);
        let Some(task) = asks else { return };
        let asker = Asker { worker: worker.worker, number: task.number, route: task.route };
        let parent = (task.request != 0).then(|| self.parent(at, RequestId::from_word(task.request)));
        if parent == Some(None) {
            // it was answered, or its client has gone
            return self.tasks.unsent.push((asker, asker.outcome(Ended::Over, &[])));
        }
        self.tasks.wanted.push(Wanted { asker, parent: parent.flatten(), message });
    }

    fn parent(&mut self, at: usize, id: RequestId) -> Option<Parent> {
        let key = self.workers[at].lane(Of::R)?.key_of(id)?;
        let entry = self.entries.get(key).filter(|entry| !matches!(entry.waiter, Waiter::Answered(_)))?;
        let Submission { request, from, .. } = entry.submission;
        Some(Parent { key, request, from, deadline: entry.deadline() })
    }

    /// Begins the tasks that workers asked for, and ends those no longer wanted. `true` if there were any.
    pub(super) fn go_on_with_tasks(&mut self) -> bool {
        if self.tasks.is_quiet() {
            return false;
        }
        let (wanted, unsent) = (std::mem::take(&mut self.tasks.wanted), std::mem::take(&mut self.tasks.unsent));
        let mut any = !wanted.is_empty();
        wanted.into_iter().for_each(|wanted| self.begin_task(&wanted));
        unsent.into_iter().for_each(|(asker, message)| self.notify_asker(asker, message));
        while let Some(key) = self.tasks.unwanted.pop() {
            any = true;
            self.leave(key, now(), true);
            if let Some(Waiter::Worker(asker)) = self.entries.remove(key).map(|entry| entry.waiter) {
                self.notify_asker(asker, asker.outcome(Ended::Over, &[]));
            }
        }
        any
    }

    fn begin_task(&mut self, wanted: &Wanted) {
        let Ok(task) = Task::decode(&wanted.message) else { return };
        let asker = wanted.asker;
        let Some(at) = self.find(asker.worker) else { return };
        if self.tasks.of_worker(asker.worker) >= self.max_async || task.call.len() > LONGEST_TASK {
            return self.notify_asker(asker, asker.outcome(Ended::Refused, &[]));
        }
        let left = wanted.parent.map_or(NEVER, |parent| parent.deadline.saturating_sub(now()));
        // what its handlers have, others of its pool have, too
        let crew = self.workers[at].crew;
        let from = wanted.parent.map_or(Origin { client: asker.worker.into(), connection: 0 }, |parent| parent.from);
        let submission = Submission {
            request: wanted.parent.map_or(0, |parent| parent.request),
            timeout: if task.timeout == 0 { left } else { task.timeout.min(left) },
            ends_with_client: true,
            ..Submission::of_server(from, crew.generation, crew.pool, task.route)
        };
        let mut message = self.entries.buffer();
        head(submission.request, task.route, task.call).encode(&[] as &[&[u8]], std::iter::empty, &mut message);
        let g = self.index(crew).filter(|&g| !self.generations[g].closing);
        let key = match g.filter(|_| !self.workers[at].retiring) {
            Some(_) => self.enter(submission, message, Waiter::Worker(asker)),
            // no worker of this generation is given anything, but this one goes on as long as its request does
            None => {
                let key = self.entries.add(submission, message, now(), Waiter::Worker(asker));
                self.hand(key, Choice { at, expected: None, along: false });
                key
            }
        };
        if self.entries.get(key).is_some() {
            self.tasks.add(key, asker.worker, wanted.parent.map(|parent| parent.key));
            (self.watch_closely)();
        }
    }

    /// A task has ended: tells the worker that asked for it.
    pub(super) fn task_came(&mut self, key: Key, asker: &Asker, outcome: Outcome) {
        self.tasks.remove(key);
        let log = |why: &str, pid: Option<i32>| {
            let of_worker = pid.map(|pid| format!(", worker {pid}")).unwrap_or_default();
            self.log.line(Level::Warn, &format!("a task of dr_async() {why}{of_worker}"));
        };
        let (ended, value) = match outcome {
            Outcome::Reply(message, file, _) => match value_of(&message, file) {
                Some(value) => (Ended::Ran, value),
                None => (Ended::Failed, Vec::new()),
            },
            Outcome::Late(Late::Running(over), pid) => {
                log(&format!("took too long: {over}"), pid);
                (Ended::Late, Vec::new())
            }
            Outcome::Late(Late::Waiting(_), _) | Outcome::OfItself(_) | Outcome::Full => (Ended::Refused, Vec::new()),
            Outcome::WorkerDied(pid) => {
                log("was lost: its worker ended", pid);
                (Ended::Lost, Vec::new())
            }
            Outcome::Ending | Outcome::Stale => (Ended::Over, Vec::new()),
            // its handler answers with a value
            Outcome::Stream(..) | Outcome::Notice(_) => (Ended::Failed, Vec::new()),
        };
        self.notify_asker(*asker, asker.outcome(ended, &value));
    }

    /// Tells the worker that asked, by a request for the task's next route, which goes to no other worker.
    fn notify_asker(&mut self, asker: Asker, message: Vec<u8>) {
        let Some(at) = self.find(asker.worker) else { return };
        let worker = &self.workers[at];
        if !worker.lane(Of::R).is_some_and(|lane| lane.link.has_slot()) {
            return self.tasks.unsent.push((asker, message));
        }
        let from = Origin { client: asker.worker.into(), connection: 0 };
        let submission = Submission::of_server(from, worker.crew.generation, worker.crew.pool, asker.route + 1);
        let mut encoded = self.entries.buffer();
        head(0, asker.route + 1, &message).encode(&[] as &[&[u8]], std::iter::empty, &mut encoded);
        let key = self.entries.add(submission, encoded, now(), Waiter::Nobody);
        self.hand(key, Choice { at, expected: None, along: false });
    }
}

fn head(id: u64, route: u32, body: &[u8]) -> RequestHead<'_> {
    let body = BodyRef::Inline(body);
    RequestHead { id, route, method: b"TASK", target: b"/", path: b"/", body, ..RequestHead::default() }
}

/// What a task's handler has replied, if it has come to its end.
fn value_of(message: &Bytes, file: Option<OwnedFd>) -> Option<Vec<u8>> {
    let reply = Reply::decode(message).ok().filter(|reply| reply.status == 200)?;
    match (reply.body, file) {
        (ReplyBody::Bytes(value), _) => Some(value.to_vec()),
        (ReplyBody::Spooled, Some(file)) => {
            // in memory, as nothing else is that a worker makes
            let mut file = File::from(file);
            file.rewind().ok()?;
            let mut value = Vec::new();
            file.take(LONGEST_TASK as u64 + 1).read_to_end(&mut value).ok()?;
            (value.len() <= LONGEST_TASK).then_some(value)
        }
        _ => None,
    }
}

//! What workers, and whoever else has the server at hand, want done: with WebSockets and rooms, with responses that are
//! kept, and with jobs. And what a worker says of a request that it has failed.

use crate::context::Context;
use crate::edge::cache::purge;
use crate::failed::FailedRequests;
use crate::jobs;
use crate::websockets::WebSockets;
use bytes::Bytes;
use dispatch::{Commands, Later, Owner};
use std::sync::{Arc, OnceLock, Weak};
use wire::command::{Answer, Command, PurgeBy};

/// See the module.
pub struct Commander {
    websockets: Arc<WebSockets>,
    failed: Option<Arc<FailedRequests>>,
    /// the apps and their jobs; has this, and is made later
    context: OnceLock<Weak<Context>>,
}

impl Commander {
    /// One that knows of WebSockets and failed requests only.
    pub fn new(websockets: Arc<WebSockets>, failed: Option<Arc<FailedRequests>>) -> Self {
        Commander { websockets, failed, context: OnceLock::new() }
    }

    /// From now on it knows of what the apps keep, and of their jobs.
    pub fn knows(&self, context: &Arc<Context>) {
        let _ = self.context.set(Arc::downgrade(context));
    }

    fn context(&self) -> Option<Arc<Context>> {
        self.context.get().and_then(Weak::upgrade)
    }

    /// Has `act` done with the apps and a text, and what it answers sent. Without either the answer is empty.
    fn answer_later(
        &self,
        text: &[u8],
        answer: impl FnOnce(Answer) + Send + 'static,
        act: impl FnOnce(&Context, &str, Box<dyn FnOnce(Answer) + Send>),
    ) {
        match (self.context(), std::str::from_utf8(text)) {
            (Some(context), Ok(text)) => act(&context, text, Box::new(answer)),
            _ => answer(Answer::default()),
        }
    }

    fn purge(&self, by: PurgeBy, text: &[u8]) -> Answer {
        let is_meant = |target: &[u8], tags: &[u8]| purge::is_meant(by, text, target, tags);
        let count = self.context().map_or(0, |context| context.pool().purge(is_meant));
        Answer(vec![(count as u64, Vec::new())])
    }
}

impl Commands for Commander {
    fn execute(&self, command: Bytes, later: &dyn Fn() -> Later) -> Option<Vec<u8>> {
        // what a worker says that user code has corrupted may be anything
        let (number, read) = Command::decode(&command).ok()?;
        let answering = || {
            let later = later();
            move |answer: Answer| later(encoded(&answer, number))
        };
        let answer = match read {
            Command::Enqueue { target, job } => {
                let act = |context: &_, target: &_, answer| jobs::enqueue(context, target, job, answer);
                self.answer_later(target, answering(), act);
                return None;
            }
            Command::Job { ask, which } => {
                let act = |context: &_, which: &_, answer| jobs::ask(context, ask, which, answer);
                self.answer_later(which, answering(), act);
                return None;
            }
            Command::Purge { by, text } => Some(self.purge(by, text)),
            Command::Seed { request, seed } => {
                if let Some(failed) = &self.failed {
                    failed.has_seed(request, seed);
                }
                None
            }
            read => self.websockets.try_execute(read, |message| command.slice_ref(message)),
        };
        read.is_answered().then(|| encoded(&answer.unwrap_or_default(), number))
    }

    fn has_left(&self, owner: Owner) {
        self.websockets.has_left(owner);
    }

    fn takes(&self, owner: Owner, connection: u64) {
        self.websockets.expects(owner, connection);
    }

    fn gives_back(&self, connection: u64) {
        self.websockets.expects_no_more(connection);
    }

    fn sessions_of(&self, owner: Owner) -> usize {
        self.websockets.sessions_of(owner)
    }

    fn kept_by(&self, owner: Owner) -> usize {
        self.websockets.kept_by(owner)
    }
}

fn encoded(answer: &Answer, number: u32) -> Vec<u8> {
    let mut out = Vec::new();
    answer.encode(number, &mut out);
    out
}

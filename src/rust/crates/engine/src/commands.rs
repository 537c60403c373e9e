//! What workers, and whoever else has the server at hand, want done: with WebSockets and rooms, and with responses that
//! are kept. And what a worker says of a request that it has failed.

use crate::edge::cache::purge;
use crate::failed::FailedRequests;
use crate::pool::Caches;
use crate::websockets::WebSockets;
use bytes::Bytes;
use dispatch::{Commands, Owner};
use std::sync::{Arc, OnceLock};
use wire::websocket::{Answer, Command, PurgeBy};

/// See the module.
pub struct Commander {
    websockets: Arc<WebSockets>,
    /// of the apps, which are made later
    caches: OnceLock<Caches>,
    failed: Option<Arc<FailedRequests>>,
}

impl Commander {
    /// One that knows of WebSockets and failed requests only.
    pub fn new(websockets: Arc<WebSockets>, failed: Option<Arc<FailedRequests>>) -> Self {
        Commander { websockets, caches: OnceLock::new(), failed }
    }

    /// From now on it knows of what these apps keep.
    pub fn knows(&self, caches: Caches) {
        let _ = self.caches.set(caches);
    }

    fn purge(&self, by: PurgeBy, text: &[u8]) -> Answer {
        let is_meant = |target: &[u8], tags: &[u8]| purge::is_meant(by, text, target, tags);
        let count = self.caches.get().map_or(0, |caches| caches.purge(is_meant));
        Answer(vec![(count as u64, Vec::new())])
    }
}

impl Commands for Commander {
    fn execute(&self, command: Bytes) -> Option<Vec<u8>> {
        // what a worker says that user code has corrupted may be anything
        let read = Command::decode(&command).ok()?;
        let answer = match read {
            Command::Purge { by, text } => Some(self.purge(by, text)),
            Command::Seed { request, seed } => {
                if let Some(failed) = &self.failed {
                    failed.has_seed(request, seed);
                }
                None
            }
            read => self.websockets.try_execute(read, |message| command.slice_ref(message)),
        };
        if !read.is_answered() {
            return None;
        }
        let mut out = Vec::new();
        answer.unwrap_or_default().encode(&mut out);
        Some(out)
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

    fn kept_by(&self, owner: Owner) -> usize {
        self.websockets.kept_by(owner)
    }
}

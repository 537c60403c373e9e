//! What runs in workers at a moment: found out when somebody asks, so that requests pay nothing for it.

use crate::dispatcher::Dispatcher;
use crate::lane::Lane;
use crate::running::Running;
use exchange::now;
use std::time::{Duration, Instant};

impl Dispatcher {
    /// All that run now.
    pub(crate) fn running(&mut self) -> Vec<Running> {
        let (clock, now) = (now(), Instant::now());
        let entries = &mut self.entries;
        let mut all = Vec::new();
        for (_, worker) in &self.workers {
            let lanes = worker.lanes().flat_map(Lane::begun_requests);
            for (request, since) in lanes {
                let entry = entries.get(request.key);
                let came = entry.as_ref().map_or(clock, |entry| entry.since);
                // of one at a time it is known when it began
                let took = match since {
                    Some(since) => now.saturating_duration_since(since),
                    None => Duration::from_millis(clock.saturating_sub(came)),
                };
                all.push(Running {
                    pid: worker.pid(),
                    request: request.request,
                    generation: worker.crew.generation,
                    route: request.route,
                    asked: entry.and_then(|entry| asked(&entry.message)),
                    took,
                });
            }
        }
        all
    }
}

/// Method and path of a request; `None` for what is none, as a task of a worker.
fn asked(message: &[u8]) -> Option<(String, String)> {
    let head = wire::Request::decode(message).ok()?.head;
    let path = head.target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(head.method), text(path)))
}

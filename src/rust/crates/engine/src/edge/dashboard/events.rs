//! `/__drover__/events`: a snapshot of the server, each second, for all open dashboards (Server-Sent Events).
//!
//! One task takes the snapshots and writes them to all streams, as long as there are any, and waits for none: a client
//! that reads more slowly misses some.

use crate::gauge::Gauge;
use crate::jobs::{JobLine, JobsOperator};
use crate::respond::{text, unstored};
use crate::snapshot::Snapshot;
use bytes::Bytes;
use exchange::{pipe, PipeWriter, Written};
use http::{Method, StatusCode};
use httpd::{Body, Response};
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Between two snapshots.
const PAUSE: Duration = Duration::from_secs(1);
/// Most streams at a time, which leaves connections for other requests (`httpd` allows 64 on this address).
const MOST: usize = 32;
/// Jobs that are shown.
const JOBS: usize = 20;
/// Sent first: a browser that has lost the stream tries again after this many ms.
const HELLO: &str = "retry: 2000\n\n";

/// See the module.
pub struct Lookers {
    state: Mutex<State>,
    gauge: OnceLock<Gauge>,
    began: Instant,
    /// whether actions are on
    acts: bool,
}

#[derive(Default)]
struct State {
    writers: Vec<PipeWriter>,
    /// whether there is a task that writes to them
    is_told: bool,
    has_ended: bool,
}

/// What the page is sent.
#[derive(Serialize)]
struct Message {
    version: &'static str,
    /// the server's process
    pid: u32,
    /// seconds since it began
    age: f64,
    /// whether there is a token for actions
    actions: bool,
    snapshot: Snapshot,
    /// the latest
    jobs: Vec<JobLine>,
}

impl Lookers {
    pub fn new(acts: bool) -> Self {
        Lookers { state: Mutex::default(), gauge: OnceLock::new(), began: Instant::now(), acts }
    }

    /// They see this server.
    pub fn shows(&self, gauge: Gauge) {
        let _ = self.gauge.set(gauge);
    }

    /// The jobs of that server, where it has one app.
    pub fn jobs(&self) -> Option<JobsOperator> {
        self.gauge.get()?.jobs()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // no code panics while holding this lock
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All streams end.
    pub fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.writers.drain(..).for_each(|writer| writer.end(true));
    }

    /// Opens one more stream.
    pub fn look(self: &Arc<Self>, method: &Method) -> Response {
        let mut response = unstored(StatusCode::OK, "text/event-stream", "");
        if *method == Method::HEAD {
            return response;
        }
        let mut state = self.state();
        if state.has_ended {
            return text(StatusCode::SERVICE_UNAVAILABLE, "the server is ending\n");
        }
        if state.writers.len() >= MOST {
            return text(StatusCode::SERVICE_UNAVAILABLE, format!("{MOST} look already\n"));
        }
        let (writer, reader) = pipe(None);
        writer.write(Bytes::from_static(HELLO.as_bytes()), false);
        state.writers.push(writer);
        if !std::mem::replace(&mut state.is_told, true) {
            tokio::spawn(broadcast(self.clone()));
        }
        response.body = Body::pipe(reader);
        response
    }

    /// Writes to all streams with room, and forgets those whose client has left. Whether any stream remains.
    fn write(&self, event: &Bytes) -> bool {
        let mut state = self.state();
        state.writers.retain(|writer| writer.write(event.clone(), false) != Written::Gone);
        state.is_told = !state.writers.is_empty();
        state.is_told
    }

    async fn event(&self) -> Option<Bytes> {
        let snapshot = self.gauge.get()?.snapshot_later().await;
        let jobs = match self.jobs() {
            Some(jobs) => jobs.latest(JOBS).await,
            None => Vec::new(),
        };
        let message = Message {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            age: self.began.elapsed().as_secs_f64(),
            actions: self.acts,
            snapshot,
            jobs,
        };
        // line ends within texts are escaped by JSON
        Some(format!("data: {}\n\n", sonic_rs::to_string(&message).ok()?).into())
    }
}

/// Writes a snapshot to all streams, each second, until none remains.
async fn broadcast(lookers: Arc<Lookers>) {
    loop {
        let event = lookers.event().await.unwrap_or_default();
        if !lookers.write(&event) {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    /// All that a looker has, read now.
    fn read(response: &mut Response) -> String {
        let mut text = String::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Ok(piece))) = response.body.poll(&mut context, usize::MAX) {
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        text
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_reads_slowly_misses_some_and_keeps_nobody_waiting() {
        let lookers = Arc::new(Lookers::new(false));
        let mut quick = lookers.look(&Method::GET);
        let mut slow = lookers.look(&Method::GET);
        let gone = lookers.look(&Method::GET);
        drop(gone);
        let event = Bytes::from(vec![b'x'; 100_000]);
        for _ in 0..10 {
            assert!(lookers.write(&event));
            assert!(read(&mut quick).len() >= event.len());
        }
        assert_eq!(lookers.state().writers.len(), 2, "the one who has left is forgotten");
        let had = read(&mut slow).len();
        assert!(had >= event.len() && had < 5 * event.len(), "{had}");
        assert!(lookers.write(&event));
        assert_eq!(read(&mut slow).len(), event.len(), "from then on it gets them again");
        drop((quick, slow));
        assert!(!lookers.write(&event), "nobody looks any more");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn there_is_a_bound_and_an_end() {
        let lookers = Arc::new(Lookers::new(false));
        assert_eq!(lookers.look(&Method::HEAD).status, StatusCode::OK);
        let all: Vec<Response> = (0..MOST).map(|_| lookers.look(&Method::GET)).collect();
        assert!(all.iter().all(|response| response.status == StatusCode::OK));
        assert_eq!(lookers.look(&Method::GET).status, StatusCode::SERVICE_UNAVAILABLE);
        lookers.end();
        drop(all);
        assert_eq!(lookers.look(&Method::GET).status, StatusCode::SERVICE_UNAVAILABLE);
    }
}

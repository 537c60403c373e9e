//! Whether an app is there: one that is not is loaded when a request asks for it, which waits for that. Its supervisor
//! says how the app is; the pipeline asks here.
//!
//! Most apps are loaded before the server listens, and are there ever after: then it costs the look at a flag.

use admission::ms_or_never;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use httpd::Failure;
use observe::metrics::Refusal;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout_at;

/// How an app is, for those who wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// it has workers
    Here,
    /// it is loaded when it is asked for
    Asleep,
    /// it is being loaded
    Starting,
    /// it could not be loaded, and is not tried again before this time
    Failed(Instant),
}

/// See the module.
pub(crate) struct Presence {
    is_here: AtomicBool,
    now: watch::Sender<Now>,
    /// requests that wait for it
    waiting: Arc<AtomicUsize>,
}

impl Default for Presence {
    fn default() -> Self {
        Presence { is_here: AtomicBool::new(true), now: watch::Sender::new(Now::Here), waiting: Arc::default() }
    }
}

impl Presence {
    fn set(&self, now: Now) {
        self.is_here.store(now == Now::Here, Relaxed);
        self.now.send_replace(now);
    }

    pub(crate) fn is_here(&self) -> bool {
        self.is_here.load(Relaxed)
    }

    /// Why it takes no requests, unless it does, or would be started for one.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match *self.now.borrow() {
            Now::Here | Now::Asleep => None,
            Now::Starting => Some("the app is being started"),
            Now::Failed(_) => Some("the app could not be started"),
        }
    }

    /// In a word, where it is not there.
    pub(crate) fn word(&self) -> Option<&'static str> {
        match *self.now.borrow() {
            Now::Here => None,
            Now::Asleep => Some("asleep"),
            Now::Starting => Some("starting"),
            Now::Failed(_) => Some("failed"),
        }
    }

    /// Whether nothing of it runs, until it is asked for.
    pub(crate) fn is_asleep(&self) -> bool {
        *self.now.borrow() == Now::Asleep
    }

    pub(crate) fn is_now_here(&self) {
        self.set(Now::Here);
    }

    pub(crate) fn is_now_asleep(&self) {
        self.set(Now::Asleep);
    }

    pub(crate) fn is_starting(&self) {
        self.set(Now::Starting);
    }

    pub(crate) fn has_failed(&self, until: Instant) {
        self.set(Now::Failed(until));
    }

    /// For a request: waits until it is there, for at most so many seconds, with at most so many others. `want` has it
    /// started.
    pub(crate) fn start(&self, max_queue: usize, timeout: f64, want: impl FnOnce()) -> Start {
        let failed = |until: Instant| until.checked_duration_since(Instant::now()).map(could_not_start);
        let mut now = self.now.subscribe();
        let seen = *now.borrow_and_update();
        if let Now::Failed(until) = seen {
            if let Some(failure) = failed(until) {
                return Box::pin(async { Err(failure) });
            }
        }
        let place = Place(self.waiting.clone());
        if place.0.fetch_add(1, Relaxed) >= max_queue {
            let full = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "request queue is full");
            let full = full.over("max_queue", max_queue).counts_as(Refusal::QueueFull);
            return Box::pin(async move {
                drop(place);
                Err(full)
            });
        }
        if seen != Now::Starting {
            want();
        }
        // no clock holds more than a year
        let patience = Duration::from_millis(ms_or_never(timeout).min(LONGEST));
        let until = tokio::time::Instant::now() + patience;
        Box::pin(async move {
            let _place = place;
            let mut seen = seen;
            loop {
                if seen == Now::Here {
                    return Ok(());
                }
                match timeout_at(until, now.changed()).await {
                    Ok(Ok(())) => seen = *now.borrow_and_update(),
                    // the server has ended
                    Ok(Err(_)) => return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending")),
                    Err(_) => {
                        let late = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the app is still being started");
                        return Err(late.over("timeout", timeout).counts_as(Refusal::QueueTimeout));
                    }
                }
                if let Now::Failed(until) = seen {
                    return Err(could_not_start(until.saturating_duration_since(Instant::now())));
                }
            }
        })
    }
}

/// Ends when the app is there, or with why it is not.
pub(crate) type Start = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// What clients are told to wait at most.
const MOST_SECONDS: u64 = 60;

/// A year, in milliseconds.
const LONGEST: u64 = 31_536_000_000;

fn could_not_start(wait: Duration) -> Failure {
    let seconds = (wait.as_secs() + 1).min(MOST_SECONDS);
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "this app could not be started")
        .with(&RETRY_AFTER, HeaderValue::from(seconds))
        .because("the log says why")
}

/// One of those that wait, until dropped.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(presence: &Presence, max_queue: usize, timeout: f64) -> (Start, bool) {
        let mut wanted = false;
        let start = presence.start(max_queue, timeout, || wanted = true);
        (start, wanted)
    }

    #[tokio::test]
    async fn requests_wait_for_an_app_that_is_started_for_the_first_of_them() {
        let presence = Presence::default();
        assert!(presence.is_here() && presence.problem().is_none());
        presence.is_now_asleep();
        assert!(!presence.is_here() && presence.is_asleep() && presence.problem().is_none());
        let (first, wanted) = asked(&presence, 2, 30.0);
        assert!(wanted);
        presence.is_starting();
        let (second, wanted) = asked(&presence, 2, 30.0);
        assert!(!wanted, "it is being started");
        let (third, _) = asked(&presence, 2, 30.0);
        assert_eq!(third.await.unwrap_err().detail, "request queue is full");
        let here = async {
            tokio::task::yield_now().await;
            presence.is_now_here();
        };
        let (first, second, ()) = tokio::join!(first, second, here);
        assert!(first.is_ok() && second.is_ok() && presence.is_here());
        assert_eq!(presence.waiting.load(Relaxed), 0);
    }

    #[tokio::test]
    async fn one_that_fails_is_not_tried_again_for_a_while() {
        let presence = Presence::default();
        presence.is_now_asleep();
        let (start, _) = asked(&presence, 9, 30.0);
        presence.has_failed(Instant::now() + Duration::from_secs(60));
        let failure = start.await.unwrap_err();
        assert_eq!((failure.status.as_u16(), &*failure.detail), (503, "this app could not be started"));
        assert!(failure.fields.get(&RETRY_AFTER).is_some());
        let (start, wanted) = asked(&presence, 9, 30.0);
        assert!(!wanted && start.await.is_err());
        presence.has_failed(Instant::now());
        let (start, wanted) = asked(&presence, 9, 0.01);
        assert!(wanted, "its time is over");
        assert_eq!(start.await.unwrap_err().detail, "the app is still being started");
    }
}

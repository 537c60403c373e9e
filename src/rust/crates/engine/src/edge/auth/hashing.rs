//! Hashes of passwords, tens of milliseconds and megabytes each, have threads of their own.

use crate::edge::threads::{Asked, Threads};
use identity::Who;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

static HASHING: Threads = Threads::new("drover-hash");

/// A check in progress: resolves to the identity of the client, or to `None`.
pub struct Question(Asked<Option<Arc<Who>>>);

impl Question {
    /// Has one of the threads run the check. `None` when too many wait.
    pub(super) fn ask(find: impl FnOnce() -> Option<Arc<Who>> + Send + 'static) -> Option<Self> {
        HASHING.ask(find).map(Question)
    }
}

impl Future for Question {
    type Output = Option<Arc<Who>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // a thread that has panicked has found nothing out
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.flatten())
    }
}

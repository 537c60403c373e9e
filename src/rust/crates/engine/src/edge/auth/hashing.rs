//! Hashes of passwords, tens of milliseconds and megabytes each, have threads of their own.

use crate::edge::threads::{Asked, Threads};
use identity::Who;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

static HASHING: Threads = Threads::new("drover-hash");

/// Something that is being found out; it comes to whoever that is, or to nobody.
pub struct Question(Asked<Option<Arc<Who>>>);

impl Question {
    /// Has one of the threads find it out. `None` when there is too much to do.
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

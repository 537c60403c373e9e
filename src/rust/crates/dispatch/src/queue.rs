//! The queue as I/O threads have it: where they submit requests.

use crate::home::{is_home, with};
use crate::pool::Shared;
use crate::submission::{Post, Submission};
use crate::ticket::Ticket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// The queue as every I/O thread has it.
pub struct Queue {
    /// of its app, in the thread that has the dispatchers
    place: usize,
    shared: Arc<Shared>,
    post: UnboundedSender<Post>,
    numbers: AtomicU64,
}

impl Queue {
    /// The queue, whose posts go there.
    pub(crate) fn new(place: usize, shared: Arc<Shared>, post: UnboundedSender<Post>) -> Self {
        Queue { place, shared, post, numbers: AtomicU64::new(0) }
    }

    /// Queues the message that `encode` writes. `None` when the queue is full: one that has room for this client after
    /// all refuses another request, see [`crate::Outcome::Full`].
    pub fn submit(&self, submission: Submission, encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
        let outstanding = &self.shared.outstanding;
        let is_over = submission.counts
            && outstanding.fetch_add(1, Ordering::Relaxed) >= self.shared.most.load(Ordering::Relaxed);
        let is_home = is_home(self.place);
        if is_over && !self.may_have_place(&submission, is_home) {
            outstanding.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        if is_home {
            with(self.place, |dispatcher| Ticket::here(self.place, dispatcher.submit(submission, encode)))
        } else {
            self.send(submission, is_over, encode)
        }
    }

    /// Whether one more has a place in a full queue. Of other threads it is only known whose requests have none.
    fn may_have_place(&self, submission: &Submission, is_home: bool) -> bool {
        if is_home {
            with(self.place, |dispatcher| dispatcher.make_place(submission)).unwrap_or(false)
        } else {
            self.shared.longest.load(Ordering::Relaxed) != submission.from.client
        }
    }

    fn send(&self, submission: Submission, is_over: bool, encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
        let mut message = Vec::new();
        encode(&mut message);
        let (client, outcome) = oneshot::channel();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.post.send(Post::Request { number, is_over, submission, message, client }).ok()?;
        Some(Ticket::elsewhere(number, outcome, self.post.clone()))
    }
}

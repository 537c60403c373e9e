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
    shared: Arc<Shared>,
    post: UnboundedSender<Post>,
    numbers: AtomicU64,
}

impl Queue {
    /// The queue, whose posts go there.
    pub(crate) fn new(shared: Arc<Shared>, post: UnboundedSender<Post>) -> Self {
        Queue { shared, post, numbers: AtomicU64::new(0) }
    }

    /// Queues the message that `encode` writes. `None` when the queue is full.
    pub fn submit(&self, submission: Submission, encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
        let outstanding = &self.shared.outstanding;
        if outstanding.fetch_add(1, Ordering::Relaxed) >= self.shared.most.load(Ordering::Relaxed) {
            outstanding.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        if is_home() {
            with(|dispatcher| Ticket::here(dispatcher.submit(submission, encode)))
        } else {
            self.send(submission, encode)
        }
    }

    fn send(&self, submission: Submission, encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
        let mut message = Vec::new();
        encode(&mut message);
        let (client, outcome) = oneshot::channel();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.post.send(Post::Request { number, submission, message, client }).ok()?;
        Some(Ticket::elsewhere(number, outcome, self.post.clone()))
    }
}

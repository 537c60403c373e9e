//! A request that is out, as a future of what comes of it. Dropping it, as happens when the client goes, takes the request
//! back from the queue if it has not begun; if it has, it is interrupted or left to its end, as its errand says.

use super::request::Key;
use super::{with, Post};
use admission::Late;
use bytes::Bytes;
use exchange::PipeReader;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// What came of a request.
pub enum Outcome {
    /// the worker's reply, a message of `wire`, and the file with its body when that is long
    Reply(Bytes, Option<OwnedFd>),
    /// the head of its reply, such a message too, and the body, which is still to come
    Stream(Bytes, PipeReader),
    /// it took too long
    Late(Late),
    /// the server ends, and nobody will answer
    Ending,
    /// its worker died
    WorkerDied,
    /// the app that routed it is not served any more: route it again
    Stale,
}

/// See the module.
pub struct Ticket(Way);

enum Way {
    /// in the dispatcher of this thread
    Here(Key),
    /// in another thread's, under this number
    Elsewhere {
        number: u64,
        outcome: oneshot::Receiver<Outcome>,
        post: UnboundedSender<Post>,
    },
    Done,
}

impl Ticket {
    pub(super) fn here(key: Key) -> Self {
        Ticket(Way::Here(key))
    }

    pub(super) fn elsewhere(number: u64, outcome: oneshot::Receiver<Outcome>, post: UnboundedSender<Post>) -> Self {
        Ticket(Way::Elsewhere { number, outcome, post })
    }
}

impl Future for Ticket {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = match &mut self.0 {
            // without a dispatcher the thread is ending
            Way::Here(key) => with(|d| d.collect(*key, cx.waker())).unwrap_or(Some(Outcome::Ending)),
            Way::Elsewhere { outcome, .. } => match Pin::new(outcome).poll(cx) {
                Poll::Ready(outcome) => Some(outcome.unwrap_or(Outcome::Ending)),
                Poll::Pending => None,
            },
            Way::Done => None,
        };
        match outcome {
            Some(outcome) => {
                self.0 = Way::Done;
                Poll::Ready(outcome)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        match &self.0 {
            Way::Here(key) => {
                with(|d| d.abandon(*key));
            }
            Way::Elsewhere { number, post, .. } => {
                let _ = post.send(Post::Abandon(*number));
            }
            Way::Done => {}
        }
    }
}

//! A request that is out, as a future of what comes of it. Dropping it, as happens when the client goes, takes the
//! request back from the queue if it has not begun; if it has, it is interrupted or left to its end, as its submission
//! says.

use crate::dispatcher::Dispatcher;
use crate::home::with;
use crate::outcome::Outcome;
use crate::request::Key;
use crate::submission::{Post, Word};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// See the module.
pub struct Ticket(Way);

enum Way {
    /// in the dispatcher of this thread that is at this place
    Here(usize, Key),
    /// in another thread's, under this number
    Elsewhere {
        number: u64,
        outcome: oneshot::Receiver<Word>,
        post: UnboundedSender<Post>,
    },
    Done,
}

impl Ticket {
    pub(crate) fn here(place: usize, key: Key) -> Self {
        Ticket(Way::Here(place, key))
    }

    pub(crate) fn elsewhere(number: u64, outcome: oneshot::Receiver<Word>, post: UnboundedSender<Post>) -> Self {
        Ticket(Way::Elsewhere { number, outcome, post })
    }

    /// What comes of it is [`Outcome::Full`] unless its handler has begun.
    pub fn withdraw(&self) {
        self.notify(Dispatcher::withdraw, Post::Withdraw);
    }

    /// Tells the dispatcher: this thread's, or another's by a post.
    fn notify(&self, here: fn(&mut Dispatcher, Key), elsewhere: fn(u64) -> Post) {
        match &self.0 {
            Way::Here(place, key) => {
                with(*place, |d| here(d, *key));
            }
            Way::Elsewhere { number, post, .. } => {
                let _ = post.send(elsewhere(*number));
            }
            Way::Done => {}
        }
    }
}

impl Future for Ticket {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = match &mut self.0 {
            // without a dispatcher the thread is ending
            Way::Here(place, key) => with(*place, |d| d.collect(*key, cx.waker())).unwrap_or(Some(Outcome::Ending)),
            Way::Elsewhere { outcome, .. } => match Pin::new(&mut *outcome).poll(cx) {
                Poll::Ready(Ok(Word::Outcome(outcome))) => Some(outcome),
                Poll::Ready(Ok(Word::Notice(notice, next))) => {
                    *outcome = next;
                    Some(Outcome::Notice(notice))
                }
                Poll::Ready(Err(_)) => Some(Outcome::Ending),
                Poll::Pending => None,
            },
            Way::Done => None,
        };
        match outcome {
            Some(notice @ Outcome::Notice(_)) => Poll::Ready(notice),
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
        self.notify(Dispatcher::abandon, Post::Abandon);
    }
}

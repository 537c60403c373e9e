//! A request that is out, as a future of what comes of it. Dropping it, as happens when the client goes, takes the request
//! back from the queue if it has not begun.

use super::with;
use bytes::Bytes;
use shm::RequestId;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// the worker's reply, a message of `wire`
    Reply(Bytes),
    /// it waited longer for the worker than `queue_timeout`
    QueueTimeout,
    /// it took longer than `timeout`
    Timeout,
}

/// See the module.
#[derive(Debug)]
pub struct Ticket {
    id: RequestId,
    done: bool,
}

/// Queues the message that `encode` writes, in this I/O thread. `None` when the queue is full.
pub fn submit(encode: impl FnOnce(&mut Vec<u8>)) -> Option<Ticket> {
    let id = with(|d| d.submit(encode))??;
    Some(Ticket { id, done: false })
}

impl Future for Ticket {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let id = self.id;
        let outcome = with(|d| {
            let (outcome, freed) = d.table.collect(id, cx.waker())?;
            d.in_flight.fetch_sub(usize::from(freed), Ordering::Relaxed);
            Some(outcome)
        });
        match outcome {
            Some(Some(outcome)) => {
                self.done = true;
                Poll::Ready(outcome)
            }
            Some(None) => Poll::Pending,
            // the thread is ending
            None => {
                self.done = true;
                Poll::Ready(Outcome::QueueTimeout)
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.done {
            with(|d| d.abandon(self.id));
        }
    }
}

//! A body that a worker sends piece by piece: what it may send is granted by what the client has taken, so that neither
//! a slow client nor a worker that does not care can fill the server's memory; and the less, the more all streams have
//! ahead of their clients, so that many cannot either. Neighbours: `exchange::pipe` (the way to the client),
//! `exchange::unread` (what all have ahead), `wire::stream`.

use crate::runs::Of;
use crate::submission::Post;
use bytes::Bytes;
use exchange::{pipe, streams, PipeReader, PipeWriter, Promised, Reading};
use shm::RequestId;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use wire::stream::{worth, FIRST};

/// What the client takes is told in amounts of this part of what the stream has ahead, so that small pieces do not cost
/// a message each.
const PART: usize = 4;

/// The dispatcher's side of one.
pub(crate) struct Stream {
    /// `None` when the client no longer reads
    writer: Option<PipeWriter>,
    /// what the worker may still send
    credit: Promised,
    /// that, and what it has sent and the client has not taken, as far as is known here
    ahead: usize,
    /// what the client takes is told in amounts of this
    at_once: Arc<AtomicUsize>,
}

impl Stream {
    /// Of this request of this worker; what becomes of it at the client's is posted.
    pub(crate) fn new(worker: u32, of: Of, id: RequestId, post: UnboundedSender<Post>) -> (Stream, PipeReader) {
        let taken = AtomicUsize::new(0);
        let at_once = Arc::new(AtomicUsize::new(FIRST / PART));
        let told_at = at_once.clone();
        let (writer, reader) = pipe(Some(Box::new(move |reading| {
            // a dispatcher that has ended needs no news
            let _ = match reading {
                Reading::Took(bytes) => {
                    let all = taken.fetch_add(worth(bytes), Ordering::Relaxed) + worth(bytes);
                    // as it was or will be in a moment: either is less than what is ahead by now
                    if all < told_at.load(Ordering::Relaxed) {
                        return;
                    }
                    taken.fetch_sub(all, Ordering::Relaxed);
                    post.send(Post::Taken { worker, of, id, bytes: all })
                }
                Reading::Left => post.send(Post::Left { worker, of, id }),
            };
        })));
        let mut credit = streams().promise();
        credit.set(FIRST);
        (Stream { writer: Some(writer), credit, ahead: FIRST, at_once }, reader)
    }

    /// The next piece. `false` when the worker was not allowed to send it.
    pub(crate) fn take(&mut self, piece: Bytes) -> bool {
        let Some(left) = self.credit.bytes().checked_sub(worth(piece.len())) else { return false };
        if let Some(writer) = &self.writer {
            writer.write_promised(piece);
        }
        self.credit.set(left);
        true
    }

    /// The client no longer reads: what the worker still sends is dropped.
    pub(crate) fn cut(&mut self) {
        self.writer = None;
    }

    pub(crate) fn end(&mut self, whole: bool, trailers: Bytes) {
        if let Some(writer) = self.writer.take() {
            writer.end_with(whole, trailers);
        }
    }

    /// The client has taken so much: what the worker is to be told. One that has more ahead than it would get now is
    /// granted nothing until that has gone.
    pub(crate) fn grant(&mut self, bytes: usize) -> Option<u32> {
        self.ahead = self.ahead.saturating_sub(bytes);
        let more = streams().window().saturating_sub(self.ahead);
        self.ahead += more;
        self.credit.set(self.credit.bytes() + more);
        self.at_once.store(self.ahead / PART, Ordering::Relaxed);
        u32::try_from(more).ok().filter(|more| *more > 0)
    }
}

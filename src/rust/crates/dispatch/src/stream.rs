//! A body that a worker sends piece by piece: what it may send is granted by what the client has taken, so that neither
//! a slow client nor a worker that does not care can fill the server's memory. Neighbours: `exchange::pipe` (the way to
//! the client), `wire::stream`.

use crate::runs::Of;
use crate::submission::Post;
use bytes::Bytes;
use exchange::{pipe, PipeReader, PipeWriter, Reading, Written};
use shm::RequestId;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::UnboundedSender;
use wire::stream::{worth, WINDOW};

/// What the client takes is told in amounts of this, so that small pieces do not cost a message each.
const AT_ONCE: usize = WINDOW / 4;

/// The dispatcher's side of one.
pub(crate) struct Stream {
    /// `None` when nobody reads
    writer: Option<PipeWriter>,
    /// what the worker may still send
    credit: usize,
}

impl Stream {
    /// Of this request of this worker; what becomes of it at the client's is posted.
    pub(crate) fn new(worker: u32, of: Of, id: RequestId, post: UnboundedSender<Post>) -> (Stream, PipeReader) {
        let taken = AtomicUsize::new(0);
        let (writer, reader) = pipe(Some(Box::new(move |reading| {
            // a dispatcher that has ended needs no news
            let _ = match reading {
                Reading::Took(bytes) => {
                    let all = taken.fetch_add(worth(bytes), Ordering::Relaxed) + worth(bytes);
                    if all < AT_ONCE {
                        return;
                    }
                    taken.fetch_sub(all, Ordering::Relaxed);
                    post.send(Post::Taken { worker, of, id, bytes: all })
                }
                Reading::Left => post.send(Post::Left { worker, of, id }),
            };
        })));
        (Stream { writer: Some(writer), credit: WINDOW }, reader)
    }

    /// The next piece. `false` when the worker was not allowed to send it.
    pub(crate) fn take(&mut self, piece: Bytes) -> bool {
        let Some(left) = self.credit.checked_sub(worth(piece.len())) else { return false };
        self.credit = left;
        match &self.writer {
            Some(writer) => writer.write(piece, false) != Written::Full,
            None => true,
        }
    }

    /// Nobody reads any more: what the worker still sends goes nowhere.
    pub(crate) fn cut(&mut self) {
        self.writer = None;
    }

    pub(crate) fn end(&mut self, whole: bool, trailers: Bytes) {
        if let Some(writer) = self.writer.take() {
            writer.end_with(whole, trailers);
        }
    }

    /// The client has taken so much: what the worker is to be told.
    pub(crate) fn grant(&mut self, bytes: usize) -> Option<u32> {
        self.credit = (self.credit + bytes).min(WINDOW);
        u32::try_from(bytes).ok()
    }
}

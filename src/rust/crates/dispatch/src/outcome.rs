//! What comes of a request that is queued. All but [`Outcome::Notice`] are the end of it.

use admission::Late;
use bytes::Bytes;
use exchange::PipeReader;
use std::os::fd::OwnedFd;

/// What came of a request.
pub enum Outcome {
    /// the worker's reply, a message of `wire`, and the file with its body when that is long; and the worker, if it is
    /// a process
    Reply(Bytes, Option<OwnedFd>, Option<i32>),
    /// the head of its reply, such a message too, and the body, which is still to come
    Stream(Bytes, PipeReader),
    /// its handler goes on, and has said this, a message of `wire`: the ticket has more to tell. Only of a submission
    /// that takes notices.
    Notice(Bytes),
    /// it took too long, in the process of this number if a worker process had it
    Late(Late, Option<i32>),
    /// it waits for R in the process of this number, which has made it and waits for its answer
    OfItself(i32),
    /// the queue has no place for it: it is full, and others have waited for less; or it was withdrawn
    Full,
    /// the server ends, and no worker will answer
    Ending,
    /// its worker, the process of this number, died
    WorkerDied(Option<i32>),
    /// the app that routed it is not served any more: route it again; or the one worker that may have it is not there
    Stale,
}

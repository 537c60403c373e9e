//! What comes of a request that is queued.

use admission::Late;
use bytes::Bytes;
use exchange::PipeReader;
use std::os::fd::OwnedFd;

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

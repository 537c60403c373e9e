//! What workers say beside requests, at any time, of no request, and what carries it out. Nothing here knows what it
//! means.

use crate::owner::Owner;
use bytes::Bytes;

/// The way of an answer that takes a while, from any thread.
pub type Later = Box<dyn FnOnce(Vec<u8>) + Send>;

/// See the module. Called in the thread of the dispatcher, in the order in which a worker speaks: what it says before
/// its reply to a request is carried out before the request is answered.
pub trait Commands: Send + Sync {
    /// Carries out a command. The answer, if there is one, and it is there now; one that is not goes to what `later`
    /// makes.
    fn execute(&self, command: Bytes, later: &dyn Fn() -> Later) -> Option<Vec<u8>>;

    /// This worker is given nothing any more: it has died, or is to end.
    fn has_left(&self, _owner: Owner) {}

    /// This worker is given the request that opens a connection, which will stay with it: until it is there, or is
    /// not, it counts as one that it has.
    fn takes(&self, _owner: Owner, _connection: u64) {}

    /// That request was taken back from the worker.
    fn gives_back(&self, _connection: u64) {}

    /// How many sessions of visitors this worker has: they may go on when another app has taken over.
    fn sessions_of(&self, _owner: Owner) -> usize {
        0
    }

    /// How many connections this worker has, of those that stay with one.
    fn kept_by(&self, _owner: Owner) -> usize {
        0
    }
}

/// Carries nothing out.
impl Commands for () {
    fn execute(&self, _: Bytes, _: &dyn Fn() -> Later) -> Option<Vec<u8>> {
        None
    }
}

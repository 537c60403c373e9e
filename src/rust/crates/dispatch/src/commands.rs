//! What workers say beside requests, at any time, of no request, and what carries it out. Nothing here knows what it
//! means.

use bytes::Bytes;

/// See the module. Called in the thread of the dispatcher, in the order in which a worker speaks: what it says before
/// its reply to a request is carried out before the request is answered.
pub trait Commands: Send + Sync {
    /// Carries out a command. The answer, if there is one.
    fn execute(&self, command: Bytes) -> Option<Vec<u8>>;

    /// This worker process is given nothing any more: it has died, or is to end.
    fn has_left(&self, _process: i32) {}
}

/// Carries nothing out.
impl Commands for () {
    fn execute(&self, _: Bytes) -> Option<Vec<u8>> {
        None
    }
}

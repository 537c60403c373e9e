//! What handlers may do with WebSockets, from any thread and at any time: the other end has the connections, in this
//! process or beyond shared memory.

use wire::command::Command;

/// See the module.
pub trait WebSocketCommands: Send + Sync {
    /// Sends a command; those of one thread run in order. Not for commands that have an answer. `false` when the other
    /// end has gone.
    fn say(&self, command: &Command<'_>) -> bool;
}

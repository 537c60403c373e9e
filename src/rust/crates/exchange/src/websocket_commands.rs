//! What handlers may do with WebSockets, from any thread and at any time: the other end has the connections, in this
//! process or beyond shared memory.

use wire::websocket::Command;

/// See the module.
pub trait WebSocketCommands: Send + Sync {
    /// Has this done, in the order in which a thread says it. Not for what is answered. `false` when nobody does it any
    /// more.
    fn say(&self, command: &Command<'_>) -> bool;
}

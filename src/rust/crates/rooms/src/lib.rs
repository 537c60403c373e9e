//! Open WebSockets, by name, and their rooms: which connections get a message. No HTTP, no frames, no workers.
//!
//! A connection has a [`Mailbox`], which the task that has its socket empties. Senders use a [`Store`]: [`Local`] is
//! that of one server; one for several machines would deliver to it first.
#![forbid(unsafe_code)]

mod local;
mod mailbox;
mod names;
mod store;

pub use local::Local;
pub use mailbox::{Mailbox, Outgoing};
pub use store::{Member, Store};

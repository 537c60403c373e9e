//! WebSockets that are open, by their names, and the rooms that they are in: who gets a message. No HTTP, no frames, no
//! workers.
//!
//! A connection has a [`Mailbox`], which is emptied by the task that has its socket. Whoever sends knows a [`Store`]:
//! [`Local`] is that of one server; one for several machines would deliver to it first.
#![forbid(unsafe_code)]

mod local;
mod mailbox;
mod names;
mod store;

pub use local::Local;
pub use mailbox::{Mailbox, Outgoing};
pub use store::{Member, Store};

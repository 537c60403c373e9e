//! Which connections there are, and which of them get a message.

use crate::mailbox::Mailbox;
use exchange::Packet;
use std::sync::Arc;

/// Of a list of members: the connection, and what it is called there.
pub type Member = (u64, Arc<str>);

/// See the module. Connections are named by numbers that are never reused. A call for a connection that has gone does
/// nothing and is no error, as a connection may go at any time.
pub trait Store: Send + Sync {
    /// A connection is there, and can be sent to. Its name.
    fn enter(&self, mailbox: Arc<Mailbox>) -> u64;

    /// It has gone, from all rooms too.
    fn leave(&self, connection: u64);

    /// A message to one connection.
    fn send(&self, to: u64, packet: Arc<Packet>);

    /// A connection is to end, when it has been sent what was to be sent before.
    fn close(&self, connection: u64, code: u16, reason: &str);

    /// A connection is in a room from now on, under this name in the list of members. `false` when too many names
    /// there, or of rooms, collide with it in R's string cache: then all is as before.
    fn join(&self, connection: u64, room: &str, name: &str) -> bool;

    /// And now not any more.
    fn part(&self, connection: u64, room: &str);

    /// A message to all that are in a room, but `except`. To how many.
    fn broadcast(&self, room: &str, packet: Arc<Packet>, except: u64) -> usize;

    /// The members of a room, in the order in which they joined.
    fn members(&self, room: &str) -> Vec<Member>;

    /// Rooms that have members, by name, and how many.
    fn rooms(&self) -> Vec<(Arc<str>, usize)>;
}

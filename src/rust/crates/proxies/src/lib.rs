//! Proxies in front of the server: which of them are trusted ([`Networks`]), and what they say of the client that a
//! request is from ([`read`]) or a connection ([`header`]).
//!
//! Pure: no I/O, no clock. Neighbours: `httpd`, which knows the peer of a connection and has the fields.
#![forbid(unsafe_code)]

mod forwarded;
mod networks;
mod node;
mod protocol;

pub use forwarded::{read, Claim, Fields};
pub use networks::Networks;
pub use protocol::{header, Header, LONGEST};

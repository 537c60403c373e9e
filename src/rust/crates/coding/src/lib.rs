//! Content codings (RFC 9110 section 8.4.1): which one a client gets (`accept`), which responses may be packed
//! (`terms`), and the packing and unpacking itself: of whole bodies (`whole`), of bodies that come in pieces
//! (`pieces`), of files ahead of time (`smallest`), and of what clients send (`decoder`).
//!
//! Not for deciding which requests are covered, nor for compression on WebSockets. No I/O, and no clock. Neighbours:
//! `engine` (decides by the head of a request), `worker` and `engine` (pack what handlers answer), `httpd` (unpacks
//! bodies of requests).
#![forbid(unsafe_code)]

mod accept;
mod decoder;
mod name;
mod pieces;
mod smallest;
mod terms;
mod whole;

pub use accept::accepted;
pub use decoder::{unpack, Decoder, Undecodable, WINDOW};
pub use name::Coding;
pub use pieces::Pieces;
pub use smallest::smallest;
pub use terms::{Levels, Rules, Terms, TypePattern, TYPES};
pub use whole::pack;

//! WebSockets (RFC 6455), with compression (RFC 7692), of both ends: messages from bytes and bytes from messages. Not
//! for sockets nor handshakes: those of a server are in the crate `httpd`, those of a client in `client`.
//!
//! `read` makes messages of frames, `write` frames of messages, `deflate` compresses with one compressor for each
//! thread, and `close` says why a connection ends.
#![forbid(unsafe_code)]

mod close;
mod deflate;
mod read;
mod write;

pub use close::Close;
pub use deflate::{deflate, inflate, Deflate, LEAST_BITS, MOST_BITS};
pub use read::{unmask, Came, Reader};
pub use tungstenite::handshake::{client::generate_key, derive_accept_key};
pub use write::{head, masked, Kind, WORTH_IT};

use bytes::Bytes;

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// UTF-8, and not any bytes
    pub is_text: bool,
    /// all of it
    pub bytes: Bytes,
}

/// Which end of a connection this is. Frames of a client are masked, those of a server are not (section 5.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// has accepted it
    #[default]
    Server,
    /// has asked for it
    Client,
}

//! A message on its way to WebSockets: one for all that get it, however many they are.

use bytes::Bytes;
use std::sync::OnceLock;

/// See the module.
#[derive(Debug)]
pub struct Packet {
    /// UTF-8, and not any bytes
    pub is_text: bool,
    /// all of it
    pub payload: Bytes,
    deflated: OnceLock<Bytes>,
}

impl Packet {
    /// A message of text, which is UTF-8, or of bytes.
    pub fn new(is_text: bool, payload: Bytes) -> Self {
        Packet { is_text, payload, deflated: OnceLock::new() }
    }

    /// The same compressed, which is done once.
    pub fn deflated(&self, deflate: impl FnOnce(&[u8]) -> Bytes) -> Bytes {
        self.deflated.get_or_init(|| deflate(&self.payload)).clone()
    }
}

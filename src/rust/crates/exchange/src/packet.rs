//! A message on its way to WebSockets: one for all that get it, however many they are.

use crate::Unread;
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
    unread: Unread,
}

impl Packet {
    /// A message of text, which is UTF-8, or of bytes. It counts as `unread`.
    pub fn new(is_text: bool, payload: Bytes, unread: &Unread) -> Self {
        Packet { is_text, payload: unread.hold(payload), deflated: OnceLock::new(), unread: unread.clone() }
    }

    /// What it costs where it waits.
    pub fn worth(&self) -> usize {
        self.payload.len() + Unread::OVERHEAD
    }

    /// The same compressed, which is done once.
    pub fn deflated(&self, deflate: impl FnOnce(&[u8]) -> Bytes) -> Bytes {
        self.deflated.get_or_init(|| self.deflated_apart(deflate)).clone()
    }

    /// The same compressed for one that gets it, which is not kept.
    pub fn deflated_apart(&self, deflate: impl FnOnce(&[u8]) -> Bytes) -> Bytes {
        self.unread.hold(deflate(&self.payload))
    }
}

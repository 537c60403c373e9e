//! Bytes of a response that the library has to send: as they are written, the clock of their stream is told.

use crate::transfer::Transfer;
use bytes::{Buf, Bytes};
use std::sync::Arc;

/// See the module.
pub struct Piece {
    bytes: Bytes,
    transfer: Arc<Transfer>,
}

impl Piece {
    pub fn new(bytes: Bytes, transfer: Arc<Transfer>) -> Self {
        transfer.hands_over(bytes.len());
        Piece { bytes, transfer }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, n: usize) {
        self.bytes.advance(n);
        self.transfer.took(n);
    }
}

/// Bytes that are given up count as taken: nothing waits for them.
impl Drop for Piece {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.transfer.took(self.bytes.len());
        }
    }
}

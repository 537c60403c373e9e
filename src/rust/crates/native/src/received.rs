//! A request that outlives the call it came by: its message, and what was read of it, together.

use crate::buffers;
use wire::{Request, WireError};

/// See the module.
pub struct Received {
    /// Borrows from `message`, despite its lifetime: it never leaves this struct with that lifetime.
    request: Request<'static>,
    /// Not touched while `request` is there; the bytes do not move when this struct does.
    message: Vec<u8>,
}

impl Drop for Received {
    fn drop(&mut self) {
        // `request` is not read any more
        buffers::give_back(std::mem::take(&mut self.message));
    }
}

impl Received {
    /// Reads a message of `wire`.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(message: Vec<u8>) -> Result<Self, WireError> {
        // SAFETY: the bytes are on the heap, where they stay, unchanged, until this is dropped.
        let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(message.as_ptr(), message.len()) };
        Ok(Received { request: Request::decode(bytes)?, message })
    }

    /// The request.
    pub fn request(&self) -> &Request<'_> {
        &self.request
    }
}

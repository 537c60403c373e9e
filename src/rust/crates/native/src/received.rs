//! A request that outlives the call it came by: its message, and what was read of it, together.

use wire::{Request, WireError};

/// See the module.
pub struct Received {
    /// Borrows from `message`, whatever its lifetime says: it never leaves this struct with that lifetime.
    request: Request<'static>,
    /// Not touched while `request` is there; the bytes do not move when this struct does.
    _message: Vec<u8>,
}

impl Received {
    /// Reads a message of `wire`.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(message: Vec<u8>) -> Result<Self, WireError> {
        // SAFETY: the bytes are on the heap, where they stay, unchanged, until `_message` is dropped, which is after `request`.
        let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(message.as_ptr(), message.len()) };
        Ok(Received { request: Request::decode(bytes)?, _message: message })
    }

    /// The request.
    pub fn request(&self) -> &Request<'_> {
        &self.request
    }
}

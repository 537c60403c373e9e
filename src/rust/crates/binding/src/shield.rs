//! What stands at every door between C and Rust: no panic may cross it; bytes are borrowed, errors are handed over.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::slice;

/// Runs `f`; a panic, which is a bug here, becomes `otherwise`. The panic hook has printed it.
pub(crate) fn shield<T>(otherwise: T, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(otherwise)
}

/// Bytes that C lends for the call.
///
/// # Safety
/// `ptr` points at `len` bytes, or `len` is 0.
pub(crate) unsafe fn borrowed<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        &[]
    } else {
        // SAFETY: the caller's.
        unsafe { slice::from_raw_parts(ptr, len) }
    }
}

/// Words for C: an error's text stays valid until the next error of the thread.
#[repr(C)]
pub struct Error {
    /// HTTP status that fits, 0 for none
    status: i32,
    message: crate::node::Str,
}

thread_local! {
    static LAST: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

impl Error {
    /// Leaves an error at `place`.
    ///
    /// # Safety
    /// `place` is valid for writing, as C promises of every `drv_error *`.
    pub(crate) unsafe fn put(place: *mut Error, status: u16, message: impl Into<String>) {
        LAST.with(|last| {
            let mut last = last.borrow_mut();
            *last = message.into();
            let message = crate::node::Str::new(last.as_bytes());
            // SAFETY: the caller's.
            unsafe { place.write(Error { status: i32::from(status), message }) }
        });
    }
}

//! Texts and bytes that C lends for the time of a call.

use crate::check::LONGEST_BODY;
use std::ffi::{c_char, c_void, CStr};

/// A text of C's, without its NUL.
///
/// # Safety
/// It is NULL, or ended by a NUL and unchanged while it is used.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Bytes of C's; `None` when they cannot be.
///
/// # Safety
/// There are `len` of them, and they are unchanged while they are used.
pub unsafe fn run<'a>(data: *const c_void, len: usize) -> Option<&'a [u8]> {
    match len {
        0 => Some(&[]),
        _ if data.is_null() || len > LONGEST_BODY => None,
        // SAFETY: the caller's promise; `len` is below `isize::MAX`.
        _ => Some(unsafe { std::slice::from_raw_parts(data.cast(), len) }),
    }
}

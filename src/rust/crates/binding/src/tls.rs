//! A certificate for development, made for R. Neighbours: `engine` (which makes it), R/settings-tls.R.

use crate::node::Str;
use crate::shield::{shield, Error};
use engine::self_signed;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Has one in the folder: makes it, unless it is there and good for a while. 0, and an error, when it cannot be made.
///
/// # Safety
/// C lends the text for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_tls_self_signed(folder: Str, error: *mut Error) -> i32 {
    // SAFETY: C lends the text for the call.
    let folder = Path::new(OsStr::from_bytes(unsafe { folder.as_bytes() }));
    match shield(Err("the engine failed".to_owned()), || self_signed(folder).map_err(|e| e.to_string())) {
        Ok(_) => 1,
        Err(e) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, e) };
            0
        }
    }
}

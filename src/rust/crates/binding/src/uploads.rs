//! The folder for large bodies of a server that an R session starts. Neighbours: `engine` (what the folder is),
//! `src/uploads.c`.

use crate::node::Str;
use crate::shield::{shield, Error};
use engine::Uploads;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Makes one beneath a folder. Null, and an error, when none can be made there.
///
/// # Safety
/// C lends the text for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_uploads_new(beneath: Str, error: *mut Error) -> *mut Uploads {
    // SAFETY: the caller's.
    let beneath = Path::new(OsStr::from_bytes(unsafe { beneath.as_bytes() }));
    match shield(Err("the engine failed".to_owned()), || Uploads::beneath(beneath).map_err(|e| e.to_string())) {
        Ok(uploads) => Box::into_raw(Box::new(uploads)),
        Err(e) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, e) };
            ptr::null_mut()
        }
    }
}

/// Its path, which lives as long as it.
///
/// # Safety
/// `uploads` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_uploads_path(uploads: *const Uploads) -> Str {
    // SAFETY: the caller's.
    Str::new(unsafe { (*uploads).path().as_os_str().as_bytes() })
}

/// Removes it with all that is in it.
///
/// # Safety
/// `uploads` is live, and not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_uploads_free(uploads: *mut Uploads) {
    // SAFETY: the caller's.
    shield((), || drop(unsafe { Box::from_raw(uploads) }));
}

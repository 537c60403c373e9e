//! What is called of R and of C, as `src/interface.c` hands it down when the package is loaded. It is not left to the
//! linker: this library is the program's, too, where there is no R.

use super::Sexp;
use crate::node::Str;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

/// `struct drv_interface`: objects of R that are always there, and functions.
#[repr(C)]
pub(crate) struct Interface {
    pub(super) na_string: Sexp,
    pub(super) nil: Sexp,
    pub(super) names: Sexp,
    pub(super) dim: Sexp,
    pub(super) class: Sexp,
    pub(super) levels: Sexp,
    pub(super) row_names: Sexp,
    pub(super) type_of: unsafe extern "C" fn(Sexp) -> c_int,
    pub(super) is_altrep: unsafe extern "C" fn(Sexp) -> c_int,
    pub(super) is_s4: unsafe extern "C" fn(Sexp) -> c_int,
    pub(super) length: unsafe extern "C" fn(Sexp) -> isize,
    pub(super) data: unsafe extern "C" fn(Sexp) -> *const c_void,
    pub(super) attributes: unsafe extern "C" fn(Sexp) -> Sexp,
    pub(super) car: unsafe extern "C" fn(Sexp) -> Sexp,
    pub(super) cdr: unsafe extern "C" fn(Sexp) -> Sexp,
    pub(super) tag: unsafe extern "C" fn(Sexp) -> Sexp,
    pub(super) print_name: unsafe extern "C" fn(Sexp) -> Sexp,
    pub(super) text: unsafe extern "C" fn(Sexp) -> *const c_char,
    pub(super) text_length: unsafe extern "C" fn(Sexp) -> c_int,
    pub(super) encoding: unsafe extern "C" fn(Sexp) -> c_int,
    pub(super) element: unsafe extern "C" fn(Sexp, isize) -> Sexp,
    pub(super) view: unsafe extern "C" fn(Sexp, *mut isize) -> *const c_void,
    pub(super) translate: unsafe extern "C" fn(Sexp, *mut usize) -> *mut c_char,
    pub(super) free: unsafe extern "C" fn(*mut c_char),
    pub(super) native_is_utf8: unsafe extern "C" fn() -> c_int,
    pub(super) digits_secs_set: unsafe extern "C" fn() -> c_int,
    pub(super) is_session_zone: unsafe extern "C" fn(*const c_char, usize) -> c_int,
    pub(super) zone_offset: unsafe extern "C" fn(f64, *mut i64) -> c_int,
    pub(crate) read_dates: unsafe extern "C" fn(*const Str, usize, i32, *mut f64) -> i32,
    pub(super) opened_descriptor: unsafe extern "C" fn(Sexp) -> c_int,
}

// SAFETY: addresses of what lives as long as the process and never changes. What calling the functions takes, their
// callers promise.
unsafe impl Sync for Interface {}

static GIVEN: OnceLock<&Interface> = OnceLock::new();

/// What was handed down. Objects of R are seen in no process before that.
pub(crate) fn r() -> &'static Interface {
    GIVEN.get().expect("the package is loaded")
}

/// Takes what is called. A second time changes nothing.
///
/// # Safety
/// `interface` lives as long as the process, and its functions are what their names say.
#[no_mangle]
pub unsafe extern "C" fn drv_interface_give(interface: *const Interface) {
    // SAFETY: the caller's.
    let _ = GIVEN.set(unsafe { &*interface });
}

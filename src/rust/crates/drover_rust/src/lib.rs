//! What is installed of Rust, `libdrover_rust.so`: R's interface, which `drover.so` is linked to (`src/*.c`), and the
//! program (`src/program.rs`). They are one library because they have nearly all of their code in common: apart they
//! would be twice as large, and take twice as long to build.

// its functions are exported as they are
use binding as _;
use std::ffi::{c_char, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Runs the program; its exit code.
///
/// # Safety
/// `args` points at `n` texts.
#[no_mangle]
pub unsafe extern "C" fn drover_main(args: *const *const c_char, n: usize) -> u8 {
    // SAFETY: the caller's.
    let args = unsafe { std::slice::from_raw_parts(args, n) };
    // SAFETY: the caller's.
    let args = args.iter().map(|arg| OsStr::from_bytes(unsafe { CStr::from_ptr(*arg) }.to_bytes()).to_owned());
    // as a program ends that has panicked
    std::panic::catch_unwind(|| cli::run(args)).unwrap_or(101)
}

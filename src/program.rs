//! The program `drover`: the door to the library beside it, rust/crates/drover_rust. Makevars.in has it compiled.

use std::ffi::{c_char, CString};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

#[link(name = "drover_rust")]
extern "C" {
    fn drover_main(args: *const *const c_char, n: usize) -> u8;
}

fn main() -> ExitCode {
    // no argument has a zero byte in it: that is how they end
    let args: Vec<_> = std::env::args_os().map(|arg| CString::new(arg.into_vec()).unwrap_or_default()).collect();
    let pointers: Vec<_> = args.iter().map(|arg| arg.as_ptr()).collect();
    // SAFETY: as many texts as it says, which live until it returns.
    ExitCode::from(unsafe { drover_main(pointers.as_ptr(), pointers.len()) })
}

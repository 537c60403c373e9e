//! The program by itself, as the tests of this crate run it. What is installed is a library that R has its own in, too:
//! the crate `drover_rust`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cli::run(std::env::args_os()))
}

//! Fuzz targets: each takes any bytes and panics when something does not hold that must. README.md says how to run
//! them.
//!
//! `libfuzzer/` has a program for each, so that none counts what only others cover; `replay` runs all of them on what
//! was found worth keeping, `corpus/TARGET/`.

pub mod canary;
mod input;
#[cfg(test)]
mod replay;
mod targets;

pub use targets::*;

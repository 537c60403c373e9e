//! What the server tells of itself: the log, and a warning at the start.
#![forbid(unsafe_code)]

mod log;
mod root;

pub use log::{Level, Log};
pub use root::{is_root_of_the_machine, WARNING};

//! What the server tells of itself.

mod log;
mod root;

pub use log::{Level, Log};
pub use root::{is_root_of_the_machine, WARNING};

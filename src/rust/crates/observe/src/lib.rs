//! What the server tells of itself: the log, and a warning at the start.
#![forbid(unsafe_code)]

mod console;
mod log;
mod look;
mod record;
mod root;

pub use console::Console;
pub use log::{Log, Screen};
pub use record::Level;
pub use root::{is_root_of_the_machine, WARNING};

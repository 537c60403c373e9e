//! What the server tells of itself.

mod log;

pub use log::{Level, Log};

//! What the server tells of itself: the log, figures for monitoring, and a warning at the start.
#![forbid(unsafe_code)]

mod console;
mod json;
mod log;
mod look;
pub mod metrics;
mod recent;
mod record;
mod root;
mod status;

pub use console::Console;
pub use json::quote;
pub use log::{Log, Manner, Screen};
pub use look::{json_line, Format};
pub use recent::RecentError;
pub use record::{about_no_request, printed, with_lost, with_names, Level};
pub use root::{is_root_of_the_machine, WARNING};
pub use status::{RunningRequest, SessionStatus, WorkerState, WorkerStatus};

//! Lines of the log that C handlers cause.

use std::sync::Arc;

/// Where lines go, with their level as [`wire::control::WorkerNews::Log`] has it.
pub type LogLine = Arc<dyn Fn(u32, &str) + Send + Sync>;

/// `WARN`: a client's fault, or none. `ERROR`: a handler's.
pub(crate) const WARN: u32 = 1;
pub(crate) const ERROR: u32 = 2;

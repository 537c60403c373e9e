//! Which processes there are: zygotes, workers, generations; their start, replacement and end.
//!
//! The supervisor is one thread beside the I/O threads of `engine`. It decides and gives orders; requests go past it.
//! [`Service`] is all that its users (`binding`, `cli`) see.
#![forbid(unsafe_code)]

mod event;
mod options;
mod service;
mod source;
mod status;

pub use event::{Event, Failure};
pub use options::{PoolOptions, Start};
pub use service::{Service, Wake};
pub use source::Source;
pub use status::{WorkerState, WorkerStatus};

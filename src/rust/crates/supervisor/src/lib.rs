//! Which processes there are: zygotes, workers, generations; their start, replacement and end.
//!
//! The supervisor is one thread beside the I/O threads of `engine`. It decides and gives orders; requests go past it.
//! [`Service`] is all that its users (`binding`, `cli`) see. Neighbours: `engine` (the pool that requests go through),
//! `shm` (links and channels), `wire` (what is said on channels).
#![forbid(unsafe_code)]

mod asker;
mod board;
mod configuration;
mod ended;
mod ending;
mod event;
mod express;
mod generation;
mod generations;
mod house;
mod inbox;
mod inspection;
mod leftovers;
mod loader;
mod named;
mod options;
mod os;
mod outlet;
mod policy;
mod pools;
mod recycling;
mod reports;
mod rest;
mod scratch;
mod service;
mod source;
mod staff;
mod stage;
mod supervisor;
mod takeover;
mod turnover;
mod visitors;
mod worker_handle;
mod workers;
mod zygote;
mod zygotes;

pub use asker::OnOutcome;
pub use board::{quick_status, worker_status};
pub use configuration::{read_app, read_options, read_settings, read_whole};
pub use engine::{WorkerState, WorkerStatus};
pub use event::{Event, Failure, Parts};
pub use house::{AppStart, House};
pub use options::{usable_cores, PoolOptions, Start, AUTO};
pub use outlet::Wake;
pub use service::Service;
pub use source::Source;
pub use wire::control::Inspection;

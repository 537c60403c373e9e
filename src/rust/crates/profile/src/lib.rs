//! What workers report of themselves, as tables and a flame graph: samples of R's stack, and the objects in memory.
//!
//! In reading order: `report` (the JSON of a worker, which is not trusted), `stack` (a line of R's profiler), `samples`
//! (stacks of one or more workers, by route), `table` (what takes the time), `flame` (the picture), `objects` (memory),
//! `text` (for a terminal). Not for how a worker is asked: that is `supervisor`.
#![forbid(unsafe_code)]

mod flame;
mod objects;
mod report;
mod samples;
mod stack;
mod table;
mod text;

pub use objects::Objects;
pub use samples::Samples;
pub use table::{OfFunction, OfLine, OfRoute, Tables};

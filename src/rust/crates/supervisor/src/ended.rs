//! What is known of a worker that is gone. Neighbour: `staff`, which says what became of it.

use std::time::Instant;

/// A worker that has ended, until it is known how.
#[derive(Debug)]
pub struct Ended {
    /// its number
    pub worker: u32,
    /// as logs call it
    pub name: String,
    /// the app that it ran
    pub generation: u32,
    /// whether the server has ended it
    pub expected: bool,
    /// why it has done so by a signal
    pub because: Option<&'static str>,
    /// what it said, or what was found, about a failure
    pub failure: Option<String>,
    /// whether the engine has killed it, as it did not answer
    pub hung: bool,
    /// when the server stops waiting for the zygote to explain the end
    pub deadline: Instant,
}

//! Which kind of thread a request waits for.

use serde::{Deserialize, Serialize};

/// What runs a handler.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// R, in a worker
    #[default]
    R,
    /// C, on the thread that has the request: it has promised not to block
    Inline,
    /// C, on a thread of a pool
    Pool,
}

/// One of a worker's lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    R,
    C,
}

impl From<Runs> for Of {
    fn from(runs: Runs) -> Self {
        match runs {
            Runs::R => Of::R,
            Runs::Inline | Runs::Pool => Of::C,
        }
    }
}

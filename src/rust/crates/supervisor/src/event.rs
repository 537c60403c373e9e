//! What the supervisor tells whoever started it.

use engine::{Address, AppConfig, Runs};

/// What an app has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// routes whose handlers are in R
    pub routes: usize,
    /// and those whose handlers are in C
    pub cpp_routes: usize,
    /// static mounts
    pub mounts: usize,
    /// routes of WebSockets, whoever handles them
    pub ws_routes: usize,
    /// see [`AppConfig::mcp`]
    pub mcp: Option<String>,
}

impl Parts {
    pub(crate) fn of(app: &AppConfig) -> Self {
        let count = |is: fn(&Runs) -> bool| {
            app.routes.iter().filter(|route| route.websocket.is_none() && is(&route.runs)).count()
        };
        Parts {
            routes: count(|runs| *runs == Runs::R),
            cpp_routes: count(|runs| *runs != Runs::R),
            mounts: app.mounts.len(),
            ws_routes: app.routes.iter().filter(|route| route.websocket.is_some()).count(),
            mcp: app.mcp.clone(),
        }
    }
}

/// Something that happened, in the order in which it did.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// an app has been loaded
    Loaded {
        /// the generation that its workers are of
        generation: u32,
        /// how long that took
        seconds: f64,
        /// what it has
        parts: Parts,
    },
    /// a worker of a generation that starts is ready
    WorkerReady {
        /// workers that are
        ready: usize,
        /// workers that will be
        of: usize,
    },
    /// requests are served from now on
    Listening(Vec<Address>),
    /// it could not be started, or the supervisor itself has failed: nothing is left running
    Failed {
        /// what failed
        kind: Failure,
        /// why, for a person
        message: String,
    },
    /// the new generation has taken over
    Reloaded {
        /// its number
        generation: u32,
    },
    /// the new generation could not be started; the one before goes on
    ReloadFailed {
        /// why, for a person
        message: String,
    },
    /// whoever runs the server wants the app loaded anew, and said so to the server: its owner knows from where
    ReloadWanted,
    /// a zygote that the session had forked is gone: new workers need a new one, by `adopt_zygote`
    ZygoteLost,
    /// the end; nothing is left running
    Stopped,
}

/// What failed at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// the address
    Listen,
    /// loading the app
    Load,
    /// the start of a worker, most often `on_worker_start`
    WorkerStart,
    /// something of the system: no R, no memory, no process
    System,
}

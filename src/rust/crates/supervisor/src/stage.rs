//! Where the server is in its life.

use crate::Event;
use std::time::{Duration, Instant};

/// What processes are given for each step, asked, terminated, killed, when no time is left.
pub const LAST_GRACE: Duration = Duration::from_millis(250);

/// Where the server is in its life.
#[derive(Debug)]
pub enum Stage {
    /// it does not listen yet
    Starting,
    /// it does
    Serving,
    /// it serves as before until this time, and then drains for this many seconds
    Leaving(Instant, f64),
    /// no new connections; requests are answered
    Draining(Instant),
    /// workers end
    Dismissing(Instant),
    /// zygotes end
    Closing,
    /// all processes are being killed; then this is told
    Killing(Instant, Event),
    /// it has ended, and this is told
    Over(Event),
}

impl Stage {
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self, Stage::Starting)
    }

    pub(crate) fn is_serving(&self) -> bool {
        matches!(self, Stage::Serving)
    }

    /// Whether workers are wanted.
    pub(crate) fn needs_staff(&self) -> bool {
        matches!(self, Stage::Starting | Stage::Serving | Stage::Leaving(..) | Stage::Draining(_))
    }

    /// How long a worker may take to end after SIGTERM when all is about to end.
    pub(crate) fn last_grace(&self) -> Option<Duration> {
        (!self.needs_staff()).then_some(LAST_GRACE)
    }
}

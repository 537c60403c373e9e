//! A server with its processes, as whoever started it sees it.

use crate::{Event, PoolOptions, Source, WorkerStatus};
use engine::{Settings, StartError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Called, from the supervisor's thread, after each event.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A server and the processes that it needs. Dropping it ends them all at once.
#[derive(Debug)]
pub struct Service {}

impl Service {
    /// Binds the address and starts everything; returns before anything is ready.
    ///
    /// # Errors
    /// When the settings are wrong or the address cannot be bound. Nothing is then left running.
    pub fn start(
        _settings: Settings,
        _options: PoolOptions,
        _source: Source,
        _wake: Wake,
    ) -> Result<Service, StartError> {
        todo!()
    }

    /// The next event. Without any, waits for one; `None` when the time is over.
    pub fn next_event(&self, _timeout: Duration) -> Option<Event> {
        todo!()
    }

    /// The address that is bound.
    pub fn address(&self) -> SocketAddr {
        todo!()
    }

    /// One row for each worker, the oldest first.
    pub fn status(&self) -> Vec<WorkerStatus> {
        todo!()
    }

    /// Loads the app anew; when it works, its workers take over. Returns at once: [`Event::Reloaded`] or
    /// [`Event::ReloadFailed`] tells the end.
    pub fn reload(&self, _source: Source) {
        todo!()
    }

    /// Gives the present generation a new zygote, after [`Event::ZygoteLost`].
    pub fn adopt_zygote(&self, _source: Source) {
        todo!()
    }

    /// Ends everything in peace within `graceful_timeout` seconds (`None`: as the options say); called again, at once.
    /// Returns at once: [`Event::Stopped`] tells the end.
    pub fn stop(&self, _graceful_timeout: Option<f64>) {
        todo!()
    }
}

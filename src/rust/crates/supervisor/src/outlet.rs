//! The way of events to whoever started the server.

use crate::Event;
use std::sync::mpsc::Sender;
use std::sync::Arc;

/// Called, from the supervisor's thread, after each event.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Where events go.
#[derive(Clone)]
pub struct Outlet {
    /// the queue
    pub events: Sender<Event>,
    /// called after each
    pub wake: Wake,
}

impl Outlet {
    /// Tells an event.
    pub fn send(&self, event: Event) {
        // an owner that listens no more is about to drop the service
        let _ = self.events.send(event);
        (self.wake)();
    }
}

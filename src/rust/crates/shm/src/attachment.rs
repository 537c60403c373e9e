//! What a worker is given: its ends of the links, one for each I/O thread, and the bells.

use crate::{Bell, WorkerEnd};
use std::sync::Arc;

/// A worker's ends. The server keeps the others.
#[derive(Debug)]
pub struct Attachment {
    /// for each I/O thread of the server, the link to it and the bell that wakes it
    pub links: Vec<(WorkerEnd, Arc<Bell>)>,
    /// wakes the worker
    pub bell: Arc<Bell>,
}

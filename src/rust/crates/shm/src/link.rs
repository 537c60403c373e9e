//! All that one I/O thread and one worker share: two rings and the slots, in one segment.

use crate::ring::{ring, CONTROL};
use crate::{Consumer, Producer, Segment, Slots};
use std::io;
use std::sync::Arc;

/// Bytes of each ring. At about 300 bytes a request it holds more than a queue of 1 024 small ones; longer
/// messages pass in pieces.
const RING: usize = 512 << 10;

/// Makes links.
#[derive(Debug)]
pub struct Link;

/// The server's end: it sends requests and receives replies.
#[derive(Debug)]
pub struct ServerEnd {
    /// requests, to the worker
    pub requests: Producer,
    /// replies, from the worker
    pub replies: Consumer,
    /// who owns which request
    pub slots: Slots,
}

/// The worker's end: it receives requests and sends replies.
#[derive(Debug)]
pub struct WorkerEnd {
    /// requests, from the server
    pub requests: Consumer,
    /// replies, to the server
    pub replies: Producer,
    /// who owns which request
    pub slots: Slots,
}

impl Link {
    /// Both ends of a new link that holds up to `slots` requests at a time.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn pair(slots: usize) -> io::Result<(ServerEnd, WorkerEnd)> {
        let table = Slots::size(slots).next_multiple_of(CONTROL);
        let segment = Arc::new(Segment::new(table + 2 * (CONTROL + RING))?);
        let (requests_in, requests_out) = ring(&segment, table, RING);
        let (replies_in, replies_out) = ring(&segment, table + CONTROL + RING, RING);
        let slots = Slots::new(&segment, 0, slots);
        Ok((
            ServerEnd { requests: requests_in, replies: replies_out, slots: slots.clone() },
            WorkerEnd { requests: requests_out, replies: replies_in, slots },
        ))
    }
}

//! A request that a worker has.

use crate::request::Key;
use shm::RequestId;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assigned {
    pub id: RequestId,
    /// names it in the log
    pub request: u64,
    /// its client may have gone since
    pub key: Key,
    pub route: u32,
    /// microseconds that its handler is expected to take; `None` when nothing is known
    pub expected: Option<u32>,
    /// by when it must have been answered, in ms
    pub deadline: u64,
    /// whether no other worker may have it
    pub is_bound: bool,
    /// whether its handler begins along with that of the one before it
    pub is_along: bool,
}

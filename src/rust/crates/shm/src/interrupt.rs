//! The word that names the request to be interrupted.
//!
//! A signal reaches a process, not a request: by the time it is there, another request may run. So the server, the only
//! writer, names the request here before it sends the signal, and the worker heeds a signal only while that very
//! request runs. Relaxed: it is the signal, sent after it and delivered by the kernel, that orders it. A dead peer
//! leaves a name that no later request has: links go with their workers.

use crate::sync::AtomicU64;
use crate::{RequestId, Segment};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// See the module.
#[derive(Debug, Clone)]
pub struct Interrupt {
    segment: Arc<Segment>,
    offset: usize,
}

impl Interrupt {
    pub(crate) fn new(segment: &Arc<Segment>, offset: usize) -> Self {
        Interrupt { segment: segment.clone(), offset }
    }

    fn word(&self) -> &AtomicU64 {
        self.segment.word(self.offset)
    }

    /// Server: this request is to be interrupted. The signal comes after this.
    pub fn name(&self, id: RequestId) {
        self.word().store(id.to_word(), Ordering::Relaxed);
    }

    /// Worker: whether it is this one. Safe to call in a signal handler.
    pub fn names(&self, id: RequestId) -> bool {
        self.word().load(Ordering::Relaxed) == id.to_word()
    }
}

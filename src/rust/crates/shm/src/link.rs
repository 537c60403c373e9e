//! All that the server and one worker share: two rings, the slots, a bell for each end and the word that names the
//! request to be interrupted, in one segment; and the way of files. The worker may be a thread of the server's process,
//! or a process that got the descriptors.
//!
//! Only one worker uses a link, which goes with it: nothing that a dead or hostile worker left there harms another.

use crate::ring::{ring, Consumer, Producer, CONTROL};
use crate::{Bell, Channel, Files, Interrupt, Ring, Segment, Slots};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Bytes of each ring. At about 300 bytes a request it holds far more than is handed ahead to one worker; longer
/// messages pass in pieces.
const RING: usize = 256 << 10;
/// Slots of a link: more requests than one worker is ever given at a time, with those whose handlers answer later.
const SLOTS: usize = 2048;

// Offsets, each on a cache line (and its prefetched neighbour) of its own.
const SERVER_ASLEEP: usize = 0;
const WORKER_ASLEEP: usize = 128;
const INTERRUPT: usize = 256;
const TABLE: usize = 512;
const REQUESTS: usize = TABLE + SLOTS * 8;
const REPLIES: usize = REQUESTS + CONTROL + RING;
const SIZE: usize = REPLIES + CONTROL + RING;

/// The server's end: it sends requests and receives replies.
#[derive(Debug)]
pub struct ServerEnd {
    /// requests, to the worker
    pub requests: Producer,
    /// replies, from the worker
    pub replies: Consumer,
    /// which side owns each request
    pub slots: Slots,
    /// wakes the server
    pub bell: Arc<Bell>,
    /// wakes the worker
    pub worker_bell: Arc<Bell>,
    /// names the request to be interrupted
    pub interrupt: Interrupt,
    /// files of replies, from the worker
    pub files: Files,
}

/// The worker's end: it receives requests and sends replies.
#[derive(Debug)]
pub struct WorkerEnd {
    /// requests, from the server
    pub requests: Consumer,
    /// replies, to the server
    pub replies: Producer,
    /// which side owns each request
    pub slots: Slots,
    /// wakes the worker
    pub bell: Arc<Bell>,
    /// wakes the server
    pub server_bell: Arc<Bell>,
    /// names the request to be interrupted
    pub interrupt: Interrupt,
    /// files of replies, to the server
    pub files: Files,
}

/// What a worker process is sent to make its end of: the segment, the server's bell, the worker's bell, the way of
/// files, in this order.
#[derive(Debug)]
pub struct LinkFds {
    segment: Arc<Segment>,
    bells: [Arc<Bell>; 2],
    files: Files,
}

/// Descriptors of a link.
pub const FDS: usize = 4;

impl LinkFds {
    /// The descriptors, to be sent.
    pub fn borrow(&self) -> [BorrowedFd<'_>; FDS] {
        [self.segment.as_fd(), self.bells[0].as_fd(), self.bells[1].as_fd(), self.files.0.as_fd()]
    }

    /// One link's, of those that were sent. `None` when there are not enough.
    pub fn take(from: &mut impl Iterator<Item = OwnedFd>) -> Option<[OwnedFd; FDS]> {
        Some([from.next()?, from.next()?, from.next()?, from.next()?])
    }
}

impl ServerEnd {
    /// A new link to a worker process: the server's end, and what the worker makes its own of.
    ///
    /// # Errors
    /// When the system has no memory or descriptors for it.
    pub fn new() -> io::Result<(ServerEnd, LinkFds)> {
        let (server, worker) = pair(None)?;
        let segment = worker.slots.segment().clone();
        Ok((server, LinkFds { segment, bells: [worker.server_bell, worker.bell], files: worker.files }))
    }
}

impl WorkerEnd {
    /// The worker's end of a link, of the descriptors of [`LinkFds`] in their order.
    ///
    /// # Errors
    /// When they are not those of a link.
    pub fn attach([segment, server_bell, worker_bell, files]: [OwnedFd; FDS]) -> io::Result<WorkerEnd> {
        let segment = Arc::new(Segment::attach(segment)?);
        if segment.len() != SIZE {
            return Err(io::Error::other("not the segment of a link: its size is another"));
        }
        let (_, requests) = ring(&segment, REQUESTS, RING);
        let (replies, _) = ring(&segment, REPLIES, RING);
        Ok(WorkerEnd {
            requests,
            replies,
            slots: Slots::new(&segment, TABLE, SLOTS),
            bell: Arc::new(Bell::at(&segment, WORKER_ASLEEP, worker_bell, None)),
            server_bell: Arc::new(Bell::at(&segment, SERVER_ASLEEP, server_bell, None)),
            interrupt: Interrupt::new(&segment, INTERRUPT),
            files: Files(Channel::from(files)),
        })
    }
}

/// Both ends of a new link within one process; `ring` wakes the worker when writing to its bell's descriptor does not.
///
/// # Errors
/// When the system has no memory or descriptors for it.
pub fn pair(wake: Option<Arc<dyn Ring>>) -> io::Result<(ServerEnd, WorkerEnd)> {
    let segment = Arc::new(Segment::new(SIZE)?);
    let (requests_in, requests_out) = ring(&segment, REQUESTS, RING);
    let (replies_in, replies_out) = ring(&segment, REPLIES, RING);
    let slots = Slots::new(&segment, TABLE, SLOTS);
    let bell = Arc::new(Bell::new(&segment, SERVER_ASLEEP, None)?);
    let worker_bell = Arc::new(Bell::new(&segment, WORKER_ASLEEP, wake)?);
    let interrupt = Interrupt::new(&segment, INTERRUPT);
    let (files_out, files_in) = Files::pair()?;
    let server = ServerEnd {
        requests: requests_in,
        replies: replies_out,
        slots: slots.clone(),
        bell: bell.clone(),
        worker_bell: worker_bell.clone(),
        interrupt: interrupt.clone(),
        files: files_out,
    };
    let worker = WorkerEnd {
        requests: requests_out,
        replies: replies_in,
        slots,
        bell: worker_bell,
        server_bell: bell,
        interrupt,
        files: files_in,
    };
    Ok((server, worker))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Assembler, RequestId, Sending};

    #[test]
    fn a_link_made_of_descriptors_is_the_same_link() {
        let (mut server, fds) = ServerEnd::new().unwrap();
        let owned = fds.borrow().map(|fd| fd.try_clone_to_owned().unwrap());
        drop(fds);
        let mut worker = WorkerEnd::attach(owned).unwrap();
        let id = RequestId { slot: 2047, generation: 3 };
        assert!(server.slots.claim(id));
        assert!(server.requests.send(id.to_word(), b"ask", &mut Sending::default()));
        worker.bell.doze();
        server.worker_bell.ring();
        worker.bell.awake();
        let got = worker.requests.receive(&mut Assembler::default(), |word, b| (word, b.to_vec()));
        assert_eq!(got, Some((id.to_word(), b"ask".to_vec())));
        assert!(worker.slots.start(id));
        server.interrupt.name(id);
        assert!(worker.interrupt.names(id));
        assert!(worker.replies.send(id.to_word(), b"answer", &mut Sending::default()));
        assert!(server.slots.is_running(id) && !server.replies.is_empty());
    }

    #[test]
    fn other_descriptors_are_refused() {
        let fd = || Segment::new(4096).unwrap().as_fd().try_clone_to_owned().unwrap();
        assert!(WorkerEnd::attach([fd(), fd(), fd(), fd()]).is_err());
    }
}

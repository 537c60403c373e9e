//! The way of files from a worker to the server, beside the rings: what is too long for a message goes through a file
//! without a name, whose descriptor is sent here first. Nothing of it can stay: it is gone with the last process that
//! has it open.
//!
//! Each descriptor is sent under the id of the request whose message speaks of it. Neighbours: `channel`, which carries
//! them; `ring`.

use crate::{Channel, Received, RequestId};
use rustix::fs::{fstat, FileType};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Descriptors of other requests that are passed over in search of one: more than a worker that keeps to the protocol
/// ever leaves.
const PASSED_OVER: usize = 32;

/// One end.
#[derive(Debug)]
pub struct Files(pub(crate) Channel);

impl Files {
    /// Both ends.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub(crate) fn pair() -> io::Result<(Files, Files)> {
        let (a, b) = Channel::pair()?;
        Ok((Files(a), Files(b)))
    }

    /// Worker: sends the file of a request's reply, before that reply. Never blocks.
    ///
    /// # Errors
    /// `WouldBlock` when the server is to read of others first; others when it has gone, or the system has no room.
    pub fn send(&self, id: RequestId, file: BorrowedFd<'_>) -> io::Result<()> {
        self.0.send(&id.to_word().to_ne_bytes(), &[file])
    }

    /// Server: the file of a request's reply, which is there: an open regular file, or nothing. What else a worker
    /// sends is closed.
    pub fn receive(&self, id: RequestId) -> Option<OwnedFd> {
        let mut message = Vec::new();
        for _ in 0..PASSED_OVER {
            let Ok(Received::Message(_, fds)) = self.0.receive(&mut message) else { return None };
            let (mut files, strange): (Vec<_>, Vec<_>) = fds.into_iter().partition(is_file);
            close_elsewhere(strange);
            if message == id.to_word().to_ne_bytes() {
                return files.pop();
            }
        }
        None
    }
}

fn is_file(fd: &OwnedFd) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

/// Closes unwanted descriptors from another process. Not on this thread: closing a socket may wait for its peer.
pub fn close_elsewhere(fds: Vec<OwnedFd>) {
    if !fds.is_empty() {
        // without a thread they are closed here
        let _ = std::thread::Builder::new().spawn(move || drop(fds));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    const ID: RequestId = RequestId { slot: 1, generation: 7 };
    const OTHER: RequestId = RequestId { slot: 2, generation: 7 };

    fn open(path: &str) -> File {
        File::open(path).unwrap()
    }

    #[test]
    fn a_request_gets_its_own_file_only() {
        let (server, worker) = Files::pair().unwrap();
        let mine = open("/proc/self/status");
        worker.send(OTHER, open("/etc/hostname").as_fd()).unwrap();
        worker.send(ID, mine.as_fd()).unwrap();
        let mut text = String::new();
        File::from(server.receive(ID).unwrap()).read_to_string(&mut text).unwrap();
        assert!(text.starts_with("Name:"));
        // what was passed over is gone
        assert!(server.receive(OTHER).is_none());
    }

    #[test]
    fn what_is_no_file_is_let_go_and_nothing_is_waited_for() {
        let (server, worker) = Files::pair().unwrap();
        assert!(server.receive(ID).is_none());
        for strange in ["/", "/dev/zero"] {
            worker.send(ID, open(strange).as_fd()).unwrap();
            assert!(server.receive(ID).is_none());
        }
        worker.0.send(&ID.to_word().to_ne_bytes(), &[]).unwrap();
        worker.0.send(b"?", &[open("/etc/hostname").as_fd()]).unwrap();
        assert!(server.receive(ID).is_none());
        drop(worker);
        assert!(server.receive(ID).is_none());
    }
}

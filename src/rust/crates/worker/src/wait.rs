//! Waiting for the server to make room for a message: in its ring, or on the way of files.

use shm::{Bell, Files, RequestId};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long a message waits. The server never stops reading, unless it is gone.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How long to sleep between two attempts.
const PAUSE: Duration = Duration::from_micros(50);

/// A wait at the server's bell.
pub(crate) struct Wait<'a> {
    server_bell: &'a Bell,
    /// what was sent, and since when it has not become more
    progress: Option<(usize, Instant)>,
}

impl<'a> Wait<'a> {
    /// One that begins with the first [`Wait::more`].
    pub(crate) fn at(server_bell: &'a Bell) -> Self {
        Wait { server_bell, progress: None }
    }

    /// Sleeps for a moment, so much having been sent. `false` when it is time to give up.
    pub(crate) fn more(&mut self, sent: usize) -> bool {
        self.server_bell.ring();
        match self.progress {
            Some((before, since)) if before == sent => {
                if since.elapsed() > GIVE_UP {
                    return false;
                }
            }
            _ => self.progress = Some((sent, Instant::now())),
        }
        std::thread::sleep(PAUSE);
        true
    }

    /// Sends the file of a request's reply. `false` when the server has stopped reading.
    ///
    /// # Errors
    /// When the system does not let it pass.
    pub(crate) fn send_file(mut self, files: &Files, id: RequestId, file: impl AsFd) -> io::Result<bool> {
        loop {
            match files.send(id, file.as_fd()) {
                Ok(()) => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if !self.more(0) {
                        return Ok(false);
                    }
                }
                Err(e) => return Err(e),
            }
        }
    }
}

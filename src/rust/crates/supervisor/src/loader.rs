//! The server's side of a process that loads the app, a zygote or a fresh worker: its control channel and what it has
//! reported of the app.

use crate::configuration::read_app;
use crate::scratch::Scratch;
use engine::AppConfig;
use shared_state::Table;
use shm::{close_elsewhere, Channel, LinkFds, Received};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use wire::control::ZygoteOrder;

/// More than the largest app needs: a process that tells more is not one of ours.
const MOST_APP_BYTES: usize = 64 << 20;

/// The channel to a process that loads the app, until that is done and beyond.
#[derive(Debug)]
pub struct Loader {
    channel: Channel,
    /// whether there may be more to read
    pub open: bool,
    /// whether the app is loaded
    pub loaded: bool,
    /// what it holds that forks of it must not share, in words
    pub holds: Option<String>,
    app: Vec<u8>,
    /// where it has its temporary files, if it was started by the server
    pub scratch: Option<Scratch>,
}

impl Loader {
    /// At the server's end of its channel.
    pub fn new(channel: Channel, scratch: Option<Scratch>) -> Self {
        Loader { channel, open: true, loaded: false, holds: None, app: Vec::new(), scratch }
    }

    /// Has it fork a worker, or become one, that is given its ends of a control channel and of its links: R's, and that
    /// of its C handlers, if it has some.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn order(&self, order: ZygoteOrder, channel: &Channel, links: &[&LinkFds]) -> io::Result<()> {
        let fds: Vec<BorrowedFd<'_>> =
            [channel.as_fd()].into_iter().chain(links.iter().flat_map(|link| link.borrow())).collect();
        self.send(order, &fds)
    }

    /// Lends it the memory of `dr_state()`, before it loads the app.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn lend_state(&self, state: &Table) -> io::Result<()> {
        match self.send(ZygoteOrder::State, &[state.as_fd()]) {
            // it has ended: that is told with how
            Err(e) if matches!(e.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
            sent => sent,
        }
    }

    /// Has it end; `last` when the server ends with it.
    pub fn quit(&self, last: bool) {
        // one that cannot be told is killed when its time is over
        let _ = self.send(ZygoteOrder::Quit { last }, &[]);
    }

    fn send(&self, order: ZygoteOrder, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut message = Vec::new();
        order.encode(&mut message);
        self.channel.send(&message, fds)
    }

    /// The next message, into `message`; `false` when there is none now.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> bool {
        receive(&self.channel, &mut self.open, message)
    }

    /// It has told more of the app.
    ///
    /// # Errors
    /// When that is more than can be.
    pub fn add_piece(&mut self, piece: &[u8]) -> Result<(), String> {
        if self.app.len() + piece.len() > MOST_APP_BYTES {
            return Err("the app's routes take more than 64 MB".to_owned());
        }
        self.app.extend_from_slice(piece);
        Ok(())
    }

    /// It has told all of the app, which is this.
    ///
    /// # Errors
    /// When what it told is no app.
    pub fn finish(&mut self) -> Result<AppConfig, String> {
        self.loaded = true;
        let text = std::mem::take(&mut self.app);
        read_app(&text).map_err(|e| format!("what R told of the app cannot be read: {e}"))
    }
}

impl AsFd for Loader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// The next message of a channel; `false` when there is none now. `open` becomes `false` at the end.
pub fn receive(channel: &Channel, open: &mut bool, message: &mut Vec<u8>) -> bool {
    match channel.receive(message) {
        Ok(Received::Message(_, fds)) => {
            // no process has a reason to send any
            close_elsewhere(fds);
            true
        }
        Ok(Received::Nothing) => false,
        Ok(Received::End) | Err(_) => {
            *open = false;
            false
        }
    }
}

//! What the supervisor is told, by its owner and by the engine, from other threads.

use crate::asker::Asker;
use crate::Source;
use engine::{Action, PoolEvent, Server};
use shm::Alarm;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::mpsc::UnboundedReceiver;
use wire::control::Inspection;

/// What the supervisor is told by its owner.
#[derive(Debug)]
pub enum Command {
    /// load the app anew
    Reload(Source),
    /// here is a zygote for the present generation
    Adopt(Source),
    /// at least and at most this many workers from now on, in the pool of this name; an empty one is that of routes
    /// without one
    Scale(String, usize, usize),
    /// have the worker with this process id look at itself
    Inspect(i32, Inspection, Asker),
    /// shut down gracefully, within this many seconds; `None` for `graceful_timeout` of the options
    Stop(Option<f64>),
    /// end now
    End,
    /// a fresh worker in the place of this process
    Replace(i32),
    /// the app is to be loaded anew, by a request to the server
    WantReload,
}

impl Command {
    /// What somebody wants by the dashboard; `None` for what the engine has done itself.
    pub fn of(action: &Action) -> Option<Self> {
        match action {
            Action::Reload => Some(Command::WantReload),
            Action::Restart(pid) => Some(Command::Replace(*pid)),
            Action::Job(..) => None,
        }
    }
}

/// Readable when there may be something in it.
pub struct Inbox {
    commands: Receiver<Command>,
    pool_events: UnboundedReceiver<PoolEvent>,
    alarm: Arc<Alarm>,
    /// sounds the alarm when the next event of the pool comes
    waker: Waker,
}

impl Inbox {
    /// For commands, and for what the pool of this server has to say.
    ///
    /// # Errors
    /// When another has the pool already.
    pub fn new(server: &Server, commands: Receiver<Command>, alarm: Arc<Alarm>) -> io::Result<Self> {
        let pool_events = server.pool().events();
        let pool_events = pool_events.ok_or_else(|| io::Error::other("the pool has a supervisor already"))?;
        Ok(Inbox { commands, pool_events, waker: Waker::from(alarm.clone()), alarm })
    }

    /// Not readable any more until something comes.
    pub fn drain(&self) {
        self.alarm.drain();
    }

    /// The next command, if there is one.
    pub fn next_command(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    /// The next event of the pool, if there is one.
    pub fn next_pool_event(&mut self) -> Option<PoolEvent> {
        match self.pool_events.poll_recv(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(event) => event,
            Poll::Pending => None,
        }
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }
}

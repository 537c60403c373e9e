//! WebSockets to other servers. R asks for a connection, says what is to be sent, and takes what has come; the sockets
//! are on one I/O thread, which is there as long as there are connections. Not for what frames are: the crate
//! `websocket`; nor for servers: `httpd`.
//!
//! `target` reads what R asks for; `connect` makes a connection and its handshake, over `tls` if need be; `talk` is
//! the order of things on one that is open; `task` begins again when it has ended; `queue` is what R wants of it, and
//! `inbox` what R has not taken yet.
#![forbid(unsafe_code)]

mod connect;
mod inbox;
mod queue;
mod talk;
mod target;
mod task;
mod tls;

pub use inbox::Event;
pub use target::{headers, Options, Target};
pub use websocket::{Close, Message};

use bytes::Bytes;
use inbox::Inbox;
use queue::{Command, Queue};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::sync::Notify;

/// Bytes that may wait for the server of a connection.
const MOST_UNSENT: usize = 64 << 20;
/// How long connections have to say goodbye when all end.
const TO_END: Duration = Duration::from_secs(1);

/// How a connection is reached.
struct Line {
    commands: UnboundedSender<Command>,
    /// bytes that have not been written
    unsent: Arc<AtomicUsize>,
}

/// All connections of a process, and their thread.
pub struct Clients {
    runtime: Handle,
    ends: Arc<Notify>,
    thread: JoinHandle<()>,
    inbox: Arc<Inbox>,
    lines: HashMap<u64, Line>,
}

impl Clients {
    /// Starts the thread. `wake` is called on it when there is something for R to take.
    ///
    /// # Errors
    /// When the system has no thread or descriptor left.
    pub fn start(wake: impl Fn() + Send + Sync + 'static) -> io::Result<Clients> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, ends) = (runtime.handle().clone(), Arc::new(Notify::new()));
        let until = ends.clone();
        let run = move || {
            runtime.block_on(until.notified());
            // a name that is being looked up is not waited for
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("drover-client".to_owned()).spawn(run)?;
        Ok(Clients { runtime: handle, ends, thread, inbox: Arc::new(Inbox::new(wake)), lines: HashMap::new() })
    }

    /// Begins to connect, under a number that no other connection has.
    pub fn connect(&mut self, number: u64, options: Options) {
        let (commands, received) = unbounded_channel();
        let unsent = Arc::<AtomicUsize>::default();
        let task = task::run(number, options, Queue::new(received), unsent.clone(), self.inbox.clone());
        self.runtime.spawn(task);
        self.lines.insert(number, Line { commands, unsent });
    }

    /// Sends a message as soon as the connection is open. `false` when it has ended, or too much waits already.
    pub fn send(&self, number: u64, is_text: bool, bytes: Bytes) -> bool {
        let Some(line) = self.lines.get(&number) else { return false };
        let len = bytes.len();
        if line.unsent.fetch_add(len, Relaxed).saturating_add(len) > MOST_UNSENT {
            line.unsent.fetch_sub(len, Relaxed);
            return false;
        }
        line.commands.send(Command::Send(Message { is_text, bytes })).is_ok()
    }

    /// Ends a connection. `false` when it has ended.
    pub fn close(&self, number: u64, close: Close) -> bool {
        self.lines.get(&number).is_some_and(|line| line.commands.send(Command::Close(close)).is_ok())
    }

    /// The next thing that has happened on any of them.
    pub fn take(&mut self) -> Option<(u64, Event)> {
        let (number, event) = self.inbox.take()?;
        if matches!(event, Event::Closed { again: None, .. }) {
            self.lines.remove(&number);
        }
        Some((number, event))
    }

    /// Whether any connection is there, or is to be there again.
    pub fn is_idle(&self) -> bool {
        self.lines.is_empty()
    }

    /// Ends all of them: servers are told so, for up to a second.
    pub fn stop(self) {
        for line in self.lines.values() {
            let _ = line.commands.send(Command::Close(Close::new(Close::GOING_AWAY, "")));
        }
        let all = self.lines.into_values().map(|line| line.commands);
        let (ends, inbox) = (self.ends, self.inbox);
        inbox.close();
        self.runtime.spawn(async move {
            let _ = tokio::time::timeout(TO_END, async {
                for commands in all {
                    commands.closed().await;
                }
            })
            .await;
            ends.notify_one();
        });
        let _ = self.thread.join();
    }
}

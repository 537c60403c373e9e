//! What R wants of a connection, in its order: it waits while there is none.

use std::collections::VecDeque;
use tokio::sync::mpsc::UnboundedReceiver;
use websocket::{Close, Message};

/// What R wants.
pub enum Command {
    Send(Message),
    Close(Close),
}

/// See the module.
pub struct Queue {
    commands: UnboundedReceiver<Command>,
    /// to be sent when there is a connection again
    early: VecDeque<Message>,
}

impl Queue {
    pub fn new(commands: UnboundedReceiver<Command>) -> Self {
        Queue { commands, early: VecDeque::new() }
    }

    /// The next thing. When R has gone, it wants the connection closed.
    pub async fn next(&mut self) -> Command {
        match self.early.pop_front() {
            Some(message) => Command::Send(message),
            None => self.commands.recv().await.unwrap_or_else(gone),
        }
    }

    /// Waits until R wants no connection any more.
    pub async fn closed(&mut self) -> Close {
        loop {
            match self.commands.recv().await.unwrap_or_else(gone) {
                Command::Send(message) => self.early.push_back(message),
                Command::Close(close) => return close,
            }
        }
    }

    /// Nothing is taken any more, and R is told so.
    pub fn close(&mut self) {
        self.commands.close();
    }
}

fn gone() -> Command {
    Command::Close(Close::new(Close::GOING_AWAY, ""))
}

//! What a worker says beside requests, at any time: commands (`wire::command`), and their answers; and what it asks for
//! (`wire::task`).

use crate::worker::{Job, Worker};
use shm::RequestId;
use wire::command::Command;

impl Worker {
    /// Says a command, whose answer, if there is one, is waited for. It is on its way when this returns, or when the
    /// handler that runs has replied, if that is soon. `false` when the server has gone.
    pub fn command(&mut self, command: &Command<'_>) -> bool {
        // an answer to an earlier one is not waited for any more
        let number = self.next_command();
        let mut message = Vec::new();
        command.encode(number, &mut message);
        self.say(&message, command.is_answered())
    }

    /// Says something that has no answer of this kind: at once, or as for [`Worker::command`].
    pub fn say(&mut self, message: &[u8], at_once: bool) -> bool {
        let said = self.send(Job::of(RequestId::NOBODY), message);
        if at_once || !self.notifying().can_wait() {
            self.notify();
        }
        said
    }

    /// The answer to the command that was said last, if it has come. Orders are applied meanwhile; requests wait.
    pub fn receive_answer(&mut self) -> Option<Vec<u8>> {
        self.listen();
        self.take_answer()
    }
}

//! What a worker says beside requests, at any time: commands for WebSockets (`wire::websocket`), and their answers.

use crate::worker::{Job, Worker};
use shm::RequestId;

impl Worker {
    /// Says a command, whose answer, if there is one, is `awaited`. It is on its way when this returns, or when the
    /// handler that runs has replied, if that is soon. `false` when the server has gone.
    pub fn say(&mut self, command: &[u8], awaited: bool) -> bool {
        // an answer to an earlier command, which R no longer waits for
        self.forget_answer();
        let said = self.send(Job::of(RequestId::NOBODY), command);
        if awaited || !self.notifying().can_wait() {
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

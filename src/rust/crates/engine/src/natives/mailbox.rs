//! Messages for an I/O thread from threads of C handlers: the thread that answers writes them, the I/O thread takes
//! them out. See `home`.

use admission::Late;
use exchange::{Answer, Head, PipeReader};
use shm::Bell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What came of the request.
pub enum Settled {
    Answer(Answer),
    /// a response whose body is still to come
    Stream(Head, PipeReader),
    /// the handler's side has gone without an answer
    Lost,
    Late(Late),
}

/// What came of one of the thread's requests.
pub struct Message {
    /// which: its key and its id
    pub place: (usize, u64),
    pub outcome: Settled,
}

/// See the module.
pub struct Mailbox {
    /// There is none while the system has no descriptor for it: then messages are noticed when the thread looks at its
    /// clocks.
    bell: OnceLock<Arc<Bell>>,
    /// `None` when the thread has gone
    messages: Mutex<Option<Vec<Message>>>,
}

impl Mailbox {
    fn messages(&self) -> MutexGuard<'_, Option<Vec<Message>>> {
        // no code panics while holding this lock
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread may sleep on until [`Mailbox::ring`].
    pub fn put(&self, message: Message) {
        let unwanted = match &mut *self.messages() {
            Some(messages) => {
                messages.push(message);
                None
            }
            None => Some(message),
        };
        // without the lock: its drop may call what users wrote
        drop(unwanted);
    }

    /// Wakes the thread if it sleeps.
    pub fn ring(&self) {
        if let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }

    /// This bell wakes the thread.
    pub fn hang(&self, bell: Arc<Bell>) {
        // there was none, and only its thread makes one
        let _ = self.bell.set(bell);
    }

    /// What wakes the thread.
    pub fn bell(&self) -> Option<&Arc<Bell>> {
        self.bell.get()
    }

    /// Empties it into `messages`, which is empty: their memory goes back and forth.
    pub fn swap(&self, messages: &mut Vec<Message>) {
        if let Some(here) = &mut *self.messages() {
            std::mem::swap(here, messages);
        }
    }

    /// The thread has gone: gives what was not read, and drops what comes.
    pub fn close(&self) -> Option<Vec<Message>> {
        self.messages().take()
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Mailbox { bell: OnceLock::new(), messages: Mutex::new(Some(Vec::new())) }
    }
}

//! Where the replies of C handlers go, from whichever thread: the ring of the link, one message after the other. Long
//! bodies go through files, as in `worker`.

use crate::spool::{self, spooled, SPOOL_ABOVE};
use crate::wait::Wait;
use exchange::{Answer, Head};
use shm::{Bell, Files, Producer, RequestId, Sending, Slots};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wire::{ContentType, ReplyBody, ReplyHead};

/// See the module.
pub(crate) struct Outbox {
    ring: Mutex<Ring>,
    server_bell: Arc<Bell>,
    slots: Slots,
    pub(crate) folder: Option<PathBuf>,
    /// clients are told why a handler failed
    pub(crate) debug: bool,
    /// requests that have begun and have no whole answer
    running: AtomicUsize,
    /// nothing is begun any more
    stopping: AtomicBool,
}

struct Ring {
    replies: Producer,
    files: Files,
    /// the server has stopped reading: a part of a message may be there, and nothing can follow it
    over: bool,
}

impl Outbox {
    pub(crate) fn new(replies: Producer, files: Files, server_bell: Arc<Bell>, slots: Slots) -> Self {
        let ring = Mutex::new(Ring { replies, files, over: false });
        Outbox {
            ring,
            server_bell,
            slots,
            folder: None,
            debug: false,
            running: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// A handler begins with this request. `false` when it was taken back, or is to be: leave it alone.
    pub(crate) fn start(&self, id: RequestId) -> bool {
        // counted first, so that `stop` does not miss it
        self.running.fetch_add(1, Ordering::SeqCst);
        let begins = !self.stopping.load(Ordering::SeqCst) && self.slots.start(id);
        if !begins {
            self.finished();
        }
        begins
    }

    /// One that had begun has its whole answer.
    pub(crate) fn finished(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    /// From now on nothing is begun. Whether nothing runs any more.
    pub(crate) fn stop(&self) -> bool {
        self.stopping.store(true, Ordering::SeqCst);
        self.running.load(Ordering::SeqCst) == 0
    }

    /// Sends a message; the next [`Outbox::notify`] wakes the server for it. `false` when the server has stopped
    /// reading.
    pub(crate) fn send(&self, id: RequestId, message: &[u8]) -> bool {
        self.send_with(id, message, None)
    }

    fn send_with(&self, id: RequestId, message: &[u8], file: Option<&File>) -> bool {
        // nothing panics while holding it
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let mut message = message;
        let failure;
        if let Some(file) = file.filter(|_| !ring.over) {
            // files come in the order of their messages
            match Wait::at(&self.server_bell).send_file(&ring.files, id, file) {
                Ok(sent) => ring.over = !sent,
                Err(_) => {
                    failure = spool::failure(500, b"");
                    message = &failure;
                }
            }
        }
        let mut sending = Sending::default();
        let mut wait = Wait::at(&self.server_bell);
        while !ring.over && !ring.replies.send(id.to_word(), message, &mut sending) {
            ring.over = !wait.more(sending.sent());
        }
        !ring.over
    }

    /// Sends an encoded reply whose handler took so long; a long body goes to a file.
    pub(crate) fn reply(&self, id: RequestId, message: &mut [u8], took: Duration) -> bool {
        let micros = micros(took);
        if message.len() > SPOOL_ABOVE {
            let (mut short, file) = spooled(message, self.folder.as_deref());
            wire::stamp(&mut short, micros);
            return self.send_with(id, &short, file.as_ref());
        }
        wire::stamp(message, micros);
        self.send(id, message)
    }

    /// Appends an answer as a message.
    pub(crate) fn encode(&self, answer: &Answer, out: &mut Vec<u8>) {
        match answer {
            Answer::Response(response) => encode_head(&response.head, ReplyBody::Bytes(&response.body), out),
            Answer::Failure { status, why, .. } if self.debug && !why.is_empty() => failure(*status, why, out),
            Answer::Failure { status, detail, .. } => failure(*status, detail, out),
        }
    }

    /// Wakes the server if it sleeps.
    pub(crate) fn notify(&self) {
        self.server_bell.ring();
    }
}

/// As a word of a message.
pub(crate) fn micros(took: Duration) -> u32 {
    u32::try_from(took.as_micros()).unwrap_or(u32::MAX)
}

/// Appends a failure: the server makes an error of this status.
pub(crate) fn failure(status: u16, detail: &str, out: &mut Vec<u8>) {
    let head = ReplyHead { status, content_type: ContentType::None };
    head.encode(ReplyBody::Failure(detail.as_bytes()), std::iter::empty, out);
}

/// Appends a reply with this head.
pub(crate) fn encode_head(head: &Head, body: ReplyBody<'_>, out: &mut Vec<u8>) {
    let given = head.content_type.as_deref();
    let known = given.and_then(ContentType::of_value).unwrap_or(ContentType::None);
    let named = given.filter(|_| known == ContentType::None).map(|value| (&b"content-type"[..], value));
    let fields = || named.into_iter().chain(head.headers.iter().map(|(name, value)| (&name[..], &value[..])));
    ReplyHead { status: head.status, content_type: known }.encode(body, fields, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;
    use wire::Reply;

    #[test]
    fn types_that_are_words_need_no_header_and_others_are_headers() {
        for (given, word, headers) in [
            (Some("application/json"), ContentType::Json, 1),
            (Some("text/csv"), ContentType::None, 2),
            (None, ContentType::None, 1),
        ] {
            let head = Head {
                status: 201,
                content_type: given.map(|t| Cow::Borrowed(t.as_bytes())),
                headers: vec![(b"x-a".to_vec(), b"1".to_vec())],
            };
            let mut out = Vec::new();
            encode_head(&head, ReplyBody::Bytes(b"body"), &mut out);
            let reply = Reply::decode(&out).unwrap();
            assert_eq!((reply.status, reply.content_type, reply.body), (201, word, ReplyBody::Bytes(b"body")));
            assert_eq!(reply.headers().count(), headers);
            assert_eq!(reply.headers().last(), Some((&b"x-a"[..], &b"1"[..])));
        }
    }
}

//! Taking requests and replying.

use crate::pace::Pace;
use shm::{Assembler, Attachment, Bell, RequestId, Sending, WorkerEnd};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::Request;

/// How long a reply waits for an I/O thread to make room for it. They never stop reading, unless they are gone.
const GIVE_UP: Duration = Duration::from_secs(10);

/// A request that was taken: who is to get the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    link: usize,
    id: RequestId,
}

#[derive(Debug)]
struct Link {
    end: WorkerEnd,
    server_bell: Arc<Bell>,
    assembler: Assembler,
    /// replies were written since its bell was rung
    untold: bool,
}

/// See the crate.
#[derive(Debug)]
pub struct Worker {
    links: Vec<Link>,
    bell: Arc<Bell>,
    /// the link to look at first, so that each has its turn
    turn: usize,
    pace: Pace,
}

impl Worker {
    /// A worker at these links.
    pub fn new(attachment: Attachment) -> Self {
        let links = attachment
            .links
            .into_iter()
            .map(|(end, server_bell)| Link { end, server_bell, assembler: Assembler::default(), untold: false })
            .collect();
        Worker { links, bell: attachment.bell, turn: 0, pace: Pace::default() }
    }

    /// Takes the next request that has not been taken back, and leaves its message in `message`. It counts as running until
    /// [`Worker::finished`]. `None` when none waits; then all replies have been told.
    pub fn next(&mut self, message: &mut Vec<u8>) -> Option<Job> {
        for _ in 0..self.links.len() {
            let link = self.turn;
            self.turn = (self.turn + 1) % self.links.len();
            if let Some(job) = self.take_from(link, message) {
                return Some(job);
            }
        }
        self.tell();
        None
    }

    fn take_from(&mut self, link: usize, message: &mut Vec<u8>) -> Option<Job> {
        let Link { end, assembler, .. } = &mut self.links[link];
        loop {
            let id = end.requests.receive(assembler, |word, bytes| {
                message.clear();
                message.extend_from_slice(bytes);
                RequestId::from_word(word)
            })?;
            if !end.slots.start(id) {
                continue; // taken back
            }
            let route = Request::decode(message).map_or(u32::MAX, |r| r.head.route);
            if self.pace.must_tell_before(route) {
                self.tell();
            }
            self.pace.begin(route);
            return Some(Job { link, id });
        }
    }

    /// The handler of the last request taken has returned, though its reply may come later. How long it took.
    pub fn finished(&mut self) -> Duration {
        self.pace.end()
    }

    /// Replies with a message of `wire`. `false` when nobody takes it any more.
    pub fn reply(&mut self, job: Job, message: &[u8]) -> bool {
        let link = &mut self.links[job.link];
        let mut sending = Sending::default();
        let mut progress = (0, None::<Instant>);
        while !link.end.replies.send(job.id.to_word(), message, &mut sending) {
            link.server_bell.ring();
            if progress.1.is_none() || progress.0 != sending.sent() {
                progress = (sending.sent(), Some(Instant::now()));
            }
            if progress.1.is_some_and(|since| since.elapsed() > GIVE_UP) {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        link.untold = true;
        self.pace.replied();
        true
    }

    /// Rings for all replies that have not been rung for.
    pub fn tell(&mut self) {
        for link in &mut self.links {
            if std::mem::take(&mut link.untold) {
                link.server_bell.ring();
            }
        }
        self.pace.told();
    }

    /// Says that the worker will sleep. `false` when a request came in the meantime: do not sleep.
    pub fn doze(&mut self) -> bool {
        self.tell();
        self.bell.doze();
        if self.has_work() {
            self.bell.stay_awake();
            return false;
        }
        true
    }

    /// The worker is awake again.
    pub fn awake(&self) {
        self.bell.awake();
    }

    /// Whether a request waits.
    pub fn has_work(&self) -> bool {
        self.links.iter().any(|link| !link.end.requests.is_empty())
    }

    /// Readable when the bell has been rung after [`Worker::doze`].
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shm::{Link as Pair, ServerEnd};
    use wire::{BodyRef, ContentType, Reply, ReplyBody, ReplyHead, RequestHead};

    fn server() -> (ServerEnd, Worker) {
        let (server, end) = Pair::pair(4).unwrap();
        let bells = (Arc::new(Bell::new(None).unwrap()), Arc::new(Bell::new(None).unwrap()));
        (server, Worker::new(Attachment { links: vec![(end, bells.0)], bell: bells.1 }))
    }

    fn send(server: &mut ServerEnd, id: RequestId) {
        let head = RequestHead {
            id: 1,
            route: 0,
            flags: 0,
            remote_port: 1,
            method: b"GET",
            target: b"/",
            path: b"/",
            remote_addr: b"",
            body: BodyRef::Inline(b""),
        };
        let mut message = Vec::new();
        head.encode(&[] as &[&[u8]], std::iter::empty, &mut message);
        server.slots.claim(id);
        assert!(server.requests.send(id.to_word(), &message, &mut Sending::default()));
    }

    #[test]
    fn takes_replies_and_skips_what_was_taken_back() {
        let (mut server, mut worker) = server();
        let ids = [0, 1].map(|slot| RequestId { slot, generation: 1 });
        for id in ids {
            send(&mut server, id);
        }
        assert!(server.slots.revoke(ids[0]));
        let mut message = Vec::new();
        let job = worker.next(&mut message).unwrap();
        assert_eq!(job.id, ids[1]);
        let mut reply = Vec::new();
        ReplyHead { status: 200, content_type: ContentType::Text }.encode(
            ReplyBody::Bytes(b"hi"),
            std::iter::empty,
            &mut reply,
        );
        worker.finished();
        assert!(worker.reply(job, &reply));
        assert!(worker.next(&mut message).is_none());
        let got = server.replies.receive(&mut Assembler::default(), |word, bytes| {
            assert_eq!(Reply::decode(bytes).unwrap().body, ReplyBody::Bytes(b"hi"));
            RequestId::from_word(word)
        });
        assert_eq!(got, Some(ids[1]));
        assert!(worker.doze());
        worker.awake();
        send(&mut server, ids[0]);
        assert!(!worker.doze());
    }
}

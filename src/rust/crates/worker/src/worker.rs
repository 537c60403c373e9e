//! Taking requests and replying.

use crate::notifying::Notifying;
use crate::outbox::micros;
use crate::packed::{packed, packed_stream};
use crate::spool::{failure, spooled, SPOOL_ABOVE};
use crate::streams::{Call, Rhythm, Streams, ToSend};
use crate::wait::Wait;
use shm::{Assembler, Interrupt, RequestId, Sending, WorkerEnd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::command::Answer;
use wire::stream::{Order, Part};
use wire::{Notice, Request};

/// Names a request that was taken, for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job(RequestId);

impl Job {
    /// The request with this id.
    pub(crate) fn of(id: RequestId) -> Self {
        Job(id)
    }

    /// Its name as one word, never 0.
    pub fn to_word(self) -> u64 {
        self.0.to_word()
    }
}

/// What became of bytes that a generator wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// they are on their way
    Sent,
    /// some wait until the client has taken more
    Waits,
    /// the stream takes no more
    Unwanted,
}

/// See the crate.
#[derive(Debug)]
pub struct Worker {
    end: WorkerEnd,
    assembler: Assembler,
    /// taken last, its handler runs and has not replied
    current: Option<Job>,
    /// the same for the signal handler
    running: Arc<Running>,
    /// requests that came while a generator wrote, or while an answer was waited for
    held: VecDeque<(RequestId, Vec<u8>)>,
    /// requests that were taken along with the one before, and when
    along: Vec<(Job, Instant)>,
    /// the number of the command that was said last
    command: u32,
    /// to that one
    answer: Option<Vec<u8>>,
    /// replies were written since the server's bell was rung
    unnotified: bool,
    notifying: Notifying,
    streams: Streams,
    /// the same as `notifying` for generators, as if they were one handler
    notifying_streams: Notifying,
    /// of a part of a stream
    part: Vec<u8>,
    /// where the bodies of long replies go
    folder: Option<PathBuf>,
}

/// Which request's handler runs. May be asked at any time, from a signal handler too.
#[derive(Debug)]
pub struct Running {
    /// the request's id as one word; 0, which no request has, when none runs
    word: AtomicU64,
    interrupt: Interrupt,
}

impl Running {
    /// Whether the request that runs now is the one that the server wants interrupted.
    pub fn is_to_be_interrupted(&self) -> bool {
        match self.word.load(Ordering::Relaxed) {
            0 => false,
            word => self.interrupt.names(RequestId::from_word(word)),
        }
    }

    fn set(&self, job: Option<Job>) {
        self.word.store(job.map_or(0, |job| job.0.to_word()), Ordering::Relaxed);
    }
}

impl Worker {
    /// A worker at this link.
    pub fn new(end: WorkerEnd) -> Self {
        let running = Arc::new(Running { word: AtomicU64::new(0), interrupt: end.interrupt.clone() });
        Worker {
            end,
            assembler: Assembler::default(),
            current: None,
            running,
            held: VecDeque::new(),
            along: Vec::new(),
            command: 0,
            answer: None,
            unnotified: false,
            notifying: Notifying::default(),
            streams: Streams::default(),
            notifying_streams: Notifying::default(),
            part: Vec::new(),
            folder: None,
        }
    }

    /// The same, with the server's folder for long bodies. Without it, a worker's replies are short or failures.
    pub fn spooling(self, folder: PathBuf) -> Self {
        Worker { folder: Some(folder), ..self }
    }

    /// Takes the next request that has not been taken back, and leaves its message in `message`. It counts as running
    /// until [`Worker::finished`]. `None` when none waits; then all replies have been told.
    pub fn next(&mut self, message: &mut Vec<u8>) -> Option<Job> {
        loop {
            let Some(id) = self.next_message(message) else {
                // the rest of a long message comes when the server knows that there is room
                self.unnotified |= self.assembler.is_open();
                self.notify();
                return None;
            };
            if self.applies(id, message) {
                continue;
            }
            if !self.end.slots.start(id) {
                continue; // taken back
            }
            let route = Request::peek(message);
            if self.notifying.must_notify_before(route) {
                self.notify();
            }
            self.notifying.begin(route);
            self.current = Some(Job(id));
            self.running.set(self.current);
            return self.current;
        }
    }

    /// Takes the next request as well, if it is of this route: its handler runs along with that of the last request
    /// taken, and its reply comes later. `None` when none is there, or another comes first.
    pub fn next_of(&mut self, route: u32, message: &mut Vec<u8>) -> Option<Job> {
        loop {
            let id = self.next_message(message)?;
            if self.applies(id, message) {
                continue;
            }
            if Request::peek(message) != route {
                self.held.push_front((id, std::mem::take(message)));
                return None;
            }
            if !self.end.slots.start(id) {
                continue; // taken back
            }
            let job = Job(id);
            self.send(job, &[]);
            self.along.push((job, Instant::now()));
            return Some(job);
        }
    }

    /// How long the handler of a request has run that replies now.
    fn took(&mut self, job: Job) -> Duration {
        if self.current == Some(job) {
            self.current = None;
            return self.notifying.answered();
        }
        let at = self.along.iter().position(|(along, _)| *along == job);
        at.map_or(Duration::ZERO, |at| self.along.swap_remove(at).1.elapsed())
    }

    fn next_message(&mut self, message: &mut Vec<u8>) -> Option<RequestId> {
        if let Some((id, held)) = self.held.pop_front() {
            *message = held;
            return Some(id);
        }
        self.receive(message)
    }

    fn receive(&mut self, message: &mut Vec<u8>) -> Option<RequestId> {
        self.end.requests.receive(&mut self.assembler, |word, bytes| {
            kept::empty(message);
            message.extend_from_slice(bytes);
            RequestId::from_word(word)
        })
    }

    /// Does what a message says, if it is an order about a stream, or an answer.
    fn applies(&mut self, id: RequestId, message: &[u8]) -> bool {
        if id == RequestId::NOBODY {
            // the answer to an earlier command is not waited for any more
            if Answer::number(message) == Ok(self.command) {
                self.answer = Some(message.to_vec());
            }
            return true;
        }
        let Some(order) = Order::decode(message) else { return false };
        self.streams.apply(id, order, Instant::now());
        self.flush(id.slot);
        true
    }

    /// The handler of the last request taken has returned. When it has not replied, as it will do so later, the server
    /// is told: this worker can take others. How long the handler took.
    pub fn finished(&mut self) -> Duration {
        self.running.set(None);
        if let Some(job) = self.current.take() {
            self.send(job, &[]);
            // the generator of a stream is called next, and what it gives is told along with the head, if it is quick
            if !self.streams.has_begun(job.0) {
                self.notify();
            }
        }
        self.notifying.end()
    }

    /// Replies with a message of `wire`. `false` when the server has stopped reading.
    pub fn reply(&mut self, job: Job, message: &mut [u8]) -> bool {
        self.reply_with(job, message, None, b"")
    }

    /// The same, with the file that the message speaks of, and packed by the terms of the request.
    pub fn reply_with(&mut self, job: Job, message: &mut [u8], opened: Option<BorrowedFd<'_>>, terms: &[u8]) -> bool {
        let mut packed = packed(message, terms);
        let message = packed.as_deref_mut().unwrap_or(message);
        let micros = micros(self.took(job));
        if message.len() > SPOOL_ABOVE {
            let (mut short, file) = spooled(message, self.folder.as_deref());
            if let Some(file) = file {
                match Wait::at(&self.end.server_bell).send_file(&self.end.files, job.0, &file) {
                    Ok(true) => {}
                    Ok(false) => return false,
                    Err(_) => short = failure(500, b""),
                }
            }
            wire::stamp(&mut short, micros);
            return self.send(job, &short);
        }
        if let Some(file) = opened {
            match Wait::at(&self.end.server_bell).send_file(&self.end.files, job.0, file) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(_) => {
                    let mut failure = failure(500, b"");
                    wire::stamp(&mut failure, micros);
                    return self.send(job, &failure);
                }
            }
        }
        wire::stamp(message, micros);
        self.send(job, message)
    }

    /// Tells the server something of a request that has no reply yet, at once. `false` when it has stopped reading.
    pub fn notice(&mut self, job: Job, notice: Notice<'_>) -> bool {
        let mut message = Vec::new();
        notice.encode(&mut message);
        let sent = self.send(job, &message);
        self.notify();
        sent
    }

    /// Begins a response with this head, a message of `wire`, whose body is a stream, packed by the terms of the
    /// request. Its number.
    pub fn open(&mut self, job: Job, head: &mut [u8], rhythm: Rhythm, terms: &[u8]) -> Option<u32> {
        let (mut packed, pieces) = packed_stream(head, terms).unzip();
        let head = packed.as_deref_mut().unwrap_or(head);
        if self.current == Some(job) {
            // [`Worker::finished`] says that it goes on without its handler
            wire::stamp(head, micros(self.notifying.answered()));
        }
        if !self.send(job, head) {
            return None;
        }
        self.streams.open(job.0, rhythm, pieces, Instant::now());
        Some(job.0.slot)
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// The stream whose generator is to be called now, if one is due: then [`Worker::called`] is.
    pub fn call(&mut self, now: Instant) -> Option<(u32, Call)> {
        let call = self.streams.call(now)?;
        if self.unnotified {
            self.notifying_streams.replied();
        }
        if self.notifying_streams.must_notify_before(0) {
            self.notify();
        }
        self.notifying_streams.begin(0);
        Some(call)
    }

    /// When a generator is due next.
    pub fn next_call(&mut self) -> Option<Instant> {
        self.streams.next_due()
    }

    /// The generator of a stream, which runs, gives the text of the fields that are to stand behind the whole body.
    pub fn set_trailers(&mut self, stream: u32, text: &[u8]) {
        self.streams.set_trailers(stream, text);
    }

    /// The generator of a stream gave this. `done`: whether the body is whole, if it was the last of it.
    pub fn called(&mut self, stream: u32, bytes: &[u8], done: Option<bool>) {
        self.notifying_streams.end();
        self.streams.called(stream, bytes, done, Instant::now());
        self.flush(stream);
    }

    /// The generator of a stream, which runs, writes these bytes, or none, to learn how it is with those before. Orders
    /// are applied meanwhile; requests wait until it has returned.
    pub fn write(&mut self, stream: u32, bytes: &[u8]) -> Written {
        self.listen();
        if !self.streams.write(stream, bytes) {
            return Written::Unwanted;
        }
        self.flush(stream);
        let waits = self.streams.waits(stream);
        if let Some(id) = waits.filter(|_| bytes.is_empty()) {
            // tells the server again that the stream goes on: the client is slow, not this worker
            self.send(Job(id), &[]);
        }
        self.notify();
        waits.map_or(Written::Sent, |_| Written::Waits)
    }

    /// Applies orders that have come, and keeps requests for later.
    pub(crate) fn listen(&mut self) {
        let mut message = Vec::new();
        while let Some(id) = self.receive(&mut message) {
            if !self.applies(id, &message) {
                self.held.push_back((id, std::mem::take(&mut message)));
            }
        }
    }

    pub(crate) fn notifying(&self) -> &Notifying {
        &self.notifying
    }

    pub(crate) fn take_answer(&mut self) -> Option<Vec<u8>> {
        self.answer.take()
    }

    pub(crate) fn next_command(&mut self) -> u32 {
        self.command = self.command.wrapping_add(1);
        self.answer = None;
        self.command
    }

    /// Says that the worker will sleep until its client has taken more. `false` when something came in the meantime.
    pub fn doze_in_stream(&mut self) -> bool {
        self.doze_if(|worker| worker.end.requests.is_empty())
    }

    /// Has streams end, each after the last call of its generator: those that end on a drain, or, broken off, `all`.
    pub fn end_streams(&mut self, all: bool) {
        if self.streams.len() == 0 {
            return;
        }
        self.streams.end_early_all(all, Instant::now());
        for slot in 0..self.end.slots.len() {
            self.flush(slot as u32);
        }
    }

    /// Sends what a stream may send.
    fn flush(&mut self, slot: u32) {
        let now = Instant::now();
        let mut part = std::mem::take(&mut self.part);
        loop {
            part.clear();
            let next = self.streams.next_part(slot, now, |what| {
                match what {
                    ToSend::Piece(piece) => Part::Piece(piece),
                    ToSend::End { whole, took, trailers } => Part::End { whole, micros: micros(took), trailers },
                }
                .encode(&mut part);
            });
            match next {
                Some(id) => self.send(Job(id), &part),
                None => break,
            };
        }
        self.part = part;
    }

    pub(crate) fn send(&mut self, job: Job, message: &[u8]) -> bool {
        let mut sending = Sending::default();
        let mut wait = Wait::at(&self.end.server_bell);
        while !self.end.replies.send(job.0.to_word(), message, &mut sending) {
            if !wait.more(sending.sent()) {
                return false;
            }
        }
        self.unnotified = true;
        self.notifying.replied();
        true
    }

    /// Rings for all replies that have not been rung for.
    pub fn notify(&mut self) {
        if std::mem::take(&mut self.unnotified) {
            self.end.server_bell.ring();
        }
        self.notifying.notified();
        self.notifying_streams.notified();
    }

    /// Says that the worker will sleep. `false` when a request came in the meantime: do not sleep.
    pub fn doze(&mut self) -> bool {
        self.doze_if(|worker| !worker.has_work())
    }

    fn doze_if(&mut self, may_sleep: impl FnOnce(&Self) -> bool) -> bool {
        self.notify();
        self.end.bell.doze();
        let sleeps = may_sleep(self);
        if !sleeps {
            self.end.bell.stay_awake();
        }
        sleeps
    }

    /// The worker is awake again.
    pub fn awake(&self) {
        self.end.bell.awake();
    }

    /// Whether a request waits.
    pub fn has_work(&self) -> bool {
        !self.held.is_empty() || !self.end.requests.is_empty()
    }

    /// Whether something has been written over its link: it gets no request any more, and should end.
    pub fn is_broken(&self) -> bool {
        self.end.requests.is_broken()
    }

    /// Readable when the bell has been rung after [`Worker::doze`].
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.end.bell.as_fd()
    }

    /// For a signal handler.
    pub fn running(&self) -> Arc<Running> {
        self.running.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shm::{pair, ServerEnd};
    use wire::command::Command;
    use wire::{ContentType, Reply, ReplyBody, ReplyHead, RequestHead};

    fn server() -> (ServerEnd, Worker) {
        let (server, end) = pair(None).unwrap();
        (server, Worker::new(end))
    }

    fn send(server: &mut ServerEnd, id: RequestId) {
        let head = RequestHead { id: 1, method: b"GET", target: b"/", path: b"/", ..RequestHead::default() };
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
        assert_eq!(job.0, ids[1]);
        let mut reply = Vec::new();
        ReplyHead { status: 200, content_type: ContentType::Text }.encode(
            ReplyBody::Bytes(b"hi"),
            std::iter::empty,
            &mut reply,
        );
        assert!(worker.reply(job, &mut reply));
        worker.finished();
        assert!(worker.next(&mut message).is_none());
        let got = server.replies.receive(&mut Assembler::default(), |word, bytes| {
            assert_eq!(Reply::decode(bytes).unwrap().body, ReplyBody::Bytes(b"hi"));
            RequestId::from_word(word)
        });
        assert_eq!(got, Some(ids[1]));
        assert!(server.replies.is_empty(), "replied: nothing else to say");
        assert!(worker.doze());
        worker.awake();
        send(&mut server, ids[0]);
        assert!(!worker.doze());
    }

    #[test]
    fn an_answer_to_an_earlier_command_is_not_taken_for_that_of_the_last() {
        let (mut server, mut worker) = server();
        let answer = |server: &mut ServerEnd, number| {
            let mut message = Vec::new();
            Answer(vec![(u64::from(number), Vec::new())]).encode(number, &mut message);
            let mut sending = Sending::default();
            assert!(server.requests.send(RequestId::NOBODY.to_word(), &message, &mut sending));
        };
        let mut said = || {
            assert!(worker.command(&Command::Rooms));
            let number =
                server.replies.receive(&mut Assembler::default(), |_, bytes| Command::decode(bytes).unwrap().0);
            number.unwrap()
        };
        let (first, second) = (said(), said());
        answer(&mut server, first);
        assert_eq!(worker.receive_answer(), None);
        answer(&mut server, second);
        answer(&mut server, first);
        let got = worker.receive_answer().map(|message| Answer::number(&message));
        assert_eq!(got, Some(Ok(second)));
    }

    #[test]
    fn a_handler_that_answers_later_is_told_of() {
        let (mut server, mut worker) = server();
        let id = RequestId { slot: 0, generation: 1 };
        send(&mut server, id);
        let running = worker.running();
        assert!(!running.is_to_be_interrupted());
        server.interrupt.name(id);
        assert!(!running.is_to_be_interrupted(), "it does not run yet");
        worker.next(&mut Vec::new()).unwrap();
        assert!(running.is_to_be_interrupted());
        worker.finished();
        assert!(!running.is_to_be_interrupted(), "it has returned");
        let got = server.replies.receive(&mut Assembler::default(), |word, bytes| (word, bytes.len()));
        assert_eq!(got, Some((id.to_word(), 0)));
    }
}

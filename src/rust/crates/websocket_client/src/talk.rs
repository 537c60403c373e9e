//! A connection that is open, to its end. Whichever can go on does: reading, as long as R takes what comes; writing;
//! what R wants; and the clock.

use crate::connect::{Opened, Wire};
use crate::inbox::{Event, Inbox, Room};
use crate::queue::{Command, Queue};
use crate::target::Options;
use bytes::{Buf, Bytes, BytesMut};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep_until, Instant};
use websocket::{deflate, masked, Came, Close, Deflate, Kind, Message, Reader, Role, WORTH_IT};

/// Bytes that are made ready for the socket before more is taken of what R wants to send.
const ENOUGH: usize = 256 << 10;
/// How long the server has to answer a close.
const TO_ANSWER: Duration = Duration::from_secs(5);
/// A day: nothing is due.
const FAR: Duration = Duration::from_secs(86_400);

/// How a connection has ended, and whether R wanted that.
pub struct Ended {
    pub close: Close,
    pub was_wanted: bool,
}

struct Talk<'a> {
    options: &'a Options,
    deflate: Option<Deflate>,
    reader: Reader,
    output: Vec<u8>,
    /// of the output, what was written
    written: usize,
    /// of the messages in the output
    unsent: &'a AtomicUsize,
    lens: usize,
    /// this end has said its last word
    said: Option<Close>,
    /// the other end has
    received: Option<Close>,
    is_wanted: bool,
    last_received: Instant,
    /// of the last ping whose answer waits until the server has read what was written: one answers for all before it
    pinged: Option<Bytes>,
    /// since when the answer to a ping or a close is waited for
    asked: Option<Instant>,
}

/// Talks to the end.
pub async fn talk(
    number: u64,
    opened: Opened,
    options: &Options,
    commands: &mut Queue,
    unsent: &Arc<AtomicUsize>,
    inbox: &Inbox,
) -> Ended {
    let Opened { wire, read, deflate, .. } = opened;
    let (mut from, mut to) = tokio::io::split(wire);
    let mut reader = Reader::of(Role::Client);
    reader.add(&read);
    let mut talk = Talk {
        options,
        deflate,
        reader,
        output: Vec::new(),
        written: 0,
        unsent,
        lens: 0,
        said: None,
        received: None,
        is_wanted: false,
        last_received: Instant::now(),
        pinged: None,
        asked: None,
    };
    let room = Room::new();
    let mut input = BytesMut::with_capacity(16 << 10);
    loop {
        // what is here is taken before more is read
        while let Some(message) = talk.next() {
            // R has not taken what came before: the server waits, and so do its pings
            let Some(held) = take_room(&mut talk, &mut to, commands, &room, message.bytes.len()).await else { break };
            if talk.said.is_none() {
                inbox.put(number, Event::Message(message), Some(held));
            }
        }
        if talk.received.is_some() && talk.is_written() {
            let _ = to.flush().await;
            let _ = to.shutdown().await;
            break;
        }
        let due = talk.due();
        tokio::select! {
            read = from.read_buf(&mut input), if talk.received.is_none() => match read {
                Ok(n) if n > 0 => talk.read(&mut input),
                _ => break,
            },
            written = to.write(&talk.output[talk.written..]), if !talk.is_written() => match written {
                Ok(n) if n > 0 => if talk.wrote(n) && to.flush().await.is_err() { break },
                _ => break,
            },
            command = commands.next(), if talk.takes_commands() => talk.execute(command),
            () = sleep_until(due) => if talk.is_given_up() { break },
        }
    }
    unsent.fetch_sub(talk.lens, Relaxed);
    let is_wanted = talk.is_wanted;
    let close = talk.received.or(talk.said).unwrap_or_else(|| Close::new(Close::ABNORMAL, "the connection was lost"));
    Ended { close, was_wanted: is_wanted }
}

/// Waits for room in the inbox, and writes meanwhile. `None` when the connection is to end.
async fn take_room(
    talk: &mut Talk<'_>,
    to: &mut tokio::io::WriteHalf<Box<dyn Wire>>,
    commands: &mut Queue,
    room: &Room,
    len: usize,
) -> Option<OwnedSemaphorePermit> {
    let mut held = pin!(room.take(len));
    loop {
        let due = talk.due();
        tokio::select! {
            biased;
            held = &mut held => return held,
            written = to.write(&talk.output[talk.written..]), if !talk.is_written() => match written {
                Ok(n) if n > 0 => if talk.wrote(n) && to.flush().await.is_err() { return None },
                _ => return None,
            },
            command = commands.next(), if talk.takes_commands() => talk.execute(command),
            () = sleep_until(due) => {
                if talk.said.is_some() {
                    return None;
                }
                // it is not silent: it is not heard
                talk.last_received = Instant::now();
                talk.asked = None;
            }
        }
    }
}

impl Talk<'_> {
    fn is_written(&self) -> bool {
        self.written == self.output.len()
    }

    fn takes_commands(&self) -> bool {
        self.said.is_none() && self.received.is_none() && !self.has_enough()
    }

    /// Whether the server has to read before more is written.
    fn has_enough(&self) -> bool {
        self.output.len() - self.written >= ENOUGH
    }

    /// Bytes have come.
    fn read(&mut self, input: &mut BytesMut) {
        self.last_received = Instant::now();
        if self.said.is_none() {
            self.asked = None;
        }
        self.reader.add(input);
        input.advance(input.len());
    }

    /// `n` bytes were written. Returns whether that was all of the output.
    fn wrote(&mut self, n: usize) -> bool {
        self.written += n;
        let is_all = self.is_written();
        if is_all {
            kept::empty(&mut self.output);
            self.written = 0;
            self.unsent.fetch_sub(std::mem::take(&mut self.lens), Relaxed);
            if let Some(payload) = self.pinged.take() {
                self.put(Kind::Pong, &payload);
            }
        }
        is_all
    }

    /// The next message that is whole; what else has come is dealt with.
    fn next(&mut self) -> Option<Message> {
        while self.received.is_none() {
            match self.reader.next(self.options.max_message, self.deflate.is_some()) {
                Ok(None) => return None,
                Ok(Some(Came::Message(message))) => return Some(message),
                Ok(Some(Came::Ping(payload))) if self.has_enough() => self.pinged = Some(payload),
                Ok(Some(Came::Ping(payload))) => self.put(Kind::Pong, &payload),
                Ok(Some(Came::Pong)) => {}
                Ok(Some(Came::Close(close))) => {
                    self.say(&close);
                    self.received = Some(close);
                }
                Err(close) => {
                    self.say(&close);
                    self.received = Some(close);
                }
            }
        }
        None
    }

    fn put(&mut self, kind: Kind, payload: &[u8]) {
        if self.said.is_some() {
            return;
        }
        let mut mask = [0; 4];
        // without one, frames would be sent that anybody can foresee: better none
        if getrandom::fill(&mut mask).is_err() {
            self.received = Some(Close::new(Close::ABNORMAL, "the system has no random numbers"));
            return;
        }
        masked(kind, payload, mask, &mut self.output);
    }

    /// Says the last word, once.
    fn say(&mut self, close: &Close) {
        if self.said.is_none() {
            self.put(Kind::Close, &close.payload());
            self.said = Some(close.clone());
            self.asked = Some(Instant::now());
        }
    }

    /// R wants something.
    fn execute(&mut self, command: Command) {
        match command {
            Command::Send(Message { is_text, bytes }) => {
                self.lens += bytes.len();
                let packed =
                    self.deflate.filter(|_| bytes.len() >= WORTH_IT).map(|Deflate { bits }| deflate(&bytes, bits));
                match packed.filter(|packed| packed.len() < bytes.len()) {
                    Some(packed) => self.put(Kind::of(is_text, true), &packed),
                    None => self.put(Kind::of(is_text, false), &bytes),
                }
            }
            Command::Close(close) => {
                self.is_wanted = true;
                self.say(&close);
            }
        }
    }

    /// When something is to be done though nothing happens.
    fn due(&self) -> Instant {
        match (&self.said, self.options.ping_interval) {
            (Some(_), _) => self.asked.unwrap_or(self.last_received) + TO_ANSWER,
            (None, Some(interval)) => self.asked.unwrap_or(self.last_received) + interval,
            (None, None) => Instant::now() + FAR,
        }
    }

    /// It is due: asks whether the server is there, or gives it up.
    fn is_given_up(&mut self) -> bool {
        if self.said.is_some() || self.asked.is_some() {
            return Instant::now() >= self.due();
        }
        self.put(Kind::Ping, b"");
        self.asked = Some(Instant::now());
        false
    }
}

//! A ring of byte records with one writer and one reader.
//!
//! Memory: a page of control words, then the data. `tail` counts the bytes ever written and is stored only by the
//! producer (release, after the bytes); `head` counts the bytes ever read and is stored only by the consumer (release,
//! after it has copied them out). Each loads the other's word with acquire. A dead peer leaves its word where it was:
//! the ring then looks full or empty, and nothing in it is torn, as a record counts only once `tail` has passed it.
//!
//! A record is a 16-byte header (length, more-follows, request id) and its bytes, padded to 16. It never wraps: where
//! it would, a filler record takes the rest of the lap. A message longer than a quarter of the ring goes as several
//! records, so that a message of any size passes, with the ring's fullness as flow control.

use crate::sync::AtomicU64;
use crate::Segment;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Bytes for the control words: head and tail each on a cache line (and its prefetched neighbour) of its own. A model
/// has no caches, and follows every word.
pub(crate) const CONTROL: usize = if cfg!(loom) { 16 } else { 256 };
/// Bytes of the smallest ring. In a model one that wraps after four records.
const LEAST: usize = if cfg!(loom) { 128 } else { 4096 };
const HEADER: usize = 16;
const FILLER: u32 = 2;
const MORE: u32 = 1;

#[derive(Debug, Clone)]
struct Memory {
    segment: Arc<Segment>,
    offset: usize,
    capacity: u64,
}

impl Memory {
    fn tail(&self) -> &AtomicU64 {
        self.segment.word(self.offset)
    }

    fn head(&self) -> &AtomicU64 {
        self.segment.word(self.offset + CONTROL / 2)
    }

    /// Offset in the segment of the `size` bytes at `position`.
    fn data(&self, position: u64, size: usize) -> usize {
        let within = (position % self.capacity) as usize;
        assert!(within + size <= self.capacity as usize, "a record wraps");
        self.offset + CONTROL + within
    }
}

fn padded(len: usize) -> usize {
    (HEADER + len).next_multiple_of(HEADER)
}

/// The writing end.
#[derive(Debug)]
pub struct Producer {
    memory: Memory,
    tail: u64,
    /// the reader's position when last looked at: loading it costs a cache miss, so only when the ring seems full
    head_seen: u64,
    /// what is written is not published yet
    held: bool,
}

/// The reading end.
#[derive(Debug)]
pub struct Consumer {
    memory: Memory,
    head: u64,
    /// what the writer has published cannot be
    broken: bool,
}

/// Both ends of the ring of `capacity` data bytes (a power of two) at `offset` of the segment.
pub(crate) fn ring(segment: &Arc<Segment>, offset: usize, capacity: usize) -> (Producer, Consumer) {
    assert!(capacity.is_power_of_two() && capacity >= LEAST);
    let memory = Memory { segment: segment.clone(), offset, capacity: capacity as u64 };
    (
        Producer { memory: memory.clone(), tail: 0, head_seen: 0, held: false },
        Consumer { memory, head: 0, broken: false },
    )
}

/// A message on its way: what of it has been written.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sending {
    done: usize,
    started: bool,
}

impl Sending {
    /// Bytes that are in the ring or through it.
    pub fn sent(&self) -> usize {
        self.done
    }

    /// Whether some of the message is in the ring, so that the rest must follow.
    pub fn has_started(&self) -> bool {
        self.started
    }
}

impl Producer {
    /// Room for `size` bytes at the tail, or `None` when the reader must catch up first.
    fn room(&mut self, size: u64) -> Option<()> {
        if self.tail + size - self.head_seen > self.memory.capacity {
            let head = self.memory.head().load(Ordering::Acquire);
            // a hostile reader may store anything: a position ahead of ours or a lap behind is taken as "full"
            if head > self.tail || self.tail - head > self.memory.capacity {
                return None;
            }
            self.head_seen = head;
            if self.tail + size - head > self.memory.capacity {
                return None;
            }
        }
        Some(())
    }

    fn write_record(&mut self, id: u64, flags: u32, bytes: &[u8]) -> Option<()> {
        let size = padded(bytes.len());
        let left_in_lap = self.memory.capacity - self.tail % self.memory.capacity;
        if left_in_lap < size as u64 {
            self.room(left_in_lap + size as u64)?;
            self.put(0, FILLER, (left_in_lap as usize) - HEADER, &[]);
            self.tail += left_in_lap;
        }
        self.room(size as u64)?;
        self.put(id, flags, bytes.len(), bytes);
        self.tail += size as u64;
        Some(())
    }

    fn put(&self, id: u64, flags: u32, len: usize, bytes: &[u8]) {
        let size = HEADER + bytes.len();
        self.memory.segment.write(self.memory.data(self.tail, size), size, |at| {
            // SAFETY: header and bytes are inside the ring (`data` and `write` check), and the reader is done with what
            // was there (`room` checks); nothing else writes. The reader sees them after the release store of `tail`.
            unsafe {
                at.cast::<u32>().write(len as u32);
                at.add(4).cast::<u32>().write(flags);
                at.add(8).cast::<u64>().write(id);
                ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(HEADER), bytes.len());
            }
        });
    }

    /// From now on the reader sees nothing new, until all of it at once: [`Producer::publish`].
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// The reader sees what was written.
    pub fn publish(&mut self) {
        self.held = false;
        self.memory.tail().store(self.tail, Ordering::Release);
    }

    /// Writes as much of the message as fits. `true` when all of it is written; otherwise call again, with the
    /// same arguments, when the reader has made room.
    pub fn send(&mut self, id: u64, bytes: &[u8], sending: &mut Sending) -> bool {
        let most = (self.memory.capacity / 4) as usize - HEADER;
        loop {
            let part = &bytes[sending.done..bytes.len().min(sending.done + most)];
            if sending.started && part.is_empty() {
                return true;
            }
            let more = sending.done + part.len() < bytes.len();
            if self.write_record(id, if more { MORE } else { 0 }, part).is_none() {
                return false;
            }
            if !self.held {
                self.memory.tail().store(self.tail, Ordering::Release);
            }
            sending.done += part.len();
            sending.started = true;
        }
    }
}

/// Puts messages of several records together.
#[derive(Debug)]
pub struct Assembler {
    parts: Vec<u8>,
    open: bool,
    limit: usize,
}

impl Assembler {
    /// For messages of up to `limit` bytes: after a longer one, nothing more is read from its writer.
    pub fn with_limit(limit: usize) -> Self {
        Assembler { parts: Vec::new(), open: false, limit }
    }
}

impl Assembler {
    /// Whether the rest of a message is still to come.
    pub fn is_open(&self) -> bool {
        self.open
    }
}

impl Default for Assembler {
    /// For messages of any length, of a writer that is trusted.
    fn default() -> Self {
        Assembler::with_limit(usize::MAX)
    }
}

impl Consumer {
    /// Whether no record waits. Says nothing about the bytes of one: `receive` does.
    pub fn is_empty(&self) -> bool {
        self.broken || self.memory.tail().load(Ordering::Relaxed) == self.head
    }

    /// Whether what came was no record, or more than the limit: somebody else than the writer's code has written there,
    /// and nothing more is read.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Takes the next whole message: `take` gets its id and bytes. `None` when no whole message is there (yet).
    pub fn receive<T>(&mut self, assembler: &mut Assembler, take: impl FnOnce(u64, &[u8]) -> T) -> Option<T> {
        loop {
            let tail = self.memory.tail().load(Ordering::Acquire);
            if self.broken || tail == self.head {
                return None;
            }
            let Some((id, flags, len)) = self.header(tail) else {
                self.broken = true;
                return None;
            };
            let size = padded(len) as u64;
            if flags == FILLER {
                self.release(size);
                continue;
            }
            if flags & MORE != 0 || assembler.open {
                if assembler.parts.len() + len > assembler.limit {
                    assembler.parts = Vec::new();
                    self.broken = true;
                    return None;
                }
                self.with_bytes(len, |bytes| assembler.parts.extend_from_slice(bytes));
                assembler.open = true;
                self.release(size);
                if flags & MORE == 0 {
                    assembler.open = false;
                    let whole = std::mem::take(&mut assembler.parts);
                    return Some(take(id, &whole));
                }
                continue;
            }
            let out = self.with_bytes(len, |bytes| take(id, bytes));
            self.release(size);
            return Some(out);
        }
    }

    /// Shows the bytes of the record at the head, of which `header` has said that they are `len`.
    fn with_bytes<T>(&self, len: usize, take: impl FnOnce(&[u8]) -> T) -> T {
        let size = HEADER + len;
        self.memory.segment.read(self.memory.data(self.head, size), size, |at| {
            // SAFETY: `header` checked that the record is inside what the writer has published and inside the ring; the
            // writer does not touch it before `release`. (A hostile writer may: then the bytes are garbage, and are
            // checked as such by `wire`; they are copied before anything depends on them twice.)
            take(unsafe { std::slice::from_raw_parts(at.add(HEADER), len) })
        })
    }

    /// Id, flags and length of the record at the head. `None` when it cannot be one.
    fn header(&self, tail: u64) -> Option<(u64, u32, usize)> {
        let left_in_lap = self.memory.capacity - self.head % self.memory.capacity;
        let published = tail.checked_sub(self.head)?;
        if published < HEADER as u64 || published > self.memory.capacity || left_in_lap < HEADER as u64 {
            return None;
        }
        let (len, flags, id) = self.memory.segment.read(self.memory.data(self.head, HEADER), HEADER, |at| {
            // SAFETY: inside the ring (checked by `data` and `read`) and published.
            unsafe { (at.cast::<u32>().read(), at.add(4).cast::<u32>().read(), at.add(8).cast::<u64>().read()) }
        });
        let size = padded(len as usize) as u64;
        (size <= published && size <= left_in_lap).then_some((id, flags, len as usize))
    }

    fn release(&mut self, size: u64) {
        self.head += size;
        self.memory.head().store(self.head, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn small() -> (Producer, Consumer) {
        let segment = Arc::new(Segment::new(CONTROL + 4096).unwrap());
        ring(&segment, 0, 4096)
    }

    #[test]
    fn messages_of_all_sizes_pass_in_order_between_threads() {
        let (mut tx, mut rx) = small();
        let sizes: Vec<usize> = (0..400).map(|i| (i * i * 7) % 9000).chain([0, 1, 100_000]).collect();
        let expected = sizes.clone();
        let sender = std::thread::spawn(move || {
            for (i, len) in sizes.into_iter().enumerate() {
                let bytes = vec![i as u8; len];
                let mut sending = Sending::default();
                while !tx.send(i as u64, &bytes, &mut sending) {
                    std::thread::yield_now();
                }
            }
        });
        let mut assembler = Assembler::default();
        for (i, len) in expected.into_iter().enumerate() {
            let (id, bytes) = loop {
                match rx.receive(&mut assembler, |id, b| (id, b.to_vec())) {
                    Some(got) => break got,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!((id, bytes), (i as u64, vec![i as u8; len]));
        }
        sender.join().unwrap();
        assert!(rx.is_empty());
    }

    #[test]
    fn a_message_beyond_the_limit_is_the_last_thing_read() {
        let (mut tx, mut rx) = small();
        let mut assembler = Assembler::with_limit(5000);
        for (len, passes) in [(5000, true), (5001, false), (10, false)] {
            let (bytes, mut sending, mut got) = (vec![1; len], Sending::default(), None);
            for _ in 0..100 {
                tx.send(1, &bytes, &mut sending);
                got = got.or(rx.receive(&mut assembler, |_, b| b.len()));
            }
            assert_eq!(got, passes.then_some(len));
        }
    }

    #[test]
    fn a_full_ring_says_so_and_goes_on_when_read() {
        let (mut tx, mut rx) = small();
        let mut sent = 0;
        while tx.send(sent, &[7; 100], &mut Sending::default()) {
            sent += 1;
        }
        assert_eq!(sent, 32); // 32 records of 128 padded bytes fit in 4096
        let mut assembler = Assembler::default();
        assert_eq!(rx.receive(&mut assembler, |id, _| id), Some(0));
        assert!(tx.send(sent, &[7; 100], &mut Sending::default()), "one record read makes room for one");
    }

    #[test]
    fn garbage_in_the_control_words_is_survived() {
        let (mut tx, mut rx) = small();
        assert!(tx.send(1, b"x", &mut Sending::default()));
        rx.memory.tail().store(u64::MAX, Ordering::Release);
        let mut assembler = Assembler::default();
        while rx.receive(&mut assembler, |_, _| ()).is_some() {}
        assert!(rx.is_broken() && rx.is_empty());
        tx.memory.head().store(u64::MAX, Ordering::Release);
        tx.head_seen = 0;
        for _ in 0..100 {
            tx.send(2, &[0; 1000], &mut Sending::default());
        }
    }
}

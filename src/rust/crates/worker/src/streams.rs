//! Bodies that R makes piece by piece. A generator is called, gives bytes, and is called again when the client has
//! taken enough of them and its pause is over; between calls its stream holds neither the thread nor more than one
//! call's bytes.
//!
//! ```text
//! due ─call▶ called ─bytes▶ blocked (what it gave waits for credit) ─credit▶ due
//!   ▲           │ └── done ▶ blocked ─credit▶ over (the whole body)
//!   └───────────┘       while it is called, it may also write: what waits for credit then has to go before it goes on
//! the client has gone, or the stream is to end ▶ due for its last call ▶ over
//! ```
//! Which streams there are and when they are due is known here; what is called is the caller's. No clock is read here.
//! Neighbours: `worker` (sends what this says), `wire::stream` (credit), `sink` (the same for C handlers, which push
//! instead of being called).

use coding::Pieces;
use shm::RequestId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};
use wire::stream::{affordable, worth, Order, FIRST, WINDOW};

/// A generator that had nothing to say is not asked again before this: one without a pause of its own would keep a core
/// busy.
const NOTHING_NEW: Duration = Duration::from_millis(10);

/// Instead of a time that no clock has.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// When the generator of a stream is called.
#[derive(Debug, Clone, Copy)]
pub struct Rhythm {
    /// least time from one call to the next
    pub min_interval: Duration,
    /// whether the stream ends when the server or the app does, rather than going on until it is done
    pub ends_on_drain: bool,
}

/// Why a generator is to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// for its next chunk
    Next,
    /// for the last time: the client has gone, or the stream is to end
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Due,
    Called,
    Blocked,
}

#[derive(Debug)]
struct Stream {
    id: RequestId,
    rhythm: Rhythm,
    readiness: Readiness,
    /// what it is or was called for, and when
    call: Call,
    called_at: Instant,
    /// of its entry among those that are due; others of it are old
    turn: u64,
    credit: usize,
    /// packs what its generator gives, if anything does
    pieces: Option<Pieces>,
    /// given, packed, and not sent, from `sent` on
    pending: Vec<u8>,
    sent: usize,
    /// its generator is not called any more: whether the body is whole
    end: Option<bool>,
    /// its next call is the last; whether what was sent is then a whole body
    last: Option<bool>,
    /// time that calls took
    took: Duration,
    /// fields behind the whole body, as text
    trailers: Vec<u8>,
}

impl Stream {
    /// Its generator gives these bytes.
    fn add(&mut self, bytes: &[u8]) {
        match &mut self.pieces {
            Some(pieces) => pieces.pack(bytes, &mut self.pending),
            None => self.pending.extend_from_slice(bytes),
        }
    }

    /// When it may be called again.
    fn next_call(&self) -> Instant {
        self.called_at.checked_add(self.rhythm.min_interval).unwrap_or_else(|| self.called_at + FAR)
    }
}

/// What is to be sent for a stream.
#[derive(Debug)]
pub(crate) enum ToSend<'a> {
    Piece(&'a [u8]),
    End { whole: bool, took: Duration, trailers: &'a [u8] },
}

/// See the module. By slot.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Vec<Option<Stream>>,
    len: usize,
    /// time, turn and slot of those that are due; among them old entries
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    turn: u64,
}

impl Streams {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A stream begins, which is packed or not. Its generator is due at once.
    pub(crate) fn open(&mut self, id: RequestId, rhythm: Rhythm, pieces: Option<Pieces>, now: Instant) {
        let slot = id.slot as usize;
        if slot >= self.open.len() {
            self.open.resize_with(slot + 1, || None);
        }
        let stream = Stream {
            id,
            rhythm,
            readiness: Readiness::Due,
            call: Call::Next,
            called_at: now,
            turn: 0,
            credit: FIRST,
            pieces,
            pending: Vec::new(),
            sent: 0,
            end: None,
            last: None,
            took: Duration::ZERO,
            trailers: Vec::new(),
        };
        if self.open[slot].replace(stream).is_none() {
            self.len += 1;
        }
        self.make_due(id.slot, now);
    }

    /// Whether there is a stream for this request.
    pub(crate) fn has_begun(&self, id: RequestId) -> bool {
        self.open.get(id.slot as usize).and_then(Option::as_ref).is_some_and(|stream| stream.id == id)
    }

    fn get(&mut self, slot: u32) -> Option<&mut Stream> {
        self.open.get_mut(slot as usize)?.as_mut()
    }

    fn make_due(&mut self, slot: u32, at: Instant) {
        self.turn += 1;
        let turn = self.turn;
        let Some(stream) = self.get(slot) else { return };
        (stream.readiness, stream.turn) = (Readiness::Due, turn);
        self.due.push(Reverse((at, turn, slot)));
        // old entries are left where they are, as long as they are few
        if self.due.len() > 64 + 2 * self.len {
            let open = &self.open;
            self.due.retain(|Reverse((_, turn, slot))| is_current(open, *turn, *slot));
        }
    }

    /// When a generator is due next.
    pub(crate) fn next_due(&mut self) -> Option<Instant> {
        while let Some(&Reverse((at, turn, slot))) = self.due.peek() {
            if is_current(&self.open, turn, slot) {
                return Some(at);
            }
            self.due.pop();
        }
        None
    }

    /// The stream whose generator is to be called now, if one is due; then [`Streams::called`].
    pub(crate) fn call(&mut self, now: Instant) -> Option<(u32, Call)> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse((_, _, slot)) = self.due.pop()?;
        let stream = self.get(slot)?;
        stream.readiness = Readiness::Called;
        stream.called_at = now;
        stream.call = if stream.last.is_some() { Call::Last } else { Call::Next };
        Some((slot, stream.call))
    }

    /// The generator gave these bytes. `done`: whether the body is complete, or `Some(false)` when it never will be.
    pub(crate) fn called(&mut self, slot: u32, bytes: &[u8], done: Option<bool>, now: Instant) {
        let Some(stream) = self.get(slot).filter(|stream| stream.readiness == Readiness::Called) else { return };
        stream.took += now.saturating_duration_since(stream.called_at);
        stream.readiness = Readiness::Blocked;
        match (stream.call, stream.last) {
            (Call::Last, whole) => stream.end = whole.or(Some(false)),
            // the client has gone during the call: its bytes are dropped
            (Call::Next, Some(false)) => stream.end = done.and(Some(false)),
            (Call::Next, _) => {
                stream.end = done;
                stream.add(bytes);
            }
        }
        if stream.end.is_none() && stream.last.is_none() && stream.pending.is_empty() {
            let at = stream.next_call().max(now + NOTHING_NEW);
            self.make_due(slot, at);
        }
    }

    /// What the server says of a stream.
    pub(crate) fn apply(&mut self, id: RequestId, order: Order, now: Instant) {
        let Some(stream) = self.get(id.slot).filter(|stream| stream.id == id) else { return };
        match order {
            Order::Credit(bytes) => stream.credit = (stream.credit + bytes as usize).min(WINDOW),
            Order::Cancel => self.end_early(id.slot, false, now),
            Order::Drain if stream.rhythm.ends_on_drain => self.end_early(id.slot, true, now),
            Order::Drain => {}
        }
    }

    /// Ends streams early: those that end on a drain, whole; or `all`, broken off.
    pub(crate) fn end_early_all(&mut self, all: bool, now: Instant) {
        for slot in 0..self.open.len() as u32 {
            if all {
                self.end_early(slot, false, now);
            } else if self.get(slot).is_some_and(|stream| stream.rhythm.ends_on_drain) {
                self.end_early(slot, true, now);
            }
        }
    }

    fn end_early(&mut self, slot: u32, whole: bool, now: Instant) {
        let Some(stream) = self.get(slot) else { return };
        if !whole {
            // the body is broken off: drop what waits
            (stream.pending, stream.sent) = (Vec::new(), 0);
        }
        if stream.end.is_some() {
            // its generator is through
            if !whole {
                stream.end = Some(false);
            }
            return;
        }
        let was_told = stream.last.is_some();
        stream.last = Some(whole && stream.last.unwrap_or(true));
        if !was_told
            && (stream.readiness == Readiness::Due
                || (stream.readiness == Readiness::Blocked && stream.pending.is_empty()))
        {
            self.make_due(slot, now);
        }
    }

    /// The generator that is being called gives these fields for the end.
    pub(crate) fn set_trailers(&mut self, slot: u32, text: &[u8]) {
        if let Some(stream) = self.get(slot).filter(|stream| stream.readiness == Readiness::Called) {
            stream.trailers = text.to_vec();
        }
    }

    /// The generator that is being called writes these bytes. `false` when the stream takes no more.
    pub(crate) fn write(&mut self, slot: u32, bytes: &[u8]) -> bool {
        let Some(stream) = self.get(slot).filter(|stream| stream.readiness == Readiness::Called) else { return false };
        if stream.last.is_some() {
            return false;
        }
        stream.add(bytes);
        true
    }

    /// The request of a stream, if something that it was given waits for credit.
    pub(crate) fn waits(&self, slot: u32) -> Option<RequestId> {
        let stream = self.open.get(slot as usize)?.as_ref()?;
        (stream.sent < stream.pending.len()).then_some(stream.id)
    }

    /// The next thing to be sent for this stream, and for which request; `None` when there is nothing. What has ended
    /// is forgotten.
    pub(crate) fn next_part(&mut self, slot: u32, now: Instant, put: impl FnOnce(ToSend<'_>)) -> Option<RequestId> {
        let stream = self.get(slot).filter(|stream| stream.readiness != Readiness::Due)?;
        let id = stream.id;
        if let Some(mut pieces) = stream.pieces.take_if(|_| stream.end == Some(true)) {
            pieces.end(&mut stream.pending);
        }
        let left = &stream.pending[stream.sent..];
        if !left.is_empty() {
            let most = affordable(stream.credit).min(left.len());
            if most == 0 {
                return None;
            }
            stream.credit -= worth(most);
            put(ToSend::Piece(&left[..most]));
            stream.sent += most;
            return Some(id);
        }
        // a long chunk's memory is not kept for short ones
        stream.sent = 0;
        kept::empty_one_of_many(&mut stream.pending);
        if stream.readiness == Readiness::Called {
            return None;
        }
        if let Some(whole) = stream.end {
            let trailers: &[u8] = if whole { &stream.trailers } else { b"" };
            put(ToSend::End { whole, took: stream.took, trailers });
            self.open[slot as usize] = None;
            self.len -= 1;
            return Some(id);
        }
        let at = if stream.last.is_some() { now } else { stream.next_call().max(now) };
        self.make_due(slot, at);
        None
    }
}

fn is_current(open: &[Option<Stream>], turn: u64, slot: u32) -> bool {
    open.get(slot as usize)
        .and_then(Option::as_ref)
        .is_some_and(|stream| stream.readiness == Readiness::Due && stream.turn == turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: RequestId = RequestId { slot: 3, generation: 1 };
    const MS: Duration = Duration::from_millis(1);

    fn opened(ends_on_drain: bool) -> (Streams, Instant) {
        let (mut streams, now) = (Streams::default(), Instant::now());
        streams.open(ID, Rhythm { min_interval: 5 * MS, ends_on_drain }, None, now);
        (streams, now)
    }

    /// Bytes that can be sent now, and the end if it can.
    fn sent(streams: &mut Streams, now: Instant) -> (usize, Option<bool>) {
        let (mut bytes, mut end) = (0, None);
        let mut put = |what: ToSend<'_>| match what {
            ToSend::Piece(piece) => bytes += piece.len(),
            ToSend::End { whole, .. } => end = Some(whole),
        };
        while streams.next_part(ID.slot, now, &mut put).is_some() {}
        (bytes, end)
    }

    fn give(streams: &mut Streams, len: usize, done: Option<bool>, now: Instant) {
        streams.called(ID.slot, &vec![7; len], done, now);
    }

    #[test]
    fn a_generator_is_called_again_after_its_pause_and_when_its_bytes_have_been_taken() {
        let (mut streams, now) = opened(false);
        assert_eq!(streams.call(now), Some((3, Call::Next)));
        assert_eq!(streams.call(now), None, "it is being called");
        give(&mut streams, 10, None, now);
        assert_eq!(sent(&mut streams, now), (10, None));
        assert_eq!(streams.call(now + 4 * MS), None);
        let now = now + 5 * MS;
        assert_eq!(streams.call(now), Some((3, Call::Next)));
        give(&mut streams, 2 * WINDOW, None, now);
        let (first, end) = sent(&mut streams, now);
        assert!(first > FIRST / 2 && first < FIRST && end.is_none(), "{first}");
        assert_eq!(streams.next_due(), None, "what it gave waits");
        streams.apply(ID, Order::Credit(WINDOW as u32), now);
        let (second, _) = sent(&mut streams, now);
        streams.apply(ID, Order::Credit(WINDOW as u32), now);
        assert_eq!(first + second + sent(&mut streams, now).0, 2 * WINDOW);
        assert_eq!(streams.call(now + 5 * MS), Some((3, Call::Next)));
        give(&mut streams, 1, Some(true), now);
        assert_eq!(sent(&mut streams, now), (1, Some(true)));
        assert_eq!((streams.len(), streams.next_due()), (0, None));
    }

    #[test]
    fn what_a_generator_writes_is_sent_while_it_runs() {
        let (mut streams, now) = opened(false);
        assert!(!streams.write(ID.slot, b"early"), "it does not run");
        streams.call(now);
        assert!(streams.write(ID.slot, b"some"));
        assert_eq!(sent(&mut streams, now), (4, None));
        assert!(streams.waits(ID.slot).is_none());
        assert!(streams.write(ID.slot, &vec![7; 2 * WINDOW]));
        let (first, _) = sent(&mut streams, now);
        assert_eq!(streams.waits(ID.slot), Some(ID));
        streams.apply(ID, Order::Credit(WINDOW as u32), now);
        let (second, _) = sent(&mut streams, now);
        streams.apply(ID, Order::Credit(WINDOW as u32), now);
        assert_eq!(first + second + sent(&mut streams, now).0, 2 * WINDOW);
        assert!(streams.waits(ID.slot).is_none());
        assert_eq!(streams.call(now + 9 * MS), None, "it runs");
        give(&mut streams, 1, Some(true), now);
        assert_eq!(sent(&mut streams, now), (1, Some(true)));
    }

    /// What a client makes of what was sent.
    fn unpacked(bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut decoder = coding::Decoder::new(coding::Coding::Gzip, u32::MAX).unwrap();
        let (mut out, mut room, mut rest) = (Vec::new(), vec![0; 1 << 20], bytes);
        loop {
            let (read, written) = decoder.step(rest, &mut room).unwrap();
            rest = &rest[read..];
            out.extend_from_slice(&room[..written]);
            if read == 0 && written == 0 {
                return (out, decoder.finish().is_ok());
            }
        }
    }

    #[test]
    fn a_packed_stream_can_be_read_as_it_comes_and_has_an_end_only_when_it_is_whole() {
        for (order, whole) in [(None, true), (Some(Order::Drain), true), (Some(Order::Cancel), false)] {
            let (mut streams, now) = (Streams::default(), Instant::now());
            let rhythm = Rhythm { min_interval: MS, ends_on_drain: true };
            streams.open(ID, rhythm, Some(Pieces::new(1)), now);
            let mut all = Vec::new();
            let mut take = |streams: &mut Streams| {
                let mut end = None;
                let mut put = |what: ToSend<'_>| match what {
                    ToSend::Piece(piece) => all.extend_from_slice(piece),
                    ToSend::End { whole, .. } => end = Some(whole),
                };
                while streams.next_part(ID.slot, now, &mut put).is_some() {}
                (unpacked(&all), end)
            };
            streams.call(now);
            assert!(streams.write(ID.slot, b"some "));
            assert_eq!(take(&mut streams), ((b"some ".to_vec(), false), None), "it can be read while it is called");
            streams.called(ID.slot, b"more", None, now);
            assert_eq!(take(&mut streams), ((b"some more".to_vec(), false), None));
            if let Some(order) = order {
                streams.apply(ID, order, now);
            }
            assert!(streams.call(now + MS).is_some());
            streams.called(ID.slot, b"", Some(true), now);
            assert_eq!(take(&mut streams), ((b"some more".to_vec(), whole), Some(whole)));
        }
    }

    #[test]
    fn nobody_wants_what_is_written_after_an_end() {
        for (order, ends_on_drain, whole) in [(Order::Cancel, false, false), (Order::Drain, true, true)] {
            let (mut streams, now) = opened(ends_on_drain);
            streams.call(now);
            streams.write(ID.slot, b"some");
            streams.apply(ID, order, now);
            assert!(!streams.write(ID.slot, b"more"));
            give(&mut streams, 0, Some(true), now);
            assert_eq!(sent(&mut streams, now), (if whole { 4 } else { 0 }, Some(whole)));
            assert_eq!((streams.call(now), streams.len()), (None, 0), "it is not called again");
        }
    }

    #[test]
    fn one_with_nothing_to_say_is_not_asked_again_at_once() {
        let (mut streams, now) = opened(false);
        streams.call(now);
        give(&mut streams, 0, None, now);
        assert_eq!(sent(&mut streams, now), (0, None));
        assert_eq!(streams.next_due(), Some(now + NOTHING_NEW));
    }

    #[test]
    fn the_last_call_is_one_wherever_the_stream_was() {
        for readiness in ["due", "called", "blocked"] {
            let (mut streams, now) = opened(false);
            if readiness != "due" {
                streams.call(now);
            }
            if readiness == "blocked" {
                give(&mut streams, 2 * WINDOW, None, now);
                sent(&mut streams, now);
            }
            for _ in 0..2 {
                streams.apply(ID, Order::Cancel, now);
                assert_eq!(sent(&mut streams, now), (0, None), "{readiness}");
            }
            if readiness == "called" {
                give(&mut streams, 10, None, now);
                assert_eq!(sent(&mut streams, now), (0, None), "nobody reads it");
            }
            assert_eq!(streams.call(now), Some((3, Call::Last)), "{readiness}");
            streams.apply(ID, Order::Cancel, now);
            give(&mut streams, 10, None, now);
            assert_eq!(sent(&mut streams, now), (0, Some(false)), "{readiness}");
            assert_eq!((streams.call(now), streams.len()), (None, 0), "{readiness}");
        }
    }

    #[test]
    fn what_is_done_is_not_called_again_though_its_client_goes() {
        let (mut streams, now) = opened(false);
        streams.call(now);
        give(&mut streams, 2 * WINDOW, Some(true), now);
        assert!(sent(&mut streams, now).1.is_none());
        streams.apply(ID, Order::Cancel, now);
        assert_eq!(sent(&mut streams, now), (0, Some(false)));
        assert_eq!(streams.next_due(), None);
    }

    #[test]
    fn a_drain_ends_whole_what_is_to_end_by_it_and_nothing_else() {
        let (mut streams, now) = opened(false);
        streams.apply(ID, Order::Drain, now);
        assert_eq!(streams.call(now), Some((3, Call::Next)));
        let (mut streams, now) = opened(true);
        streams.call(now);
        give(&mut streams, 10, None, now);
        streams.apply(ID, Order::Drain, now);
        assert_eq!(sent(&mut streams, now), (10, None), "what it has said is sent");
        assert_eq!(streams.call(now), Some((3, Call::Last)));
        give(&mut streams, 10, None, now);
        assert_eq!(sent(&mut streams, now), (0, Some(true)));
    }

    #[test]
    fn orders_for_a_stream_that_is_over_are_nobodys() {
        let (mut streams, now) = opened(false);
        streams.call(now);
        give(&mut streams, 1, Some(true), now);
        sent(&mut streams, now);
        streams.open(RequestId { generation: 2, ..ID }, Rhythm { min_interval: MS, ends_on_drain: true }, None, now);
        streams.apply(ID, Order::Cancel, now);
        assert_eq!(streams.call(now), Some((3, Call::Next)));
    }

    #[test]
    fn old_entries_do_not_pile_up() {
        let (mut streams, now) = opened(false);
        for _ in 0..1000 {
            streams.make_due(ID.slot, now);
        }
        assert!(streams.due.len() < 100);
        assert_eq!(streams.call(now), Some((3, Call::Next)));
        assert_eq!(streams.next_due(), None);
    }
}

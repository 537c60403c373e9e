//! What a client sends, frame by frame, before the library has it: how many frames ask for nothing but work, what
//! stands half sent, and which body moves. Only headers of frames are looked at (RFC 9113 section 4.1); whether they
//! are in order is the library's to say.

use super::PREFACE;

/// Bytes of a frame before its payload.
const HEADER: usize = 9;

/// Frames of no use to a request (PING, SETTINGS, PRIORITY, empty DATA, unknown ones) that a client may send in
/// [`SPAN`] ms. Honest ones send a few a second at most.
const MOST: u32 = 1000;
/// RST_STREAM and WINDOW_UPDATE frames have the same limit, plus one WINDOW_UPDATE for each `BYTES_OF_UPDATE`
/// bytes that the client was sent.
const BYTES_OF_UPDATE: u64 = 32;
const SPAN: u64 = 10_000;

/// What a connection's frames may cost in a turn, so that a flood of them does not keep others waiting: a request or a
/// piece of a body costs 1, all else, of which an honest client sends few at a time, [`ASIDE`]. As many requests as
/// most clients have under way at a time.
const AT_ONCE: u32 = 16;
const ASIDE: u32 = 2;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// See the module.
pub struct Frames {
    /// bytes of the preface that are still to come
    preface: usize,
    /// the header of the frame that is being read, as far as it is here
    header: [u8; HEADER],
    have: usize,
    /// bytes of its payload that are still to come
    left: usize,
    /// whether it is the client's first one
    is_first: bool,
    /// a header section has begun and not ended
    in_headers: bool,
    span: Span,
    /// what the frames of this turn have cost
    cost: u32,
}

/// What has come since a time.
#[derive(Default)]
struct Span {
    began: u64,
    idle: u32,
    updates: u32,
    resets: u32,
    written: u64,
}

impl Frames {
    pub fn new(now: u64) -> Self {
        let span = Span { began: now, ..Span::default() };
        Frames {
            preface: PREFACE.len(),
            header: [0; HEADER],
            have: 0,
            left: 0,
            is_first: true,
            in_headers: false,
            span,
            cost: 0,
        }
    }

    /// Other connections have had their turn.
    pub fn begin_turn(&mut self) {
        self.cost = 0;
    }

    /// Looks at bytes that have come, up to what may be read in this turn, and gives how many these are. `body` is told
    /// of those of bodies, by stream.
    pub fn read(&mut self, come: &[u8], now: u64, mut body: impl FnMut(u32, usize)) -> usize {
        let mut bytes = come;
        if now - self.span.began > SPAN {
            self.span = Span { began: now, ..Span::default() };
        }
        let n = self.preface.min(bytes.len());
        self.preface -= n;
        bytes = &bytes[n..];
        while !bytes.is_empty() && (self.have > 0 || self.cost < AT_ONCE) {
            if self.have < HEADER {
                let n = bytes.len().min(HEADER - self.have);
                self.header[self.have..self.have + n].copy_from_slice(&bytes[..n]);
                self.have += n;
                bytes = &bytes[n..];
                if self.have == HEADER {
                    self.begin();
                }
            } else {
                let n = bytes.len().min(self.left);
                if self.kind() == DATA {
                    body(self.stream(), n);
                }
                self.left -= n;
                bytes = &bytes[n..];
            }
            if self.have == HEADER && self.left == 0 {
                self.have = 0;
                self.is_first = false;
            }
        }
        come.len() - bytes.len()
    }

    /// Whether there were too many useless ones.
    pub fn are_a_flood(&self) -> bool {
        let span = &self.span;
        span.idle > MOST
            || span.resets > MOST
            || u64::from(span.updates) > u64::from(MOST) + span.written / BYTES_OF_UPDATE
    }

    /// The client was sent this many bytes.
    pub fn wrote(&mut self, bytes: usize) {
        self.span.written += bytes as u64;
    }

    /// Whether the preface and the client's first frame, its settings, are here.
    pub fn has_begun(&self) -> bool {
        self.preface == 0 && !self.is_first
    }

    /// Whether a header section has begun that goes on in another frame, as long ones do.
    pub fn is_in_headers(&self) -> bool {
        self.in_headers
    }

    /// Whether something is half here, other than a body.
    pub fn is_in_part(&self) -> bool {
        self.in_headers || (self.have > 0 && !(self.have == HEADER && self.kind() == DATA))
    }

    fn kind(&self) -> u8 {
        self.header[3]
    }

    fn stream(&self) -> u32 {
        let [.., a, b, c, d] = self.header;
        u32::from_be_bytes([a & 0x7f, b, c, d])
    }

    fn begin(&mut self) {
        let [a, b, c, kind, flags, ..] = self.header;
        self.left = u32::from_be_bytes([0, a, b, c]) as usize;
        self.cost += match kind {
            DATA | HEADERS | CONTINUATION => 1,
            // a request and its end are better seen together: then the first is not even begun
            RST_STREAM => 0,
            _ => ASIDE,
        };
        match kind {
            DATA => self.span.idle += u32::from(self.left == 0 && flags & END_STREAM == 0),
            HEADERS | CONTINUATION => self.in_headers = flags & END_HEADERS == 0,
            // the library counts those that come with the requests that they end
            RST_STREAM => self.span.resets += 1,
            WINDOW_UPDATE => self.span.updates += 1,
            _ => self.span.idle += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: usize) -> Vec<u8> {
        let mut bytes = (payload as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.resize(HEADER + payload, 0);
        bytes
    }

    /// Reads all, in as many turns as that takes. `false` when it is a flood.
    fn read(frames: &mut Frames, mut bytes: &[u8], now: u64, mut body: impl FnMut(u32, usize)) -> bool {
        loop {
            frames.begin_turn();
            bytes = &bytes[frames.read(bytes, now, &mut body)..];
            if bytes.is_empty() {
                return !frames.are_a_flood();
            }
        }
    }

    fn begun() -> Frames {
        let mut frames = Frames::new(1);
        assert!(read(&mut frames, &[0; PREFACE.len()], 1, |_, _| {}) && !frames.has_begun());
        assert!(read(&mut frames, &frame(4, 0, 0, 6), 1, |_, _| {}) && frames.has_begun());
        frames
    }

    #[test]
    fn a_turn_is_over_after_some_frames_and_not_within_one() {
        let pieces = |kind: u8, payload| {
            let mut frames = begun();
            frames.begin_turn();
            let one = frame(kind, 0, 1, payload);
            let all = one.repeat(100);
            let read = frames.read(&all, 1, |_, _| {});
            assert_eq!((read % one.len(), frames.read(&all[read..], 1, |_, _| {})), (0, 0));
            // the next turn goes on there
            frames.begin_turn();
            assert_eq!(frames.read(&all[read..], 1, |_, _| {}), read);
            read / one.len()
        };
        assert_eq!(pieces(DATA, 10), AT_ONCE as usize);
        assert_eq!(pieces(6, 8), (AT_ONCE / ASIDE) as usize);
        let mut frames = begun();
        frames.begin_turn();
        let long = [frame(6, 0, 0, 8).repeat((AT_ONCE / ASIDE) as usize - 1), frame(DATA, 0, 1, 9000)].concat();
        assert_eq!(frames.read(&long[..200], 1, |_, _| {}) + frames.read(&long[200..], 1, |_, _| {}), long.len());
    }

    #[test]
    fn frames_are_told_apart_however_they_are_cut() {
        let bytes: Vec<u8> =
            [frame(HEADERS, 0, 1, 20), frame(CONTINUATION, 4, 1, 5), frame(DATA, 0, 1, 300), frame(DATA, 1, 1, 7)]
                .concat();
        for cut in 1..bytes.len() {
            let mut frames = begun();
            let mut moved = 0;
            for piece in bytes.chunks(cut) {
                assert!(read(&mut frames, piece, 1, |stream, n| moved += n * stream as usize));
            }
            assert_eq!((moved, frames.is_in_part()), (307, false));
        }
    }

    #[test]
    fn a_part_of_a_header_section_is_one_until_it_ends() {
        let mut frames = begun();
        let part = |frames: &mut Frames, bytes: &[u8]| {
            read(frames, bytes, 1, |_, _| {});
            frames.is_in_part()
        };
        assert!(!part(&mut frames, &[]));
        assert!(part(&mut frames, &frame(HEADERS, 0, 1, 20)), "a CONTINUATION is to come");
        assert!(!part(&mut frames, &frame(CONTINUATION, 4, 1, 0)));
        assert!(part(&mut frames, &frame(HEADERS, 5, 3, 20)[..8]));
        assert!(!part(&mut frames, &frame(HEADERS, 5, 3, 20)[8..]));
        assert!(!part(&mut frames, &frame(DATA, 0, 3, 20)[..12]), "the body has its own clock");
    }

    #[test]
    fn frames_that_ask_for_nothing_are_limited_for_a_span() {
        for (kind, flags, payload) in [(6, 0, 8), (4, 0, 0), (2, 0, 5), (DATA, 0, 0), (200, 0, 3), (RST_STREAM, 0, 4)] {
            let mut frames = begun();
            let flood = frame(kind, flags, 0, payload);
            let sent = (0..2 * MOST).take_while(|_| read(&mut frames, &flood, 2, |_, _| {})).count();
            assert!((MOST as usize - 1..=MOST as usize).contains(&sent), "{kind}: {sent}");
            assert!(read(&mut frames, &flood, 2 + SPAN, |_, _| {}), "{kind}: a new span");
        }
    }

    #[test]
    fn window_updates_may_be_as_many_as_what_was_sent_explains() {
        let (mut frames, flood) = (begun(), frame(WINDOW_UPDATE, 0, 1, 4).repeat(MOST as usize));
        assert!(read(&mut frames, &flood, 1, |_, _| {}) && !read(&mut frames, &flood, 1, |_, _| {}));
        frames.wrote(MOST as usize * BYTES_OF_UPDATE as usize);
        assert!(!frames.are_a_flood());
    }
}

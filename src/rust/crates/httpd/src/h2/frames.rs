//! What a client sends, frame by frame, before the library has it: how many frames ask for nothing but work, what
//! stands half sent, and which body moves. Only headers of frames are looked at (RFC 9113 section 4.1); whether they
//! are in order is the library's to say.

use super::PREFACE;

/// Bytes of a frame before its payload.
const HEADER: usize = 9;

/// Frames of no use to a request (PING, SETTINGS, PRIORITY, empty DATA, unknown ones) that a client may send in
/// [`SPAN`] ms. Honest ones send a few a second at most.
const MOST: u32 = 1000;
/// WINDOW_UPDATE frames are limited likewise, but there may be one more for each so many bytes that the client was
/// sent.
const BYTES_OF_UPDATE: u64 = 32;
const SPAN: u64 = 10_000;

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
}

/// What has come since a time.
struct Span {
    began: u64,
    idle: u32,
    updates: u32,
    written: u64,
}

impl Frames {
    pub fn new(now: u64) -> Self {
        let span = Span { began: now, idle: 0, updates: 0, written: 0 };
        Frames {
            preface: PREFACE.len(),
            header: [0; HEADER],
            have: 0,
            left: 0,
            is_first: true,
            in_headers: false,
            span,
        }
    }

    /// Looks at bytes that have come. `body` is told of those of bodies, by stream. `false` when there were too many
    /// useless frames.
    pub fn read(&mut self, mut bytes: &[u8], now: u64, mut body: impl FnMut(u32, usize)) -> bool {
        if now - self.span.began > SPAN {
            self.span = Span { began: now, idle: 0, updates: 0, written: 0 };
        }
        let n = self.preface.min(bytes.len());
        self.preface -= n;
        bytes = &bytes[n..];
        while !bytes.is_empty() {
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
        let span = &self.span;
        span.idle <= MOST && u64::from(span.updates) <= u64::from(MOST) + span.written / BYTES_OF_UPDATE
    }

    /// So many bytes have been sent to the client.
    pub fn wrote(&mut self, bytes: usize) {
        self.span.written += bytes as u64;
    }

    /// Whether the preface and the client's first frame, its settings, are here.
    pub fn has_begun(&self) -> bool {
        self.preface == 0 && !self.is_first
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
        match kind {
            DATA => self.span.idle += u32::from(self.left == 0 && flags & END_STREAM == 0),
            HEADERS | CONTINUATION => self.in_headers = flags & END_HEADERS == 0,
            // the library counts these
            RST_STREAM => {}
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

    fn begun() -> Frames {
        let mut frames = Frames::new(1);
        assert!(frames.read(&[0; PREFACE.len()], 1, |_, _| {}) && !frames.has_begun());
        assert!(frames.read(&frame(4, 0, 0, 6), 1, |_, _| {}) && frames.has_begun());
        frames
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
                assert!(frames.read(piece, 1, |stream, n| moved += n * stream as usize));
            }
            assert_eq!((moved, frames.is_in_part()), (307, false));
        }
    }

    #[test]
    fn a_part_of_a_header_section_is_one_until_it_ends() {
        let mut frames = begun();
        let part = |frames: &mut Frames, bytes: &[u8]| {
            frames.read(bytes, 1, |_, _| {});
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
        for (kind, flags, payload) in [(6, 0, 8), (4, 0, 0), (2, 0, 5), (DATA, 0, 0), (200, 0, 3)] {
            let mut frames = begun();
            let flood = frame(kind, flags, 0, payload);
            let sent = (0..2 * MOST).take_while(|_| frames.read(&flood, 2, |_, _| {})).count();
            assert!((MOST as usize - 1..=MOST as usize).contains(&sent), "{kind}: {sent}");
            assert!(frames.read(&flood, 2 + SPAN, |_, _| {}), "{kind}: a new span");
        }
    }

    #[test]
    fn window_updates_may_be_as_many_as_what_was_sent_explains() {
        let (mut frames, flood) = (begun(), frame(WINDOW_UPDATE, 0, 1, 4).repeat(MOST as usize));
        assert!(frames.read(&flood, 1, |_, _| {}) && !frames.read(&flood, 1, |_, _| {}));
        frames.wrote(MOST as usize * BYTES_OF_UPDATE as usize);
        assert!(frames.read(&[], 1, |_, _| {}));
    }
}

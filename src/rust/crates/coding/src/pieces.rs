//! A body that comes in pieces, as gzip: each piece can be unpacked when it has come, without the next one.
//!
//! A compressor has some 300 kB, and a thousand streams are not to have a thousand of them: each thread has one, for
//! all. What a stream keeps is the end of what it has said, so that the next piece can refer to it, as the other end
//! has it, too: a compressor that begins anew is told of it as of a dictionary (RFC 1951 knows no borders between
//! blocks).

use crate::whole::{with_deflate, GZIP_HEAD};
use flate2::{Crc, FlushCompress};

/// So much of what was said can be referred to. Events that look alike are seldom longer.
const HISTORY: usize = 4 << 10;
/// Room that output is given at a time.
const STEP: usize = 1 << 10;

/// See the module.
#[derive(Debug)]
pub struct Pieces {
    level: u8,
    began: bool,
    history: Vec<u8>,
    crc: Crc,
}

impl Pieces {
    /// Of a stream that has said nothing. `level` is that of gzip, 1 to 9.
    pub fn new(level: u8) -> Self {
        Pieces { level, began: false, history: Vec::new(), crc: Crc::new() }
    }

    /// Appends the next piece, packed, to `out`. Nothing is nothing.
    pub fn pack(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if piece.is_empty() {
            return;
        }
        self.begin(out);
        self.crc.update(piece);
        with_deflate(self.level, |compress| {
            if !self.history.is_empty() {
                // an error would be that of a compressor that has begun: then there is nothing to refer to
                let _ = compress.set_dictionary(&self.history);
            }
            loop {
                let used = compress.total_in() as usize;
                out.reserve(STEP.max((piece.len() - used) / 4));
                // the one error is that of a stream that was never begun
                let _ = compress.compress_vec(&piece[used..], out, FlushCompress::Sync);
                // the flush is complete when there was room left
                if compress.total_in() as usize == piece.len() && out.len() < out.capacity() {
                    break;
                }
            }
        });
        self.remember(piece);
    }

    /// Appends what stands at the end of a whole body to `out`.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        /// an empty last block (RFC 1951 section 3.2.6)
        const LAST: [u8; 2] = [3, 0];
        self.begin(out);
        out.extend_from_slice(&LAST);
        out.extend_from_slice(&self.crc.sum().to_le_bytes());
        out.extend_from_slice(&self.crc.amount().to_le_bytes());
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            out.extend_from_slice(&GZIP_HEAD);
        }
    }

    fn remember(&mut self, piece: &[u8]) {
        let piece = &piece[piece.len().saturating_sub(HISTORY)..];
        let over = (self.history.len() + piece.len()).saturating_sub(HISTORY);
        self.history.drain(..over);
        self.history.reserve_exact(piece.len());
        self.history.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::tests::unpacked;
    use crate::{pack, Coding, Decoder};
    use proptest::prelude::*;

    /// Of two streams in turn, with a whole body in between: they have one compressor.
    fn packed(pieces: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut one, mut other) = (Pieces::new(5), Pieces::new(5));
        let mut all: Vec<Vec<u8>> = pieces
            .iter()
            .map(|piece| {
                let (mut out, mut aside) = (Vec::new(), Vec::new());
                one.pack(piece, &mut out);
                other.pack(b"something else", &mut aside);
                pack(&[7; 2000], Coding::Gzip, 5, |_| ());
                out
            })
            .collect();
        let mut end = Vec::new();
        one.end(&mut end);
        all.push(end);
        assert!(one.history.capacity() <= 2 * HISTORY);
        all
    }

    proptest! {
        // each takes long in a build without optimisation
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn each_piece_can_be_read_when_it_has_come(
            pieces in proptest::collection::vec((0usize..9000, 1u8..5, any::<u8>()), 0..8)
        ) {
            let piece = |(len, of, from): &(usize, u8, u8)| (0..*len).map(|i| (i as u8 / of) ^ from).collect();
            let pieces: Vec<Vec<u8>> = pieces.iter().map(piece).collect();
            let packed = packed(&pieces);
            let mut decoder = Decoder::new(Coding::Gzip, u32::MAX).unwrap();
            for (piece, packed) in pieces.iter().zip(&packed) {
                let (mut rest, mut seen) = (&packed[..], Vec::new());
                loop {
                    let mut room = [0; 700];
                    let (read, written) = decoder.step(rest, &mut room).unwrap();
                    rest = &rest[read..];
                    seen.extend_from_slice(&room[..written]);
                    if read == 0 && written == 0 {
                        break;
                    }
                }
                prop_assert!(seen == *piece);
            }
            prop_assert_eq!(unpacked(&packed.concat(), Coding::Gzip), pieces.concat());
        }
    }

    #[test]
    fn events_that_look_alike_are_short() {
        let event = |i: u32| format!("event: tick\ndata: {{\"symbol\":\"ABC\",\"price\":{i},\"volume\":1000}}\n\n");
        let packed = packed(&(0..10).map(|i| event(i).into_bytes()).collect::<Vec<_>>());
        assert!(packed[9].len() < 30, "{} bytes", packed[9].len());
    }

    #[test]
    fn a_body_without_pieces_is_an_empty_one() {
        assert_eq!(unpacked(&packed(&[]).concat(), Coding::Gzip), b"");
    }
}

//! Bodies of requests that clients have packed (`Content-Encoding`): unpacked as they come, a slice at a time, so that
//! other connections of the thread have their turn between two slices. Neighbours: `body` (which receives), `coding`.

use crate::budget::{BodyRoom, Budget};
use crate::response::Failure;
use coding::{Coding, Decoder, Undecodable, WINDOW};
use http::StatusCode;
use std::cell::RefCell;
use std::sync::Arc;

/// What is unpacked before others have their turn, in bytes that come out: less than a millisecond of work.
const SLICE: usize = 256 << 10;
/// Room that comes out at a time.
const ROOM: usize = 32 << 10;

thread_local! {
    static OUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How a body is packed, and how far it may expand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoding {
    /// by which coding
    pub coding: Coding,
    /// the unpacked body may be this many times as long as the packed one
    pub max_ratio: u32,
}

/// A body that is being unpacked.
pub struct Unpacking {
    decoder: Decoder,
    decoding: Decoding,
    /// came, and is not unpacked from `at` on
    rest: Vec<u8>,
    at: usize,
    /// whether anything came
    began: bool,
    /// what the decoder has to remember, as far as it grows with what comes out
    window: BodyRoom,
    remembered: usize,
}

impl Unpacking {
    pub fn new(decoding: Decoding, budget: &Arc<Budget>) -> Option<Self> {
        let decoder = Decoder::new(decoding.coding, decoding.max_ratio)?;
        let (window, rest) = (budget.window(), Vec::new());
        Some(Unpacking { decoder, decoding, rest, at: 0, began: false, window, remembered: 0 })
    }

    /// More has come.
    pub fn add(&mut self, piece: &[u8]) {
        self.began |= !piece.is_empty();
        self.rest.extend_from_slice(piece);
    }

    /// Unpacks a slice of what has come, and has it `put` where it belongs. Whether that was all.
    ///
    /// # Errors
    /// 400 for what is broken, 413 for what expands too far, 503 when others have all memory there is for this, and
    /// those of `put`.
    pub fn advance(&mut self, mut put: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<bool, Failure> {
        OUT.with_borrow_mut(|out| {
            out.resize(ROOM, 0);
            let mut given = 0;
            while given < SLICE {
                let step = self.decoder.step(&self.rest[self.at..], out);
                let (read, written) = step.map_err(|why| self.refusal(why))?;
                self.at += read;
                given += written;
                if read == 0 && written == 0 {
                    self.rest.clear();
                    self.at = 0;
                    return Ok(true);
                }
                self.remember(written)?;
                put(&out[..written])?;
            }
            Ok(false)
        })
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// 400 when it is not whole. A body without a byte is none.
    pub fn finish(&self) -> Result<(), Failure> {
        match self.decoder.finish() {
            Err(why) if self.began => Err(self.refusal(why)),
            _ => Ok(()),
        }
    }

    fn refusal(&self, why: Undecodable) -> Failure {
        let Decoding { coding, max_ratio } = self.decoding;
        match why {
            Undecodable::Broken => {
                let detail = format!("the body is not {}, or not whole", coding.name());
                Failure::new(StatusCode::BAD_REQUEST, detail).closing()
            }
            Undecodable::Bomb => {
                let detail = format!("the body expands to more than {max_ratio} times its size");
                let failure = Failure::new(StatusCode::PAYLOAD_TOO_LARGE, detail).closing();
                failure.because(format_args!("over `max_ratio` = {max_ratio} of dr_decompress()"))
            }
        }
    }

    /// Only zstd has windows that matter.
    fn remember(&mut self, written: usize) -> Result<(), Failure> {
        let more = written.min(WINDOW - self.remembered);
        if self.decoding.coding == Coding::Zstd && more > 0 {
            if !self.window.grow(more) {
                let why = "too many bodies are being unpacked";
                return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, why).closing());
            }
            self.remembered += more;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZSTD: Decoding = Decoding { coding: Coding::Zstd, max_ratio: 100_000 };

    fn zeros(len: usize) -> Vec<u8> {
        coding::pack(&vec![0; len], Coding::Zstd, 1, <[u8]>::to_vec).unwrap()
    }

    #[test]
    fn a_long_body_takes_several_turns() {
        let budget = Budget::new(10, 10);
        let mut unpacking = Unpacking::new(ZSTD, &budget).unwrap();
        unpacking.add(&zeros(4 * SLICE));
        let mut slices = Vec::new();
        loop {
            let mut len = 0;
            let is_done = unpacking.advance(|piece| {
                len += piece.len();
                Ok(())
            });
            slices.push(len);
            if is_done.unwrap() {
                break;
            }
        }
        assert!(slices.len() >= 4 && slices.iter().all(|len| *len < SLICE + ROOM), "{slices:?}");
        assert!(slices.iter().sum::<usize>() == 4 * SLICE && unpacking.finish().is_ok());
    }

    #[test]
    fn what_decoders_remember_counts_and_has_an_end() {
        let budget = Budget::new(10, 10);
        let mut others = budget.window();
        assert!(others.grow(60 << 20));
        let refused = |len| {
            let mut unpacking = Unpacking::new(ZSTD, &budget).unwrap();
            unpacking.add(&zeros(len));
            loop {
                match unpacking.advance(|_| Ok(())) {
                    Ok(false) => {}
                    Ok(true) => return None,
                    Err(failure) => return Some(failure.status),
                }
            }
        };
        assert!(budget.is_scarce());
        assert_eq!(refused(5 << 20), Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(refused(3 << 20), None, "what the one before had is free again");
        drop(others);
        // more than a window is not remembered
        assert_eq!(refused(70 << 20), None);
        assert!(!budget.is_scarce());
    }
}

//! What a client has packed, unpacked in steps: each takes and gives no more than its caller has room for, so that a
//! thread can do something else in between. What expands too much is refused while it is unpacked.

use crate::Coding;
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as Zstd, Operation};

/// Longest window of zstd in bytes, as RFC 9659 has it for content codings: so much memory one decoder may take.
/// Of the others: 32 kB.
pub const WINDOW: usize = 1 << WINDOW_BITS;
const WINDOW_BITS: u32 = 23;

/// The ratio of output to input is checked only beyond this many bytes of output: a client could as well have sent
/// them uncompressed.
const FREE: u64 = 1 << 20;

/// To begin another part takes as long as to unpack this many bytes, so each counts as this much output: otherwise a
/// client could send a hundred thousand empty parts.
const PART: u64 = 4 << 10;

/// Why bytes cannot be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecodable {
    /// they are not of the coding, or end early
    Broken,
    /// they expand more than allowed
    Bomb,
}

/// See the module.
pub struct Decoder {
    inner: Inner,
    max_ratio: u32,
    taken: u64,
    /// and what counts like it
    given: u64,
    /// a whole part (a member of gzip, a frame of zstd) has ended, and none has begun since
    ended: bool,
}

enum Inner {
    Zstd(Box<Zstd<'static>>),
    Deflate(Box<Decompress>, bool),
}

impl Decoder {
    /// One for a coding; `None` when there is none. What comes out may be `max_ratio` times what goes in.
    pub fn new(coding: Coding, max_ratio: u32) -> Option<Self> {
        let inner = match coding {
            Coding::Zstd => {
                let mut zstd = Zstd::new().ok()?;
                zstd.set_parameter(DParameter::WindowLogMax(WINDOW_BITS)).ok()?;
                Inner::Zstd(Box::new(zstd))
            }
            Coding::Gzip => Inner::Deflate(Box::new(gzip()), true),
            Coding::Deflate => Inner::Deflate(Box::new(Decompress::new(true)), false),
            Coding::Brotli => return None,
        };
        Some(Decoder { inner, max_ratio, taken: 0, given: 0, ended: false })
    }

    /// Takes from `input` and gives to `out`: how many bytes of each. When both are 0, there is nothing more to come of
    /// the input.
    ///
    /// # Errors
    /// See [`Undecodable`].
    pub fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize), Undecodable> {
        if self.ended && !input.is_empty() {
            self.begin_next()?;
        }
        if self.ended {
            return Ok((0, 0));
        }
        let (read, written) = match &mut self.inner {
            Inner::Zstd(zstd) => {
                let status = zstd.run_on_buffers(input, out).map_err(|_| Undecodable::Broken)?;
                self.ended = status.remaining == 0;
                (status.bytes_read, status.bytes_written)
            }
            Inner::Deflate(inflate, _) => {
                let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, out, FlushDecompress::None).map_err(|_| Undecodable::Broken)?;
                self.ended = status == Status::StreamEnd;
                ((inflate.total_in() - before_in) as usize, (inflate.total_out() - before_out) as usize)
            }
        };
        self.taken += read as u64;
        self.given += written as u64;
        if self.given > FREE && self.given / u64::from(self.max_ratio) > self.taken {
            return Err(Undecodable::Bomb);
        }
        Ok((read, written))
    }

    /// Several may follow each other: members of gzip (RFC 1952 section 2.2), frames of zstd (RFC 8878 section 3.1).
    fn begin_next(&mut self) -> Result<(), Undecodable> {
        match &mut self.inner {
            Inner::Zstd(zstd) => zstd.reinit().map_err(|_| Undecodable::Broken)?,
            Inner::Deflate(inflate, true) => **inflate = gzip(),
            Inner::Deflate(_, false) => return Err(Undecodable::Broken),
        }
        self.ended = false;
        self.given += PART;
        Ok(())
    }

    /// There is no more input: whether it was whole.
    ///
    /// # Errors
    /// When it ends early.
    pub fn finish(&self) -> Result<(), Undecodable> {
        if self.ended {
            Ok(())
        } else {
            Err(Undecodable::Broken)
        }
    }
}

/// Unpacks what is trusted, whole.
///
/// # Errors
/// See [`Undecodable`]; `Broken` for a coding that there is no decoder for.
pub fn unpack(packed: &[u8], coding: Coding) -> Result<Vec<u8>, Undecodable> {
    const STEP: usize = 64 << 10;
    let decoder = Decoder::new(coding, u32::MAX).ok_or(Undecodable::Broken)?;
    Ok(in_steps(decoder, packed, STEP)?.0)
}

/// All that is packed, taken and given `step` bytes at a time, and what has not been taken.
fn in_steps(mut decoder: Decoder, packed: &[u8], step: usize) -> Result<(Vec<u8>, &[u8]), Undecodable> {
    let (mut out, mut rest, mut room) = (Vec::new(), packed, vec![0; step]);
    loop {
        let (read, written) = decoder.step(&rest[..rest.len().min(step)], &mut room)?;
        rest = &rest[read..];
        out.extend_from_slice(&room[..written]);
        if read == 0 && written == 0 {
            decoder.finish()?;
            return Ok((out, rest));
        }
    }
}

fn gzip() -> Decompress {
    const LARGEST: u8 = 15;
    Decompress::new_gzip(LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack;
    use proptest::prelude::*;

    fn all(bytes: &[u8], coding: Coding, max_ratio: u32, step: usize) -> Result<Vec<u8>, Undecodable> {
        // what a network gives at a time is of any length
        let (out, rest) = in_steps(Decoder::new(coding, max_ratio).unwrap(), bytes, step)?;
        assert!(rest.is_empty());
        Ok(out)
    }

    fn packed(body: &[u8], coding: Coding) -> Vec<u8> {
        pack(body, coding, 3, <[u8]>::to_vec).unwrap()
    }

    #[test]
    fn what_is_trusted_is_unpacked_whole_however_much_it_expands() {
        let body = vec![b'a'; 3 << 20];
        for coding in [Coding::Gzip, Coding::Zstd] {
            let packed = packed(&body, coding);
            assert_eq!(unpack(&packed, coding).unwrap(), body);
            assert_eq!(unpack(&packed[..packed.len() - 1], coding), Err(Undecodable::Broken));
        }
        assert_eq!(unpack(b"no brotli", Coding::Brotli), Err(Undecodable::Broken));
    }

    #[test]
    fn parts_may_follow_each_other_and_nothing_else_may() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let one = packed(&[b'a'; 3000], coding);
            let both = [&one[..], &packed(&[b'b'; 2000], coding)].concat();
            for step in [1, 7, 5000] {
                assert_eq!(all(&both, coding, 1000, step), Ok([[b'a'; 3000].as_slice(), &[b'b'; 2000]].concat()));
                let garbage = [&one[..], b"rubbish after it"].concat();
                assert_eq!(all(&garbage, coding, 1000, step), Err(Undecodable::Broken));
            }
            for end in 0..one.len() {
                assert_eq!(all(&one[..end], coding, 1000, 99), Err(Undecodable::Broken), "{coding:?} cut at {end}");
            }
        }
        assert!(Decoder::new(Coding::Brotli, 1).is_none());
    }

    #[test]
    fn deflate_is_the_format_of_zlib() {
        let mut zlib = flate2::Compress::new(flate2::Compression::fast(), true);
        let mut out = Vec::with_capacity(100);
        zlib.compress_vec(b"some text", &mut out, flate2::FlushCompress::Finish).unwrap();
        assert_eq!(all(&out, Coding::Deflate, 9, 3), Ok(b"some text".to_vec()));
        // without its head and tail it is raw
        assert_eq!(all(&out[2..out.len() - 4], Coding::Deflate, 9, 3), Err(Undecodable::Broken));
        out.push(0);
        assert_eq!(all(&out, Coding::Deflate, 9, 3), Err(Undecodable::Broken));
    }

    #[test]
    fn a_bomb_is_seen_before_it_is_large() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let bomb = packed(&vec![0; 50 << 20], coding);
            let mut decoder = Decoder::new(coding, 100).unwrap();
            let (mut given, mut rest, mut room) = (0, &bomb[..], vec![0; 64 << 10]);
            let why = loop {
                match decoder.step(rest, &mut room) {
                    Ok((read, written)) => {
                        (given, rest) = (given + written, &rest[read..]);
                        assert!(read + written > 0);
                    }
                    Err(why) => break why,
                }
            };
            assert_eq!(why, Undecodable::Bomb);
            // zstd may take all of its input before it gives the first byte
            assert!(given <= (bomb.len() * 100).max(1 << 20) && given < 6 << 20, "{coding:?}: {given} bytes");
            // what is short may expand as it likes
            assert_eq!(all(&packed(&[0; 1 << 20], coding), coding, 2, 9999).map(|all| all.len()), Ok(1 << 20));
        }
    }

    #[test]
    fn many_parts_are_a_bomb() {
        // ten bytes of head, an empty block, checksum and length
        let empty = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 3, 0][..], &[0; 8]].concat();
        assert_eq!(all(&empty.repeat(200), Coding::Gzip, 100, 999), Ok(vec![]));
        assert_eq!(all(&empty.repeat(400), Coding::Gzip, 100, 999), Err(Undecodable::Bomb));
    }

    #[test]
    fn a_window_that_clients_must_not_have_is_refused() {
        use zstd::stream::raw::{CParameter, Encoder, InBuffer, OutBuffer};
        for (bits, right) in [(WINDOW_BITS, true), (WINDOW_BITS + 1, false)] {
            let mut encoder = Encoder::new(1).unwrap();
            encoder.set_parameter(CParameter::WindowLog(bits)).unwrap();
            let mut out = vec![0; 4000];
            let mut to = OutBuffer::around(&mut out);
            encoder.run(&mut InBuffer::around(&[b'x'; 3000]), &mut to).unwrap();
            encoder.finish(&mut to, true).unwrap();
            let len = to.pos();
            assert_eq!(all(&out[..len], Coding::Zstd, 100, 5000).is_ok(), right, "window of 2^{bits}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..40, to: u8) {
            for coding in [Coding::Gzip, Coding::Zstd, Coding::Deflate] {
                let _ = all(&bytes, coding, 10, 50);
                if coding != Coding::Deflate {
                    let mut changed = packed(&[b'x'; 500], coding);
                    if let Some(byte) = changed.get_mut(at) {
                        *byte = to;
                    }
                    let _ = all(&changed, coding, 10, 50);
                }
            }
        }
    }
}

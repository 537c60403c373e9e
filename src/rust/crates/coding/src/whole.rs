//! Whole bodies, packed at once. Each thread has a compressor for each coding, which it uses again, and memory for what
//! comes out: nothing is allocated for a body of usual length.

use crate::Coding;
use flate2::{Compress, Compression, FlushCompress};
use std::cell::RefCell;
use std::io::Write;
use zstd::bulk::Compressor;

/// The largest window of brotli that every client has, as a power of two (RFC 7932 section 9.1).
const BROTLI_WINDOW: i32 = 22;

/// Of gzip: magic, method, no flags, no time, no hint, no system (RFC 1952 section 2.3).
pub(crate) const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

#[derive(Default)]
struct Tools {
    out: Vec<u8>,
    zstd: Option<(u8, Compressor<'static>)>,
    deflate: Option<(u8, Compress)>,
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::default();
}

/// Packs `body` and has it used; `None` when it does not get shorter.
pub fn pack<T>(body: &[u8], coding: Coding, level: u8, use_it: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let (mut out, packed) = TOOLS.with_borrow_mut(|tools| {
        let mut out = std::mem::take(&mut tools.out);
        let packed = match coding {
            Coding::Zstd => tools.zstd(body, level, &mut out),
            Coding::Gzip => tools.gzip(body, level, &mut out),
            Coding::Brotli => brotli(body, level, &mut out),
            Coding::Deflate => None,
        };
        (out, packed)
    });
    let used = packed.filter(|()| out.len() < body.len()).map(|()| use_it(&out));
    kept::empty(&mut out);
    TOOLS.with_borrow_mut(|tools| tools.out = out);
    used
}

impl Tools {
    fn zstd(&mut self, body: &[u8], level: u8, out: &mut Vec<u8>) -> Option<()> {
        let compressor = match &mut self.zstd {
            Some((of, compressor)) if *of == level => compressor,
            other => &mut other.insert((level, Compressor::new(level.into()).ok()?)).1,
        };
        // what does not fit is not shorter
        out.reserve(body.len());
        compressor.compress_to_buffer(body, out).ok().map(|_| ())
    }

    fn gzip(&mut self, body: &[u8], level: u8, out: &mut Vec<u8>) -> Option<()> {
        out.reserve(body.len());
        out.extend_from_slice(&GZIP_HEAD);
        let compress = self.deflate(level);
        let done = compress.compress_vec(body, out, FlushCompress::Finish).ok()?;
        if done != flate2::Status::StreamEnd {
            return None;
        }
        let mut crc = flate2::Crc::new();
        crc.update(body);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&crc.amount().to_le_bytes());
        Some(())
    }

    fn deflate(&mut self, level: u8) -> &mut Compress {
        match &mut self.deflate {
            Some((of, compress)) if *of == level => compress.reset(),
            other => *other = Some((level, Compress::new(Compression::new(level.into()), false))),
        }
        let (_, compress) = self.deflate.as_mut().expect("it was just made");
        compress
    }
}

/// Without a compressor that is used again: what is packed so is packed once, and sent often.
fn brotli(body: &[u8], level: u8, out: &mut Vec<u8>) -> Option<()> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: level.into(),
        lgwin: BROTLI_WINDOW,
        size_hint: body.len(),
        ..brotli::enc::BrotliEncoderParams::default()
    };
    let mut writer = brotli::CompressorWriter::with_params(out, 64 << 10, &params);
    writer.write_all(body).ok()?;
    writer.into_inner();
    Some(())
}

/// Has this thread's compressor used, which begins anew and writes no header.
pub(crate) fn with_deflate<T>(level: u8, use_it: impl FnOnce(&mut Compress) -> T) -> T {
    TOOLS.with_borrow_mut(|tools| use_it(tools.deflate(level)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Decoder;
    use proptest::prelude::*;

    /// What a decoder of the other end makes of it.
    pub(crate) fn unpacked(bytes: &[u8], coding: Coding) -> Vec<u8> {
        let (mut decoder, mut all, mut rest) = (Decoder::new(coding, u32::MAX).unwrap(), Vec::new(), bytes);
        loop {
            let mut piece = [0; 1000];
            let (read, written) = decoder.step(rest, &mut piece).unwrap();
            rest = &rest[read..];
            all.extend_from_slice(&piece[..written]);
            if read == 0 && written == 0 {
                break;
            }
        }
        decoder.finish().unwrap();
        all
    }

    proptest! {
        // each takes long in a build without optimisation
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn what_is_packed_comes_back(
            words in proptest::collection::vec(0usize..4, 0..4000), gzip: bool, level in 1u8..=9
        ) {
            let body: Vec<u8> = words.iter().flat_map(|at| [&b"some "[..], b"words, ", b"again ", b"\0"][*at]).copied()
                .collect();
            let coding = if gzip { Coding::Gzip } else { Coding::Zstd };
            if let Some(packed) = pack(&body, coding, level, <[u8]>::to_vec) {
                prop_assert!(packed.len() < body.len());
                prop_assert_eq!(unpacked(&packed, coding), body);
            } else {
                prop_assert!(body.len() < 100, "{} bytes did not get shorter", body.len());
            }
        }
    }

    #[test]
    fn what_does_not_get_shorter_is_not_packed() {
        let mut seed = 1u64;
        let noise = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(5000).collect();
        for coding in [Coding::Zstd, Coding::Gzip] {
            assert_eq!(pack(&noise, coding, 3, <[u8]>::len), None);
            assert!(pack(&[b'x'; 5000], coding, 3, <[u8]>::len).unwrap() < 200, "the thread's tools still work");
        }
    }
}

//! Compression of messages (RFC 7692). Each is compressed for itself, without what came before ("no context takeover"),
//! so that a compressor belongs to a thread and not to a connection: it has 256 kB, and ten thousand connections are
//! not to have ten thousand of them.

use crate::close::Close;
use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// How messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deflate {
    /// of the window that this end compresses with
    pub bits: u8,
}

/// What a flush leaves at the end, which is not sent (section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// The library's least and largest window.
pub const LEAST_BITS: u8 = 9;
/// See [`LEAST_BITS`].
pub const MOST_BITS: u8 = 15;
/// Room that output is given at a time.
const STEP: usize = 4 << 10;

thread_local! {
    /// by bits of the window
    static COMPRESSORS: RefCell<[Option<Compress>; 7]> = const { RefCell::new([const { None }; 7]) };
    static DECOMPRESSOR: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

/// A message, compressed.
pub fn deflate(message: &[u8], bits: u8) -> Bytes {
    COMPRESSORS.with_borrow_mut(|all| {
        let bits = bits.clamp(LEAST_BITS, MOST_BITS);
        let one = all[usize::from(bits - LEAST_BITS)]
            .get_or_insert_with(|| Compress::new_with_window_bits(Compression::fast(), false, bits));
        one.reset();
        let mut out = Vec::with_capacity(message.len() / 2 + 64);
        loop {
            let used = one.total_in() as usize;
            // the one error is that of a stream that was never begun
            let _ = one.compress_vec(&message[used..], &mut out, FlushCompress::Sync);
            if one.total_in() as usize == message.len() && out.len() < out.capacity() {
                break;
            }
            out.reserve(STEP.max(out.len()));
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        out.into()
    })
}

/// A message, unpacked, which is to have at most `most` bytes.
///
/// # Errors
/// How the connection ends.
pub fn inflate(message: &[u8], most: usize) -> Result<Vec<u8>, Close> {
    DECOMPRESSOR.with_borrow_mut(|one| {
        let one = one.get_or_insert_with(|| Decompress::new_with_window_bits(false, MOST_BITS));
        one.reset(false);
        let mut out = Vec::with_capacity((4 * message.len()).clamp(STEP, 64 << 10).min(most + 1));
        for input in [message, &TAIL] {
            let begin = one.total_in();
            loop {
                let used = (one.total_in() - begin) as usize;
                let (had, made) = (one.total_in(), one.total_out());
                let status = one.decompress_vec(&input[used..], &mut out, FlushDecompress::Sync);
                if out.len() > most {
                    return Err(too_big(most));
                }
                match status {
                    Err(_) => return Err(Close::new(Close::INVALID, "a compressed message cannot be read")),
                    // a last block: nothing of this message comes behind it
                    Ok(Status::StreamEnd) => return Ok(out),
                    Ok(Status::Ok | Status::BufError) => {}
                }
                let all_used = (one.total_in() - begin) as usize == input.len();
                if all_used && out.len() < out.capacity() {
                    break;
                }
                if out.len() == out.capacity() {
                    // at most one byte more than it may have, so that it is seen to have more
                    out.reserve_exact(out.len().max(STEP).min(most + 1 - out.len()).max(1));
                } else if one.total_in() == had && one.total_out() == made {
                    return Err(Close::new(Close::INVALID, "a compressed message cannot be read"));
                }
            }
        }
        Ok(out)
    })
}

/// The message has more than `most` bytes.
pub fn too_big(most: usize) -> Close {
    Close::new(Close::TOO_BIG, &format!("a message has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let long: Vec<u8> = (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for message in [&b""[..], b"a", b"hello hello hello", &long, &[0; 300_000]] {
            for bits in LEAST_BITS..=MOST_BITS {
                let packed = deflate(message, bits);
                assert_eq!(inflate(&packed, message.len()).unwrap(), message, "{} {bits}", message.len());
            }
        }
        assert!(deflate(&[0; 300_000], 15).len() < 3000);
    }

    #[test]
    fn each_message_is_for_itself() {
        let once = deflate(b"the same again and again", 15);
        assert_eq!(once, deflate(b"the same again and again", 15));
        assert_eq!(inflate(&once, 100).unwrap(), inflate(&once, 100).unwrap());
    }

    #[test]
    fn what_is_too_long_or_damaged_is_refused() {
        let bomb = deflate(&vec![0; 10 << 20], 15);
        assert_eq!(inflate(&bomb, 1 << 20).unwrap_err().code, Close::TOO_BIG);
        assert_eq!(inflate(&bomb, (10 << 20) - 1).unwrap_err().code, Close::TOO_BIG);
        assert!(inflate(&bomb, 10 << 20).is_ok());
        assert_eq!(inflate(&[0xff; 20], 1000).unwrap_err().code, Close::INVALID);
        let sound = deflate(b"after it all is well", 15);
        assert!(inflate(&sound, 1000).is_ok());
    }
}

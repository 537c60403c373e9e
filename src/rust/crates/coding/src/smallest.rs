//! Files that are packed once and sent often: as small as a coding gets them, however long that takes.

use crate::whole::pack;
use crate::Coding;

/// Highest levels. Higher ones of zstd need windows that not every client has (RFC 9659).
const BROTLI: u8 = 11;
const ZSTD: u8 = 19;
const GZIP: u8 = 9;

/// The bytes in this coding; `None` when they do not get shorter, or the coding is not for files.
pub fn smallest(bytes: &[u8], coding: Coding) -> Option<Vec<u8>> {
    let level = match coding {
        Coding::Brotli => BROTLI,
        Coding::Zstd => ZSTD,
        Coding::Gzip => GZIP,
        Coding::Deflate => return None,
    };
    pack(bytes, coding, level, <[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole::tests::unpacked;
    use std::io::Read;

    #[test]
    fn files_get_smaller_and_come_back() {
        let text: Vec<u8> = (0..3000).flat_map(|i| format!("line {} of many\n", i % 97).into_bytes()).collect();
        let mut back = Vec::new();
        let packed = smallest(&text, Coding::Brotli).unwrap();
        brotli::Decompressor::new(&packed[..], 4096).read_to_end(&mut back).unwrap();
        assert!(back == text && packed.len() < text.len() / 20);
        for coding in [Coding::Zstd, Coding::Gzip] {
            assert!(unpacked(&smallest(&text, coding).unwrap(), coding) == text);
        }
        for coding in Coding::ALL {
            assert_eq!(smallest(b"x", coding), None, "{coding:?}");
        }
    }
}

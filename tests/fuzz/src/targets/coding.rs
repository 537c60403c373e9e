//! Packed bodies of requests: however they are cut, the same comes out, never more than a client may have unpacked;
//! what came out is packed and unpacked the same. And what `Accept-Encoding` says: what is chosen was offered.
//!
//! Input: the coding, sizes of pieces, the body.

use crate::input::Input;
use coding::{accepted, pack, Coding, Decoder, Pieces, Terms, Undecodable};

const RATIO: u32 = 50;
/// May come out of anything.
const FREE: usize = 1 << 20;

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let flags = input.byte();
    let coding = [Coding::Gzip, Coding::Zstd, Coding::Deflate][usize::from(flags) % 3];
    let cuts = input.cuts();
    let whole = unpack([input.0], coding, 64 << 10);
    let cut = unpack(input.pieces(&cuts), coding, 1 + usize::from(flags));
    // how far one that is too large gets depends on the steps
    if whole != Err(Undecodable::Bomb) && cut != Err(Undecodable::Bomb) {
        assert_eq!(whole, cut);
    }
    if let Ok(bytes) = &whole {
        again(bytes);
    }
    let offered = [Coding::Zstd, Coding::Gzip];
    assert!(accepted([input.0].into_iter(), &offered).iter().all(|chosen| offered.contains(chosen)));
    if let Some(terms) = Terms::read(input.0) {
        terms.allow(200, Some(input.0), [(&b"x"[..], input.0)].into_iter(), None);
    }
}

fn unpack<'i>(pieces: impl IntoIterator<Item = &'i [u8]>, coding: Coding, room: usize) -> Result<Vec<u8>, Undecodable> {
    let mut decoder = Decoder::new(coding, RATIO).expect("there is a decoder");
    let (mut out, mut room, mut came) = (Vec::new(), vec![0; room], 0);
    for piece in pieces {
        let mut rest = piece;
        came += piece.len();
        loop {
            let (read, written) = decoder.step(rest, &mut room)?;
            rest = &rest[read..];
            out.extend_from_slice(&room[..written]);
            assert!(out.len() <= FREE + RATIO as usize * came + room.len());
            if read == 0 && written == 0 {
                break;
            }
        }
        assert!(rest.is_empty(), "a decoder takes what it is given");
    }
    decoder.finish().map(|()| out)
}

fn again(bytes: &[u8]) {
    let all = |packed: &[u8], coding| {
        let mut decoder = Decoder::new(coding, u32::MAX).expect("there is a decoder");
        let mut room = vec![0; bytes.len() + 1];
        let (mut read, mut written) = (0, 0);
        loop {
            let (more, out) = decoder.step(&packed[read..], &mut room[written..]).expect("it was packed here");
            (read, written) = (read + more, written + out);
            if more == 0 && out == 0 {
                break;
            }
        }
        assert!(decoder.finish().is_ok() && room[..written] == *bytes);
    };
    for coding in [Coding::Gzip, Coding::Zstd] {
        pack(bytes, coding, 1, |packed| all(packed, coding));
    }
    let (mut pieces, mut packed) = (Pieces::new(1), Vec::new());
    for piece in bytes.chunks(1 + bytes.len() / 3) {
        pieces.pack(piece, &mut packed);
    }
    pieces.end(&mut packed);
    all(&packed, Coding::Gzip);
}

//! Frames of a WebSocket: however they are cut, they are read the same, what is read keeps its limits, and written
//! again as one frame each it is read again the same.
//!
//! Input: whether messages may be compressed, the longest message, sizes of pieces, then what the client sends.

use crate::input::Input;
use websocket::{Came, Reader};

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let compressed = input.byte() & 1 == 1;
    let most = usize::from(input.word());
    let cuts = input.cuts();
    let whole = read([input.0], most, compressed);
    assert_eq!(whole, read(input.pieces(&cuts), most, compressed));
    let (came, _) = whole;
    for one in &came {
        match one {
            Came::Message(message) => {
                assert!(message.bytes.len() <= most);
                assert!(!message.is_text || std::str::from_utf8(&message.bytes).is_ok());
            }
            Came::Ping(payload) => assert!(payload.len() <= 125),
            Came::Close(close) => assert!(close.reason.len() <= 123),
            Came::Pong => {}
        }
    }
    let again: Vec<u8> = came.iter().flat_map(frame).collect();
    assert_eq!(read([&again[..]], most, compressed), (came, None));
}

/// All that comes of the bytes, and the code of the close that ends it.
fn read<'i>(pieces: impl IntoIterator<Item = &'i [u8]>, most: usize, compressed: bool) -> (Vec<Came>, Option<u16>) {
    let (mut reader, mut came) = (Reader::default(), Vec::new());
    for piece in pieces {
        reader.add(piece);
        loop {
            match reader.next(most, compressed) {
                Ok(Some(next)) => {
                    came.push(next);
                    // nothing that comes behind it counts
                    if matches!(came.last(), Some(Came::Close(_))) {
                        return (came, None);
                    }
                }
                Ok(None) => break,
                Err(close) => return (came, Some(close.code)),
            }
        }
        // a message's frames so far, a control frame within it, a head
        assert!(reader.held() <= most + 125 + 14 + piece.len());
    }
    (came, None)
}

/// The frame of a client that says this, masked with a key.
fn frame(came: &Came) -> Vec<u8> {
    let (first, payload) = match came {
        Came::Message(message) => (if message.is_text { 0x81 } else { 0x82 }, message.bytes.to_vec()),
        Came::Ping(payload) => (0x89, payload.to_vec()),
        Came::Pong => (0x8a, Vec::new()),
        Came::Close(close) if close.code == 1005 => (0x88, Vec::new()),
        Came::Close(close) => (0x88, [&close.code.to_be_bytes()[..], close.reason.as_bytes()].concat()),
    };
    let key = [7, 0, 255, 90];
    let mut out = vec![first];
    match payload.len() {
        len @ 0..=125 => out.push(0x80 | len as u8),
        len @ 126..=65_535 => {
            out.push(0x80 | 126);
            out.extend((len as u16).to_be_bytes());
        }
        len => {
            out.push(0x80 | 127);
            out.extend((len as u64).to_be_bytes());
        }
    }
    out.extend(key);
    out.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
    out
}

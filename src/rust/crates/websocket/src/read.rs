//! From bytes to messages: frames are read, unmasked, put together and unpacked. What breaks the rules says how the
//! connection ends.

use crate::close::Close;
use crate::deflate::{inflate, too_big};
use crate::{Message, Role};
use bytes::{Buf, Bytes, BytesMut};
use std::io::Cursor;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::FrameHeader;

/// Longest payload of a control frame.
const MOST_OF_CONTROL: u64 = 125;

/// What has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    /// a whole message
    Message(Message),
    /// is to be answered with the same bytes
    Ping(Bytes),
    /// the answer to a ping
    Pong,
    /// the other end ends the connection; without a code it is [`Close::NO_CODE`]
    Close(Close),
}

/// See the module. Between messages it holds no memory.
#[derive(Debug, Default)]
pub struct Reader {
    role: Role,
    /// what has come and was not read yet
    buffer: BytesMut,
    /// a message of which frames are still to come
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    is_text: bool,
    is_compressed: bool,
    bytes: BytesMut,
    /// how much of it is known to be UTF-8
    valid: usize,
}

impl Reader {
    /// On this end.
    pub fn of(role: Role) -> Self {
        Reader { role, ..Reader::default() }
    }

    /// Bytes have come.
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes of what is not whole.
    pub fn held(&self) -> usize {
        self.buffer.len() + self.begun.as_ref().map_or(0, |begun| begun.bytes.len())
    }

    /// The next thing that is whole; `None` when more bytes are needed.
    ///
    /// # Errors
    /// How the connection ends.
    pub fn next(&mut self, max_message: usize, compressed: bool) -> Result<Option<Came>, Close> {
        loop {
            let Some((head, payload)) = self.frame(max_message, compressed)? else { return Ok(None) };
            match head.opcode {
                OpCode::Control(Control::Ping) => return Ok(Some(Came::Ping(payload))),
                OpCode::Control(Control::Pong) => return Ok(Some(Came::Pong)),
                OpCode::Control(_) => return close(&payload).map(|close| Some(Came::Close(close))),
                OpCode::Data(data) => {
                    if let Some(message) = self.put(data, &head, payload, max_message)? {
                        return Ok(Some(Came::Message(message)));
                    }
                }
            }
        }
    }

    /// The next frame, if all of it is here.
    fn frame(&mut self, max_message: usize, compressed: bool) -> Result<Option<(FrameHeader, Bytes)>, Close> {
        let mut cursor = Cursor::new(&self.buffer[..]);
        let parsed = FrameHeader::parse(&mut cursor).map_err(|_| wrong("a frame of an unknown kind"))?;
        let Some((head, len)) = parsed else {
            self.rest();
            return Ok(None);
        };
        let before = cursor.position() as usize;
        if before != head.len(len) {
            return Err(wrong("a length has more bytes than it needs"));
        }
        let is_control = matches!(head.opcode, OpCode::Control(_));
        let goes_on = matches!(head.opcode, OpCode::Data(Data::Continue));
        if head.rsv2 || head.rsv3 || (head.rsv1 && (!compressed || is_control || goes_on)) {
            return Err(wrong("a reserved bit is set"));
        }
        if is_control && (!head.is_final || len > MOST_OF_CONTROL) {
            return Err(wrong("a control frame is too long, or in parts"));
        }
        if head.mask.is_some() != (self.role == Role::Server) {
            return Err(wrong(if head.mask.is_none() { "a frame is not masked" } else { "a frame is masked" }));
        }
        if !is_control {
            match (&self.begun, goes_on) {
                (None, true) => return Err(wrong("a message goes on that has not begun")),
                (Some(_), false) => return Err(wrong("a message begins within another")),
                _ => {}
            }
            let had = self.begun.as_ref().map_or(0, |begun| begun.bytes.len()) as u64;
            if had.saturating_add(len) > max_message as u64 {
                return Err(too_big(max_message));
            }
        }
        let len = len as usize;
        if self.buffer.len() < before + len {
            // the buffer grows with the bytes received, not to the length that the peer announces
            return Ok(None);
        }
        self.buffer.advance(before);
        let mut payload = self.buffer.split_to(len);
        if len > kept::OF_ONE {
            // what has come after it does not keep its memory
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        if let Some(mask) = head.mask {
            unmask(&mut payload, mask);
        }
        Ok(Some((head, payload.freeze())))
    }

    /// Nothing more can be read of what is here: an idle connection keeps no buffer.
    fn rest(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }

    /// A part of a message. The message, when that was the last of it.
    fn put(
        &mut self,
        data: Data,
        head: &FrameHeader,
        payload: Bytes,
        max_message: usize,
    ) -> Result<Option<Message>, Close> {
        let begun = match self.begun.take() {
            Some(mut begun) => {
                begun.bytes.extend_from_slice(&payload);
                begun
            }
            None if head.is_final => {
                return whole(data == Data::Text, head.rsv1, payload, 0, max_message).map(Some);
            }
            None => Begun {
                is_text: data == Data::Text,
                is_compressed: head.rsv1,
                bytes: BytesMut::from(&payload[..]),
                valid: 0,
            },
        };
        if head.is_final {
            let Begun { is_text, is_compressed, bytes, valid } = begun;
            return whole(is_text, is_compressed, bytes.freeze(), valid, max_message).map(Some);
        }
        self.begun = Some(begun.checked()?);
        Ok(None)
    }
}

impl Begun {
    /// What is not UTF-8 is refused as soon as that is known.
    fn checked(mut self) -> Result<Self, Close> {
        if self.is_text && !self.is_compressed {
            match std::str::from_utf8(&self.bytes[self.valid..]) {
                Ok(text) => self.valid += text.len(),
                Err(e) if e.error_len().is_none() => self.valid += e.valid_up_to(),
                Err(_) => return Err(not_text()),
            }
        }
        Ok(self)
    }
}

/// A whole message, of which the first `valid` bytes are known to be UTF-8.
fn whole(is_text: bool, is_compressed: bool, bytes: Bytes, valid: usize, max_message: usize) -> Result<Message, Close> {
    let bytes = if is_compressed { inflate(&bytes, max_message)?.into() } else { bytes };
    if is_text && std::str::from_utf8(&bytes[valid..]).is_err() {
        return Err(not_text());
    }
    Ok(Message { is_text, bytes })
}

/// The word with which the other end ends the connection.
fn close(payload: &[u8]) -> Result<Close, Close> {
    match payload {
        [] => Ok(Close { code: Close::NO_CODE, reason: String::new() }),
        [_] => Err(wrong("a close of one byte")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !Close::may_be_sent(code) {
                return Err(wrong("a close with a code that is not for sending"));
            }
            let reason = std::str::from_utf8(reason).map_err(|_| not_text())?;
            Ok(Close::new(code, reason))
        }
    }
}

fn wrong(why: &str) -> Close {
    Close::new(Close::PROTOCOL_ERROR, why)
}

fn not_text() -> Close {
    Close::new(Close::INVALID, "a text is not UTF-8")
}

/// Takes a mask off, or puts it on. In words of 8 bytes: a message of a megabyte is not to be gone through byte by
/// byte.
pub fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let mut one = [0; 8];
        one.copy_from_slice(word);
        word.copy_from_slice(&(u64::from_ne_bytes(one) ^ wide).to_ne_bytes());
    }
    words.into_remainder().iter_mut().zip(mask.into_iter().cycle()).for_each(|(byte, key)| *byte ^= key);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deflate::deflate;
    use proptest::prelude::*;

    const MASK: [u8; 4] = [1, 2, 3, 250];

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
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
        out.extend(MASK);
        out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
        out
    }

    fn text(text: &str) -> Came {
        Came::Message(Message { is_text: true, bytes: Bytes::copy_from_slice(text.as_bytes()) })
    }

    /// All that comes of bytes, to the close that ends it.
    fn read(bytes: &[u8], max_message: usize) -> (Vec<Came>, Option<u16>) {
        let mut reader = Reader::default();
        reader.add(bytes);
        let mut came = Vec::new();
        loop {
            match reader.next(max_message, true) {
                Ok(Some(next)) => came.push(next),
                Ok(None) => return (came, None),
                Err(close) => return (came, Some(close.code)),
            }
        }
    }

    #[test]
    fn messages_in_parts_with_pings_in_between() {
        let bytes = [frame(0x01, b"hel"), frame(0x89, b"?"), frame(0x00, b""), frame(0x80, b"lo")].concat();
        assert_eq!(read(&bytes, 5), (vec![Came::Ping("?".into()), text("hello")], None));
        assert_eq!(read(&bytes, 4).1, Some(1009));
        let compressed = deflate("é".repeat(300).as_bytes(), 15);
        let (one, two) = compressed.split_at(3);
        let bytes = [frame(0x41, one), frame(0x80, two), frame(0xc1, &compressed), frame(0x8a, b"")].concat();
        let long = "é".repeat(300);
        assert_eq!(read(&bytes, 600).0, [text(&long), text(&long), Came::Pong]);
        assert_eq!(read(&bytes, 599).1, Some(1009));
    }

    #[test]
    fn what_breaks_the_rules_ends_the_connection() {
        let cases: [(&[u8], u16); 14] = [
            (&[0x81, 0x01, b'x'], 1002),
            (&frame(0x83, b""), 1002),
            (&frame(0x8b, b""), 1002),
            (&frame(0x91, b""), 1002),
            (&frame(0xa1, b""), 1002),
            (&frame(0xc9, b""), 1002),
            (&frame(0x09, b""), 1002),
            (&frame(0x89, &[0; 126]), 1002),
            (&frame(0x80, b"x"), 1002),
            (&[frame(0x01, b"x"), frame(0x81, b"y")].concat(), 1002),
            (&frame(0x81, b"\xc3\x28"), 1007),
            (&frame(0x01, b"\xc3\x28"), 1007),
            (&frame(0x88, b"x"), 1002),
            (&frame(0x88, &1005u16.to_be_bytes()), 1002),
        ];
        for (bytes, code) in cases {
            assert_eq!(read(bytes, 1000), (vec![], Some(code)), "{bytes:?}");
        }
        assert_eq!(read(&frame(0x82, &[0; 1001]), 1000).1, Some(1009));
        // known before the payload has come
        assert_eq!(read(&frame(0x82, &[0; 70_000])[..14], 1000).1, Some(1009));
    }

    #[test]
    fn closes_say_why() {
        let close = |code, reason: &str| Came::Close(Close { code, reason: reason.to_owned() });
        assert_eq!(read(&frame(0x88, b""), 10).0, [close(1005, "")]);
        assert_eq!(read(&frame(0x88, b"\x0f\xa0bye"), 10).0, [close(4000, "bye")]);
        assert_eq!(read(&frame(0x88, b"\x0f\xa0\xff"), 10).1, Some(1007));
    }

    #[test]
    fn an_idle_reader_holds_no_memory() {
        let mut reader = Reader::default();
        reader.add(&frame(0x82, &[0; 70_000]));
        let came = reader.next(1 << 20, false);
        assert!(matches!(came, Ok(Some(Came::Message(message))) if message.bytes.len() == 70_000));
        assert_eq!(reader.next(1 << 20, false), Ok(None));
        assert_eq!((reader.buffer.capacity(), reader.begun.is_none()), (0, true));
    }

    #[test]
    fn part_of_the_next_message_does_not_keep_the_memory_of_a_long_one() {
        let mut reader = Reader::default();
        let next = frame(0x82, b"next");
        reader.add(&[frame(0x82, &[0; 1 << 20]), next[..5].to_vec()].concat());
        assert!(matches!(reader.next(1 << 20, false), Ok(Some(Came::Message(_)))));
        assert_eq!(reader.next(1 << 20, false), Ok(None));
        assert!(!reader.buffer.try_reclaim(1 << 19), "it could have the room of that message");
        reader.add(&next[5..]);
        assert!(matches!(reader.next(10, false), Ok(Some(Came::Message(message))) if message.bytes == "next"));
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_is_the_same(cuts in proptest::collection::vec(1usize..200, 1..40)) {
            let long = "a€".repeat(300);
            let frames = [
                frame(0x01, &long.as_bytes()[..500]), frame(0x8a, b"x"), frame(0x80, &long.as_bytes()[500..]),
                frame(0x82, &[7; 300]), frame(0x89, b"yz"), frame(0x81, b""), frame(0x88, b"\x03\xe8"),
            ];
            let bytes = frames.concat();
            let mut reader = Reader::default();
            let (mut came, mut at) = (Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                let to = bytes.len().min(at + cut);
                reader.add(&bytes[at..to]);
                at = to;
                while let Some(next) = reader.next(10_000, false).unwrap() {
                    came.push(next);
                }
                if at == bytes.len() {
                    break;
                }
            }
            prop_assert_eq!(came, read(&bytes, 10_000).0);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            read(&bytes, 100);
        }

        #[test]
        fn masking_twice_is_nothing(mut bytes in proptest::collection::vec(any::<u8>(), 0..40), mask: [u8; 4]) {
            let before = bytes.clone();
            unmask(&mut bytes, mask);
            let expected: Vec<u8> = before.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m).collect();
            prop_assert_eq!(&bytes, &expected);
            unmask(&mut bytes, mask);
            prop_assert_eq!(bytes, before);
        }
    }
}

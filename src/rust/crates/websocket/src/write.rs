//! From messages to bytes: the heads of frames, and the masks of clients.

use crate::close::Close;
use crate::read::unmask;
use bytes::Bytes;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::FrameHeader;

/// Below this many bytes, compression makes messages longer, or not much shorter.
pub const WORTH_IT: usize = 64;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// a message of text
    Text {
        /// see [`deflate`](crate::deflate)
        is_compressed: bool,
    },
    /// a message of bytes
    Binary {
        /// see [`deflate`](crate::deflate)
        is_compressed: bool,
    },
    /// asks whether the other end is there
    Ping,
    /// the answer to that
    Pong,
    /// the last word
    Close,
}

impl Kind {
    /// Of a message.
    pub fn of(is_text: bool, is_compressed: bool) -> Self {
        if is_text {
            Kind::Text { is_compressed }
        } else {
            Kind::Binary { is_compressed }
        }
    }
}

/// Appends the head of a frame with `len` bytes of payload to `out`. `mask`: of a client's frame.
pub fn head(kind: Kind, len: usize, mask: Option<[u8; 4]>, out: &mut Vec<u8>) {
    let (opcode, rsv1) = match kind {
        Kind::Text { is_compressed } => (OpCode::Data(Data::Text), is_compressed),
        Kind::Binary { is_compressed } => (OpCode::Data(Data::Binary), is_compressed),
        Kind::Ping => (OpCode::Control(Control::Ping), false),
        Kind::Pong => (OpCode::Control(Control::Pong), false),
        Kind::Close => (OpCode::Control(Control::Close), false),
    };
    let head = FrameHeader { is_final: true, rsv1, rsv2: false, rsv3: false, opcode, mask };
    // memory takes all that is written to it
    let _ = head.format(len as u64, out);
}

/// Appends the frame of a client to `out`.
pub fn masked(kind: Kind, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    head(kind, payload.len(), Some(mask), out);
    let from = out.len();
    out.extend_from_slice(payload);
    unmask(&mut out[from..], mask);
}

impl Close {
    /// The payload of the frame that says so: empty for a code that is not for sending.
    pub fn payload(&self) -> Bytes {
        let mut payload = Vec::new();
        if Close::may_be_sent(self.code) {
            payload.extend_from_slice(&self.code.to_be_bytes());
            payload.extend_from_slice(self.reason.as_bytes());
        }
        payload.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Came, Message, Reader, Role};

    #[test]
    fn what_a_client_writes_is_read_by_a_server_and_by_no_client() {
        for len in [0, 1, 7, 125, 126, 65_535, 65_536, 100_000] {
            let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut out = Vec::new();
            masked(Kind::of(false, false), &payload, [1, 2, 3, 4], &mut out);
            let read = |role| {
                let mut reader = Reader::of(role);
                reader.add(&out);
                reader.next(1 << 20, false)
            };
            let whole = Message { is_text: false, bytes: payload.clone().into() };
            assert_eq!(read(Role::Server), Ok(Some(Came::Message(whole.clone()))));
            assert_eq!(read(Role::Client).unwrap_err().code, Close::PROTOCOL_ERROR);
            out.clear();
            head(Kind::of(false, false), len, None, &mut out);
            out.extend(&payload);
            let mut reader = Reader::of(Role::Client);
            reader.add(&out);
            assert_eq!(reader.next(1 << 20, false), Ok(Some(Came::Message(whole))));
        }
    }

    #[test]
    fn closes_have_the_codes_that_may_be_sent() {
        assert_eq!(&Close::new(4000, "bye").payload()[..], b"\x0f\xa0bye");
        assert!(Close::new(Close::ABNORMAL, "gone").payload().is_empty());
    }
}

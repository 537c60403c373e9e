//! From messages to bytes. Frames of a server are not masked, so one serves all connections.

use super::close::Close;
use super::deflate::{deflate, MOST_BITS};
use super::handshake::Deflate;
use super::line::Line;
use bytes::Bytes;
use exchange::Packet;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::FrameHeader;

/// Below so many bytes compression makes messages longer, or not much shorter.
const WORTH_IT: usize = 64;

/// Adds a message to what is to be sent.
pub fn message(packet: &Packet, compression: Option<Deflate>, line: &mut impl Line) {
    let opcode = OpCode::Data(if packet.is_text { Data::Text } else { Data::Binary });
    let compressed = compression.filter(|_| packet.payload.len() >= WORTH_IT).map(|Deflate { bits }| {
        if bits == MOST_BITS {
            packet.deflated(|payload| deflate(payload, bits))
        } else {
            deflate(&packet.payload, bits)
        }
    });
    match compressed.filter(|bytes| bytes.len() < packet.payload.len()) {
        Some(bytes) => frame(opcode, true, bytes, line),
        None => frame(opcode, false, packet.payload.clone(), line),
    }
}

/// Adds a ping without a payload.
pub fn ping(line: &mut impl Line) {
    frame(OpCode::Control(Control::Ping), false, Bytes::new(), line);
}

/// Adds the answer to a ping.
pub fn pong(payload: Bytes, line: &mut impl Line) {
    frame(OpCode::Control(Control::Pong), false, payload, line);
}

/// Adds the word that ends the connection.
pub fn close(close: &Close, line: &mut impl Line) {
    let mut payload = Vec::new();
    if Close::may_be_sent(close.code) {
        payload.extend_from_slice(&close.code.to_be_bytes());
        payload.extend_from_slice(close.reason.as_bytes());
    }
    frame(OpCode::Control(Control::Close), false, payload.into(), line);
}

fn frame(opcode: OpCode, rsv1: bool, payload: Bytes, line: &mut impl Line) {
    let head = FrameHeader { is_final: true, rsv1, rsv2: false, rsv3: false, opcode, mask: None };
    // memory takes all that is written to it
    let _ = head.format(payload.len() as u64, line.output());
    line.push(payload);
}

//! From messages to bytes. Frames of a server are not masked, so one serves all connections.

use super::line::Line;
use bytes::Bytes;
use exchange::Packet;
use websocket::{deflate, head, Close, Deflate, Kind, MOST_BITS, WORTH_IT};

/// Adds a message to what is to be sent.
pub fn message(packet: &Packet, compression: Option<Deflate>, line: &mut impl Line) {
    let compressed = compression.filter(|_| packet.payload.len() >= WORTH_IT).map(|Deflate { bits }| {
        if bits == MOST_BITS {
            packet.deflated(|payload| deflate(payload, bits))
        } else {
            packet.deflated_apart(|payload| deflate(payload, bits))
        }
    });
    match compressed.filter(|bytes| bytes.len() < packet.payload.len()) {
        Some(bytes) => frame(Kind::of(packet.is_text, true), bytes, line),
        None => frame(Kind::of(packet.is_text, false), packet.payload.clone(), line),
    }
}

/// Adds a ping without a payload.
pub fn ping(line: &mut impl Line) {
    frame(Kind::Ping, Bytes::new(), line);
}

/// Adds the answer to a ping.
pub fn pong(payload: Bytes, line: &mut impl Line) {
    frame(Kind::Pong, payload, line);
}

/// Adds the word that ends the connection.
pub fn close(close: &Close, line: &mut impl Line) {
    frame(Kind::Close, close.payload(), line);
}

fn frame(kind: Kind, payload: Bytes, line: &mut impl Line) {
    head(kind, payload.len(), None, line.output());
    line.push(payload);
}

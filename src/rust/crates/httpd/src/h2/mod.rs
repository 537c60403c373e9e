//! HTTP/2 without TLS, for clients that know it. The frames, their order and their windows are the library's; what
//! requests and responses may take of the server is ours.
//!
//! ```text
//! socket ─▶ io ─▶ frames (counted) ─▶ library ─▶ connection ─▶ pipeline ─▶ stream ─▶ piece ─▶ library ─▶ io ─▶ socket
//! ```

mod connection;
mod frames;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod io;
mod piece;
mod stream;
mod websocket_line;

pub use connection::serve;

/// What a client with prior knowledge of HTTP/2 begins with (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whether the first bytes of a connection are those of HTTP/2; `None` while that cannot be told.
pub fn recognise(bytes: &[u8]) -> Option<bool> {
    let n = bytes.len().min(PREFACE.len());
    if bytes[..n] != PREFACE[..n] {
        return Some(false);
    }
    (n == PREFACE.len()).then_some(true)
}

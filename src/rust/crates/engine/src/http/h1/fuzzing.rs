//! What the fuzz targets of `tests/fuzz` see of HTTP/1.1, and of the replies that it sends. Compiled with `--cfg fuzzing` only; no
//! part of this crate's interface.

use super::encode::{framing, head};
use crate::head::Fields;
use crate::http::line::Line;
use crate::http::socket::Socket;
use crate::http::state::Connection;
use crate::respond::from_reply;
use bytes::Bytes;
use http::Method;
use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use super::body::{BodyReader, Piece};
pub use super::encode::Asked;
pub use super::head::{BodyLength, Framing, HeadReader};
pub use super::Refusal;
pub use crate::config::ErrorFormat;
pub use crate::head::{Head, Version};
pub use crate::respond::{failure, pipe, Body, ErrorBodies, Failure, Replied, Response, ResponseFields};

/// What the reply of a worker comes to, of which no file is at hand.
pub fn replied(message: Bytes) -> Replied {
    from_reply(message, None, &Method::GET, &Fields::default())
}

/// What a line takes behind another piece before it is flushed, which there is no socket for.
const PIECE: usize = 4 << 10;

/// What a client is sent for a response whose body comes in these pieces. `None` when they are not the body that
/// the head announces.
pub fn sent(response: &Response, asked: Asked, pieces: impl IntoIterator<Item = Bytes>) -> Option<Vec<u8>> {
    // of the socket nothing is needed but that there is one
    let nowhere = OwnedFd::from(File::open("/dev/null").ok()?);
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    let mut line = Line::new(Socket::new(nowhere.into()), Arc::new(Connection::new(peer)));
    let mut framed = framing(response, asked);
    head(response, framed, asked, line.output());
    let mut pieces = pieces.into_iter().flat_map(cut);
    let whole = pieces.all(|piece| framed.write(piece, &mut line)) && framed.end(&mut line);
    whole.then(|| std::mem::take(line.output()))
}

fn cut(mut piece: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!piece.is_empty()).then(|| piece.split_to(piece.len().min(PIECE))))
}

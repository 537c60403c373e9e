//! What the fuzz targets of `tests/fuzz` see of HTTP/1.1. Compiled with the feature `fuzzing` only; no part of this
//! crate's interface.

use super::encode::{framing, head};
use crate::connection::Connection;
use crate::listen::{Peer, Role};
use crate::response::{Response, ResponseFields};
use crate::shared::Shared;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::transport::Transport;
use bytes::Bytes;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock};

pub use super::body::{BodyReader, Piece};
pub use super::encode::Asked;
pub use super::head::{BodyLength, Framing, HeadReader};
pub use super::Refusal;

static SERVER: LazyLock<Arc<Shared>> = LazyLock::new(|| {
    let log = observe::Log::open("none", observe::Screen::default()).expect("no log needs nothing");
    Arc::new(Shared::new(admission::Limits::default(), "/nowhere".into(), log, 1, 64))
});

/// What a transport takes behind another piece before it is flushed, which there is no socket for.
const PIECE: usize = 4 << 10;

/// What a client is sent for a response whose body comes in these pieces. `None` when they are not the body that
/// the head announces.
pub fn sent(response: &Response, asked: Asked, pieces: impl IntoIterator<Item = Bytes>) -> Option<Vec<u8>> {
    // of the socket nothing is needed but that there is one
    let nowhere = OwnedFd::from(File::open("/dev/null").ok()?);
    let connection = Arc::new(Connection::new(Peer::Unix, Role::App, SERVER.clone()));
    let mut io = Transport::new(Stream::Plain(Socket::new(nowhere, Peer::Unix.into())), connection);
    let mut framed = framing(response, asked);
    head(response, framed, asked, io.output());
    let mut pieces = pieces.into_iter().flat_map(cut);
    let whole = pieces.all(|piece| framed.write(piece, &mut io)) && framed.end(&ResponseFields::default(), &mut io);
    whole.then(|| std::mem::take(io.output()))
}

fn cut(mut piece: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!piece.is_empty()).then(|| piece.split_to(piece.len().min(PIECE))))
}

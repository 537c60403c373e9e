//! Replies that are too long for the ring: the body goes to a file, which the server sends and removes. So a worker is free as
//! soon as it has written its reply, however slowly the client reads, and the server's memory does not grow with it.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use wire::{ContentType, Reply, ReplyBody, ReplyHead, LONGEST_REPLY};

/// Bodies above this wait in a file.
pub(crate) const SPOOL_ABOVE: usize = 1 << 20;

/// The message with its body moved to a file in `folder`; a failure in its place when that cannot be done.
pub(crate) fn spooled(message: &[u8], folder: Option<&Path>) -> Vec<u8> {
    let moved = match (Reply::decode(message), folder) {
        (Ok(reply), Some(folder)) => move_body(&reply, folder),
        _ => Err(io::Error::other("there is no folder for it")),
    };
    match moved {
        Ok(short) if short.len() <= LONGEST_REPLY => short,
        Ok(_) => failure(500, b""),
        Err(e) if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            failure(507, b"the response does not fit on the server's disk")
        }
        Err(_) => failure(500, b""),
    }
}

fn move_body(reply: &Reply<'_>, folder: &Path) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let head = ReplyHead { status: reply.status, content_type: reply.content_type };
    let ReplyBody::Bytes(body) = reply.body else { return Err(io::Error::other("it is long without a body")) };
    // by the process id the server finds what is left when this process is killed now
    let prefix = format!("drover-reply-{}-", std::process::id());
    let mut file = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
    file.write_all(body)?;
    let (_, path) = file.keep().map_err(|e| e.error)?;
    let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    head.encode(ReplyBody::Spooled(name), || reply.headers(), &mut out);
    Ok(out)
}

fn failure(status: u16, detail: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = ReplyHead { status, content_type: ContentType::None };
    head.encode(ReplyBody::Failure(detail), std::iter::empty, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> Vec<u8> {
        let mut message = Vec::new();
        let headers: [(&[u8], &[u8]); 1] = [(b"x-a", b"1")];
        let head = ReplyHead { status: 201, content_type: ContentType::Text };
        head.encode(ReplyBody::Bytes(&[b'x'; 100]), || headers.iter().copied(), &mut message);
        message
    }

    #[test]
    fn the_body_is_in_the_file_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let message = spooled(&long(), Some(folder.path()));
        let reply = Reply::decode(&message).unwrap();
        assert_eq!((reply.status, reply.content_type), (201, ContentType::Text));
        assert_eq!(reply.headers().collect::<Vec<_>>(), [(&b"x-a"[..], &b"1"[..])]);
        let ReplyBody::Spooled(name) = reply.body else { panic!("{:?}", reply.body) };
        let path = folder.path().join(std::str::from_utf8(name).unwrap());
        assert_eq!(std::fs::read(path).unwrap(), [b'x'; 100]);
    }

    #[test]
    fn without_a_place_for_it_the_client_is_told_so() {
        for folder in [None, Some(Path::new("/nowhere"))] {
            let message = spooled(&long(), folder);
            let reply = Reply::decode(&message).unwrap();
            assert_eq!((reply.status, reply.body), (500, ReplyBody::Failure(b"")));
        }
    }
}

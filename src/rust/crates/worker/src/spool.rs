//! Replies that are too long for the ring: the body goes to a file without a name, whose descriptor the server gets and
//! sends from. So a worker is free as soon as it has written its reply, however slowly the client reads, and the
//! server's memory does not grow with it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use wire::{ContentType, Reply, ReplyBody, ReplyHead, LONGEST_REPLY};

/// Bodies above this wait in a file.
pub(crate) const SPOOL_ABOVE: usize = 1 << 20;

/// The message with its body moved to a file on the disk of `folder`, and the file; a failure in its place when that
/// cannot be done.
pub(crate) fn spooled(message: &[u8], folder: Option<&Path>) -> (Vec<u8>, Option<File>) {
    let moved = match (Reply::decode(message), folder) {
        (Ok(reply), Some(folder)) => move_body(&reply, folder),
        _ => Err(io::Error::other("there is no folder for it")),
    };
    match moved {
        Ok((short, file)) if short.len() <= LONGEST_REPLY => (short, Some(file)),
        Ok(_) => (failure(500, b""), None),
        Err(e) if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            (failure(507, b"the response does not fit on the server's disk"), None)
        }
        Err(_) => (failure(500, b""), None),
    }
}

fn move_body(reply: &Reply<'_>, folder: &Path) -> io::Result<(Vec<u8>, File)> {
    let mut out = Vec::new();
    let head = ReplyHead { status: reply.status, content_type: reply.content_type };
    let ReplyBody::Bytes(body) = reply.body else { return Err(io::Error::other("it is long without a body")) };
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(body)?;
    head.encode(ReplyBody::Spooled, || reply.headers(), &mut out);
    Ok((out, file))
}

/// A failure as a message.
pub(crate) fn failure(status: u16, detail: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = ReplyHead { status, content_type: ContentType::None };
    head.encode(ReplyBody::Failure(detail), std::iter::empty, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

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
        let (message, file) = spooled(&long(), Some(folder.path()));
        let reply = Reply::decode(&message).unwrap();
        assert_eq!((reply.status, reply.content_type), (201, ContentType::Text));
        assert_eq!(reply.headers().collect::<Vec<_>>(), [(&b"x-a"[..], &b"1"[..])]);
        assert_eq!(reply.body, ReplyBody::Spooled);
        let mut body = [0; 101];
        assert_eq!(file.unwrap().read_at(&mut body, 0).unwrap(), 100);
        assert_eq!(body[..100], [b'x'; 100]);
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "it has a name");
    }

    #[test]
    fn without_a_place_for_it_the_client_is_told_so() {
        for folder in [None, Some(Path::new("/nowhere"))] {
            let (message, file) = spooled(&long(), folder);
            assert!(file.is_none());
            let reply = Reply::decode(&message).unwrap();
            assert_eq!((reply.status, reply.body), (500, ReplyBody::Failure(b"")));
        }
    }
}

//! Replies whose bodies are packed before they are sent, by the terms that came with their requests: here, in the
//! process and on the thread that have the answer, so that no thread of the server is held up by a long body.
//! Neighbours: `coding` (which may be packed, and how), `worker` and `sink` (which send what comes of it).

use coding::{pack, Coding, Pieces, Terms};
use wire::{Reply, ReplyBody, ReplyHead};

/// The message of a reply with its body packed. `None` when it is to go as it is.
pub(crate) fn packed(message: &[u8], terms: &[u8]) -> Option<Vec<u8>> {
    let terms = Terms::read(terms)?;
    let reply = Reply::decode(message).ok()?;
    let (coding, level) = terms.whole?;
    let ReplyBody::Bytes(body) = reply.body else { return None };
    if !allows(&terms, &reply, Some(body.len() as u64)) {
        return None;
    }
    pack(body, coding, level, |packed| encode(&reply, coding, ReplyBody::Bytes(packed)))
}

/// The message of the head of a stream that is packed, and what packs it. `None` when it is to go as it is.
pub(crate) fn packed_stream(head: &[u8], terms: &[u8]) -> Option<(Vec<u8>, Pieces)> {
    let terms = Terms::read(terms)?;
    let level = terms.streams?;
    let reply = Reply::decode(head).ok()?;
    allows(&terms, &reply, None).then(|| (encode(&reply, Coding::Gzip, ReplyBody::Stream), Pieces::new(level)))
}

fn allows(terms: &Terms<'_>, reply: &Reply<'_>, len: Option<u64>) -> bool {
    terms.allow(reply.status, reply.content_type.value(), reply.headers(), len)
}

fn encode(reply: &Reply<'_>, coding: Coding, body: ReplyBody<'_>) -> Vec<u8> {
    let fields: Vec<_> = Terms::fields(coding, reply.headers()).collect();
    let head = ReplyHead { status: reply.status, content_type: reply.content_type };
    let mut out = Vec::new();
    head.encode(body, || fields.iter().map(|(name, value)| (*name, &value[..])), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use coding::{Levels, Rules};
    use wire::ContentType;

    fn message(body: ReplyBody<'_>, headers: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        ReplyHead { status: 200, content_type: ContentType::Json }.encode(body, || headers.iter().copied(), &mut out);
        out
    }

    fn terms(whole: Option<Coding>, streams: bool) -> Vec<u8> {
        Rules { levels: Levels { brotli: 1, zstd: 1, gzip: 1 }, min_size: 100, cookies: false, types: Vec::new() }
            .terms(whole, streams)
    }

    #[test]
    fn a_body_is_packed_and_its_head_says_so() {
        let etag: (&[u8], &[u8]) = (b"etag", b"\"1\"");
        let body = [b'x'; 1000];
        let plain = message(ReplyBody::Bytes(&body), &[etag]);
        for coding in [Coding::Gzip, Coding::Zstd] {
            let packed = packed(&plain, &terms(Some(coding), false)).unwrap();
            let reply = Reply::decode(&packed).unwrap();
            assert_eq!((reply.status, reply.content_type), (200, ContentType::Json));
            let fields = [(&b"etag"[..], &b"W/\"1\""[..]), (b"content-encoding", coding.name().as_bytes())];
            assert_eq!(reply.headers().collect::<Vec<_>>(), fields);
            assert!(matches!(reply.body, ReplyBody::Bytes(body) if body.len() < 100));
        }
        assert!(packed(&plain, b"").is_none() && packed(&plain, &terms(None, true)).is_none());
        let short = message(ReplyBody::Bytes(&body[..99]), &[]);
        assert!(packed(&short, &terms(Some(Coding::Gzip), true)).is_none());
        let cookie = message(ReplyBody::Bytes(&body), &[(b"Set-Cookie", b"a=1")]);
        assert!(packed(&cookie, &terms(Some(Coding::Gzip), true)).is_none());
    }

    #[test]
    fn other_kinds_of_replies_go_as_they_are() {
        let long = [b'x'; 1000];
        for body in [ReplyBody::File(&long), ReplyBody::Failure(&long), ReplyBody::Spooled, ReplyBody::Stream] {
            assert!(packed(&message(body, &[]), &terms(Some(Coding::Gzip), true)).is_none(), "{body:?}");
        }
        assert!(packed(&long, &terms(Some(Coding::Gzip), true)).is_none(), "no message");
    }

    #[test]
    fn streams_are_packed_where_the_client_takes_gzip() {
        let head = message(ReplyBody::Stream, &[]);
        assert!(packed_stream(&head, &terms(Some(Coding::Zstd), false)).is_none());
        let (packed, _) = packed_stream(&head, &terms(None, true)).unwrap();
        let reply = Reply::decode(&packed).unwrap();
        assert_eq!(reply.body, ReplyBody::Stream);
        assert_eq!(reply.headers().collect::<Vec<_>>(), [(&b"content-encoding"[..], &b"gzip"[..])]);
    }
}

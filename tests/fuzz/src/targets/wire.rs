//! Messages between server and worker: any bytes are a message or are refused; what is a message is written and read
//! again the same.
//!
//! Input: which message, whether its bytes follow or what it is to say, then those.

use crate::input::Input;
use wire::control::{WorkerNews, WorkerOrder, ZygoteNews, ZygoteOrder};
use wire::stream::{Order, Part, LONGEST_PIECE};
use wire::{stamp, BodyRef, ContentType, Notice, Reply, ReplyBody, ReplyHead, Request, RequestHead, WireError};

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 6 {
        0 => {
            request(input.0);
            reply(input.0);
            stream(input.0);
        }
        1 => control(input.0),
        2 => request(&words(input.0)),
        3 => reply(&words(input.0)),
        4 => written_request(input),
        _ => written_reply(input),
    }
}

/// Each byte as a word, up to the byte 255, behind which they are as they are: lengths that fit are found sooner.
fn words(bytes: &[u8]) -> Vec<u8> {
    let mut input = Input(bytes);
    let words = input.until(255);
    words.iter().flat_map(|&b| u32::from(b).to_ne_bytes()).chain(input.0.iter().copied()).collect()
}

fn request(bytes: &[u8]) {
    let Ok(read) = Request::decode(bytes) else { return };
    assert_eq!(Request::peek(bytes), read.head.route);
    assert!(Order::decode(bytes).is_none(), "a request is taken for an order");
    let params: Vec<_> = read.params().collect();
    let mut out = Vec::new();
    read.head.encode(&params, || read.headers(), &mut out);
    same_request(&read, &Request::decode(&out).expect("what was written is read"));
}

fn same_request(one: &Request, other: &Request) {
    assert_eq!(format!("{:?}", one.head), format!("{:?}", other.head));
    assert!(one.params().eq(other.params()) && one.headers().eq(other.headers()));
    assert_eq!(one.header_count(), one.headers().count());
}

fn written_request(mut input: Input) {
    let flags = input.byte();
    let id = u64::from(input.word()) << 40 | u64::from(input.word());
    let (route, port) = (u32::from(input.word()), input.word());
    let n = (flags >> 2 & 7, flags >> 5);
    let mut texts = || input.until(b'\n');
    let (method, target, path, remote_addr, tls) = (texts(), texts(), texts(), texts(), texts());
    let (auth, session, terms, base_path, job) = (texts(), texts(), texts(), texts(), texts());
    let params: Vec<_> = (0..n.0).map(|_| texts()).collect();
    let headers: Vec<_> = (0..n.1).map(|_| (texts(), texts())).collect();
    let body = match flags & 1 {
        0 => BodyRef::Inline(input.0),
        _ => BodyRef::Spooled { path: input.0, len: id },
    };
    let head = RequestHead {
        id,
        route,
        flags: u32::from(flags & 2),
        remote_port: port,
        method,
        target,
        path,
        base_path,
        job,
        remote_addr,
        tls,
        auth,
        session,
        terms,
        body,
    };
    let mut out = Vec::new();
    head.encode(&params, || headers.iter().copied(), &mut out);
    let read = Request::decode(&out).expect("what was written is read");
    assert_eq!(format!("{:?}", read.head), format!("{head:?}"));
    assert!(read.params().eq(params) && read.headers().eq(headers));
}

fn reply(bytes: &[u8]) {
    let read = Reply::decode(bytes);
    assert_eq!(Reply::is_head(bytes), matches!(read, Ok(Reply { body: ReplyBody::Stream, .. })));
    let Ok(read) = read else { return };
    assert_eq!(Reply::peek(bytes), (read.micros, u32::from(read.status)));
    assert!(Part::decode(bytes).is_err(), "a reply is taken for a part");
    let head = ReplyHead { status: read.status, content_type: read.content_type };
    let mut out = Vec::new();
    head.encode(read.body, || read.headers(), &mut out);
    stamp(&mut out, read.micros);
    assert_eq!(out, bytes, "a message can be written in one way only");
}

fn written_reply(mut input: Input) {
    let (flags, status, micros) = (input.byte(), 100 + input.word() % 500, u32::from(input.word()));
    let headers: Vec<_> = (0..flags & 7).map(|_| (input.until(b':'), input.until(b'\n'))).collect();
    let body = match flags >> 3 & 7 {
        0 => ReplyBody::File(input.0),
        1 => ReplyBody::Failure(input.0),
        2 => ReplyBody::Stream,
        3 => ReplyBody::Opened(input.0),
        _ => ReplyBody::Bytes(input.0),
    };
    let content_type = [ContentType::None, ContentType::Json, ContentType::Octet][usize::from(flags >> 6) % 3];
    let mut out = Vec::new();
    ReplyHead { status, content_type }.encode(body, || headers.iter().copied(), &mut out);
    stamp(&mut out, micros);
    let read = Reply::decode(&out).expect("what was written is read");
    assert_eq!((read.status, read.content_type, read.body, read.micros), (status, content_type, body, micros));
    assert!(read.headers().eq(headers));
}

fn stream(bytes: &[u8]) {
    if let Ok(part) = Part::decode(bytes) {
        assert!(Reply::decode(bytes).is_err(), "a part is taken for a reply");
        assert!(!matches!(part, Part::Piece(piece) if piece.len() > LONGEST_PIECE));
        let mut out = Vec::new();
        part.encode(&mut out);
        assert_eq!(Part::decode(&out), Ok(part));
    }
    if let Ok(notice) = Notice::decode(bytes) {
        assert!(Notice::is_one(bytes) && Reply::decode(bytes).is_err() && Part::decode(bytes).is_err());
        let mut out = Vec::new();
        notice.encode(&mut out);
        // of numbers that are none, none is the same
        assert_eq!(format!("{:?}", Notice::decode(&out)), format!("{:?}", Ok::<_, WireError>(notice)));
    }
    if let Some(order) = Order::decode(bytes) {
        assert!(Request::decode(bytes).is_err(), "an order is taken for a request");
        assert_eq!(Order::decode(&order.encode()), Some(order));
    }
}

fn control(bytes: &[u8]) {
    again(bytes, ZygoteOrder::decode, ZygoteOrder::encode);
    again(bytes, WorkerOrder::decode, WorkerOrder::encode);
    let mut out = Vec::new();
    if let Ok(news) = ZygoteNews::decode(bytes) {
        news.encode(&mut out);
        assert_eq!(ZygoteNews::decode(&out), Ok(news));
    }
    out.clear();
    if let Ok(news) = WorkerNews::decode(bytes) {
        news.encode(&mut out);
        assert_eq!(WorkerNews::decode(&out), Ok(news));
    }
}

fn again<T: Copy + PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, WireError>,
    encode: impl Fn(T, &mut Vec<u8>),
) {
    if let Ok(message) = decode(bytes) {
        let mut out = Vec::new();
        encode(message, &mut out);
        assert_eq!(decode(&out), Ok(message));
    }
}

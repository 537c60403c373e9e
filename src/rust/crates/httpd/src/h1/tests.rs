//! What is read of bytes, whole and in pieces: heads, bodies and refusals.

use super::head::HeadReader;
use super::{BodyReader, Piece, Refusal};
use admission::Limits;
use proptest::prelude::*;

/// What was read: the text of each request, and whether the client said that it was its last.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    requests: Vec<Request>,
    refusal: Option<Refusal>,
    /// nothing of a further request, or of a body, has come
    clean: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Request {
    line: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    keep_alive: bool,
    whole: bool,
}

/// Reads a stream that comes in pieces of at most `size` bytes.
fn read_in(bytes: &[u8], size: usize, limits: &Limits) -> Read {
    let (mut heads, mut body) = (HeadReader::default(), BodyReader::none());
    let mut input = Vec::new();
    let mut read = Read { requests: Vec::new(), refusal: None, clean: true };
    for piece in bytes.chunks(size) {
        input.extend_from_slice(piece);
        if let Err(refusal) = advance(&mut input, &mut heads, &mut body, &mut read.requests, limits) {
            read.refusal = Some(refusal);
            break;
        }
    }
    read.clean = input.is_empty() && !heads.has_begun() && body.has_ended();
    read
}

fn advance(
    input: &mut Vec<u8>,
    heads: &mut HeadReader,
    body: &mut BodyReader,
    requests: &mut Vec<Request>,
    limits: &Limits,
) -> Result<(), Refusal> {
    loop {
        while let Some(request) = requests.last_mut().filter(|request| !request.whole) {
            let (used, piece) = body.read(input, limits.max_body)?;
            match piece {
                Piece::Data(data) => request.body.extend_from_slice(data),
                Piece::End => request.whole = true,
                Piece::Wanting => {
                    input.drain(..used);
                    return Ok(());
                }
            }
            input.drain(..used);
        }
        let (used, request) = heads.read(input, limits)?;
        input.drain(..used);
        let Some((head, framing)) = request else { return Ok(()) };
        *body = BodyReader::new(&framing);
        let field = |(name, value): (&[u8], &[u8])| (String::from_utf8(name.to_vec()).unwrap(), value.to_vec());
        requests.push(Request {
            line: format!("{} {} {:?}", head.method, head.target(), head.version),
            fields: head.fields.iter().map(field).collect(),
            body: Vec::new(),
            keep_alive: framing.keep_alive,
            whole: false,
        });
    }
}

/// What a stream is read as; in pieces of any size it must be the same.
fn read(bytes: &[u8]) -> Read {
    let limits = Limits::default();
    let whole = read_in(bytes, usize::MAX, &limits);
    assert_eq!(whole, read_in(bytes, 1, &limits), "{:?}", String::from_utf8_lossy(bytes));
    whole
}

fn count(bytes: &[u8]) -> usize {
    let read = read(bytes);
    assert!(read.refusal.is_none() && read.clean, "{read:?}");
    read.requests.len()
}

fn why(bytes: &[u8]) -> (u16, &'static str) {
    let refusal = read(bytes).refusal.expect("must be refused");
    (refusal.status, refusal.why.into_owned().leak())
}

#[test]
fn sound_requests_pass() {
    let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(count(get), 1);
    assert_eq!(count(&get.repeat(16)), 16);
    assert_eq!(count(b"\r\nGET / HTTP/1.0\r\n\r\n"), 1);
    assert_eq!(
        count(b"POST / HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\n\r\na\nbGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        2
    );
    let chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
    assert_eq!(count(&chunked.repeat(2)), 2);
    assert_eq!(read(chunked).requests[0].body, b"abc0123456789");
}

#[test]
fn heads_say_what_was_sent() {
    let read = read(b"get /a%20b?c=d HTTP/1.1\r\nHOST:a\r\nX-Y: \t v w \t\r\nEmpty:\r\n\r\n");
    assert_eq!(read.requests[0].line, "get /a%20b?c=d Http11");
    let field = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
    assert_eq!(read.requests[0].fields, [field("host", b"a"), field("x-y", b"v w"), field("empty", b"")]);
}

#[test]
fn targets_have_four_forms() {
    let target = |t: &str| format!("GET {t} HTTP/1.1\r\nHost: a\r\n\r\n");
    let line = |t: &str| read(target(t).as_bytes()).requests[0].line.clone();
    assert_eq!(line("/"), "GET / Http11");
    assert_eq!(line("/a?b?c/d"), "GET /a?b?c/d Http11");
    assert_eq!(line("http://a:80/x?y://z"), "GET /x?y://z Http11");
    assert_eq!(line("http://a"), "GET / Http11");
    assert_eq!(line("HTTPS://[::1]:4?|"), "GET /?| Http11");
    assert_eq!(line("/x?y=http://"), "GET /x?y=http:// Http11");
    assert_eq!(line("*"), "GET * Http11");
    let wrong =
        ["http:///x", "http://user@a/x", "http://a#b", "ftp://a/x", "a", "/\x7f", "/\u{fc}", "/a#b", "/a?b#", "/a\\b"];
    for wrong in wrong {
        assert_eq!(why(target(wrong).as_bytes()), (400, "malformed request target"), "{wrong}");
    }
    // the host of a target counts, not what the client says beside it
    let field = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
    let old = read(b"GET http://b/x HTTP/1.0\r\n\r\n");
    assert_eq!(old.requests[0].fields, [field("host", b"b")]);
    let two = read(b"GET http://b:80/x HTTP/1.1\r\nA: 1\r\nHost: c\r\nD: 2\r\n\r\n");
    assert_eq!(two.requests[0].fields, [field("a", b"1"), field("host", b"b:80"), field("d", b"2")]);
    assert_eq!(why(b"GET http://b/x HTTP/1.1\r\n\r\n").1, "missing Host");
    assert_eq!(why(b"GET http://b/x HTTP/1.1\r\nHost: /\r\n\r\n").1, "malformed Host");
}

#[test]
fn versions_have_one_form() {
    let with = |version: &str| format!("GET / {version}\r\nHost: a\r\n\r\n");
    for (version, read_as) in
        [("HTTP/1.0", "Http10"), ("HTTP/1.1", "Http11"), ("HTTP/1.2", "Http11"), ("HTTP/1.9", "Http11")]
    {
        assert_eq!(read(with(version).as_bytes()).requests[0].line, format!("GET / {read_as}"));
    }
    for version in ["HTTP/0.9", "HTTP/2.0", "HTTP/3.0"] {
        assert_eq!(why(with(version).as_bytes()), (505, "HTTP version not supported"));
    }
    for version in
        ["HTTP/1", "HTTP/2", "HTTP/1.", "HTTP/.1", "HTTP/01.01", "HTTP/1.10", "HTTP/1,1", "HTTP1.1", "http/1.1", ""]
    {
        assert_eq!(why(with(version).as_bytes()), (400, "malformed HTTP version"), "{version}");
    }
    assert_eq!(why(with("HTTP/1.1 ").as_bytes()), (400, "malformed request line"));
}

#[test]
fn what_is_no_method_is_refused_before_the_line_has_ended() {
    let method = "A".repeat(40);
    assert_eq!(count(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()), 1);
    for rest in ["A", "A / HTTP/1.1\r\nHost: a\r\n\r\n", "A\r\n"] {
        assert_eq!(why(format!("{method}{rest}").as_bytes()), (501, "method too long"));
    }
    for wrong in ["\x16\x03", "G\0", "G(", "G\x7f", "G\u{e4}"] {
        assert_eq!(why(wrong.as_bytes()), (400, "malformed method"), "{wrong:?}");
    }
    for wrong in [" ", "\rG", "GET\r\n", " GET / HTTP/1.1\r\n"] {
        assert_eq!(why(wrong.as_bytes()), (400, "malformed request line"), "{wrong:?}");
    }
    for wrong in ["\n", "GET\n"] {
        assert_eq!(why(wrong.as_bytes()), (400, "line not ended by CR LF"), "{wrong:?}");
    }
    assert_eq!(read(b"\r\n\r").refusal, None);
}

#[test]
fn codings_end_in_chunked() {
    let with = |h: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {h}\r\n\r\n");
    let wrong = (400, "Transfer-Encoding that does not end in chunked");
    let other = (501, "Transfer-Encoding not supported");
    for (codings, refusal) in [
        ("gzip, chunked", other),
        ("gzip;q=1 , x ,Chunked", other),
        ("gzip\r\nTransfer-Encoding: chunked", other),
        ("gzip", wrong),
        ("identity", wrong),
        ("xchunked", wrong),
        ("chunked, gzip", wrong),
        ("chunked\r\nTransfer-Encoding: gzip", wrong),
        ("chunked, chunked", wrong),
        ("chunked;a=b", wrong),
        ("\"chunked\"", wrong),
        ("a b, chunked", wrong),
        ("", wrong),
        (",", wrong),
        ("chunked,", wrong),
        (", chunked", wrong),
        ("gzip,, chunked", wrong),
        ("\r\n chunked", (400, "folded header field")),
        ("gzip, chunked\r\nContent-Length: 1", (400, "both Content-Length and Transfer-Encoding")),
        ("gzip\r\nContent-Length: 1", (400, "both Content-Length and Transfer-Encoding")),
        ("\r\nContent-Length: 0", (400, "both Content-Length and Transfer-Encoding")),
    ] {
        assert_eq!(why(with(codings).as_bytes()), refusal, "{codings:?}");
    }
    assert_eq!(count(format!("{}0\r\n\r\n", with("CHUNKED")).as_bytes()), 1);
    for codings in ["chunked", "gzip", "gzip, chunked", "identity"] {
        let old = format!("POST / HTTP/1.0\r\nTransfer-Encoding: {codings}\r\n\r\n");
        assert_eq!(why(old.as_bytes()), (400, "Transfer-Encoding in HTTP/1.0"));
    }
}

#[test]
fn extensions_of_chunks_are_what_they_must_be() {
    let with =
        |e: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1{e}\r\na\r\n0{e}\r\n\r\n");
    for sound in ["", ";a", ";a=b", ";a=\"\"", ";a=\"b;c\\\"d\\\\\te\u{e4}\"", " ; a\t=  b ;c;d=e", ";a;a;a", ";!#=~|"]
    {
        assert_eq!(read(with(sound).as_bytes()).requests[0].body, b"a", "{sound:?}");
    }
    for wrong in [
        " ",
        "\t",
        ";",
        "; ",
        ";=b",
        ";a=",
        ";a=b ",
        ";a ",
        ";a=b c",
        ";a=\"b",
        ";a=\"b\"c",
        ";a=\"\\",
        ";a=b\"",
        ";a;;b",
        "x",
        "=a",
        ";a=\"\0\"",
        ";a\r",
        ";\ra",
        ";a=(b)",
        ";\u{e4}",
        ";a=\"\\\0\"",
    ] {
        assert_eq!(why(with(wrong).as_bytes()), (400, "malformed chunk extension"), "{wrong:?}");
    }
}

#[test]
fn what_others_read_differently_is_refused() {
    assert_eq!(why(b"GET / HTTP/1.1\nHost: a\r\n\r\n").1, "line not ended by CR LF");
    assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a\n\r\n").1, "line not ended by CR LF");
    assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n").1, "control character in a header value");
    assert_eq!(why(b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n").1, "malformed request line");
    assert_eq!(why(b"GET / HTTP/1.1\r\n\r\n").1, "missing Host");
    assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").1, "repeated Host");
    assert_eq!(why(b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n").1, "malformed Host");
    assert_eq!(why(b"GET / HTTP/2.0\r\n\r\n").0, 505);
    let with = |h: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{h}\r\n\r\n");
    let both = "both Content-Length and Transfer-Encoding";
    assert_eq!(why(with("Content-Length: 1\r\nTransfer-Encoding: chunked").as_bytes()).1, both);
    assert_eq!(why(with("Transfer-Encoding: chunked\r\nContent-Length: 1").as_bytes()).1, both);
    assert_eq!(why(with("Content-Length: 1\r\nContent-Length: 1").as_bytes()).1, "repeated Content-Length");
    for wrong in ["", "+1", "-1", "01", "00", "1, 1", "1,", "1 1", "0x1", "1.0", "18446744073709551616"] {
        assert_eq!(why(with(&format!("Content-Length: {wrong}")).as_bytes()).1, "malformed Content-Length", "{wrong}");
    }
    assert_eq!(why(with("X : 1").as_bytes()).1, "malformed header name");
    assert_eq!(why(with(" folded").as_bytes()).1, "folded header field");
    let chunk = |c: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{c}");
    assert_eq!(why(chunk("3\nabc\r\n0\r\n\r\n").as_bytes()).1, "line not ended by CR LF");
    assert_eq!(why(chunk("2\r\nabc\r\n0\r\n\r\n").as_bytes()).1, "chunk longer than its size");
    assert_eq!(why(chunk("g\r\n").as_bytes()).1, "malformed chunk size");
    assert_eq!(why(chunk("-1\r\n").as_bytes()).1, "malformed chunk size");
    assert_eq!(why(chunk("fffffffffffffffff\r\n").as_bytes()).1, "malformed chunk size");
    assert_eq!(why(chunk("1 x\r\n").as_bytes()).1, "malformed chunk extension");
    assert_eq!(why(chunk("0\r\nT: a\rb\r\n\r\n").as_bytes()).1, "malformed trailer");
}

#[test]
fn limits_hold() {
    let chunks = |c: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{c}");
    // as one of a length that it says
    assert_eq!(why(chunks("100001\r\n").as_bytes()), (413, "the body may have at most 1048576 bytes"));
    assert_eq!(why(chunks(&format!("1;{}\r\n", "a".repeat(300))).as_bytes()).1, "chunk line too long");
    assert_eq!(why(chunks(&"1;aaaaaaaaaa\r\na\r\n".repeat(2000)).as_bytes()).1, "chunk extensions too long");
    assert_eq!(why(chunks(&format!("0\r\n{}", "T: 1\r\n".repeat(1000))).as_bytes()).1, "trailers too long");
    let with = |h: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{h}\r\n\r\n");
    assert_eq!(why(format!("GET /{} HTTP/1.1\r\n", "a".repeat(66_000)).as_bytes()).0, 414);
    assert_eq!(why(with(&format!("X: {}", "a".repeat(66_000))).as_bytes()).1, "header field too long");
    let many = (0..101).map(|i| format!("X{i}: 1")).collect::<Vec<_>>().join("\r\n");
    assert_eq!(why(with(&many).as_bytes()).1, "too many header fields");
    let large = (0..11).map(|i| format!("X{i}: {}", "a".repeat(8000))).collect::<Vec<_>>().join("\r\n");
    assert_eq!(why(with(&large).as_bytes()).1, "header section too large");
}

#[test]
fn a_client_says_that_a_request_is_its_last() {
    let goes_on = |head: &str| read(head.as_bytes()).requests[0].keep_alive;
    assert!(!goes_on("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    assert!(!goes_on("GET / HTTP/1.1\r\nHost: a\r\nCONNECTION: upgrade ,\tClose\r\n\r\n"));
    assert!(!goes_on("GET / HTTP/1.0\r\n\r\n"));
    assert!(goes_on("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    assert!(goes_on("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n"));
    // what stands behind a request is not of it
    let close = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
    let clean = |text: &str| read(text.as_bytes()).clean;
    assert!(!clean(close) && !clean(&format!("{close}a")) && clean(&format!("{close}ab")));
    assert!(!clean(&format!("{close}ab\r\n")) && !clean(&format!("{close}abG")));
}

#[test]
fn what_came_before_a_refusal_is_read() {
    let mut bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2);
    bytes.extend_from_slice(b"BAD\r\n");
    let read = read(&bytes);
    assert_eq!((read.requests.len(), read.refusal.map(|r| r.why)), (2, Some("malformed request line".into())));
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let whole = prop::sample::select(vec![
        &b"GET /a?b=c HTTP/1.1\r\nHost: a\r\nAccept: x/y\r\n\r\n"[..],
        b"POST / HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nabcde",
        b"PUT http://a/b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3;e=f\r\ncde\r\n0\r\nT: u\r\n\r\n",
        b"\r\nHEAD * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    ]);
    let change = (any::<prop::sample::Index>(), prop::sample::select(b"\r\n :;,0a\x00\xff/?#%*_-".to_vec()), 0..3);
    (prop::collection::vec(whole, 1..4), prop::collection::vec(change, 0..4)).prop_map(|(whole, changes)| {
        let mut bytes = whole.concat();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// However the network cuts a stream, it is read the same.
    #[test]
    fn pieces_make_no_difference(bytes in stream(), size in 1..40usize) {
        let limits = Limits::default();
        prop_assert_eq!(read_in(&bytes, usize::MAX, &limits), read_in(&bytes, size, &limits));
        prop_assert_eq!(read_in(&bytes, 1, &limits), read_in(&bytes, size, &limits));
    }
}

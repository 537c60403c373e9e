//! Compression over sockets: which responses are packed and what they say of it, by `Accept-Encoding` and by the fields
//! of both sides; bodies of requests that are packed, and such as are meant to do harm.

mod service;
mod settings;

use admission::Limits;
use coding::{pack, Coding, Decoder};
use engine::{
    AppConfig, CompressConfig, DecompressConfig, Development, PolicyConfig, RouteConfig, RuleConfig, Runs, Settings,
};
use exchange::{Answer, Handlers, Head, RequestView, Response, Sink};
use service::Service;
use std::borrow::Cow;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;
use wire::{BodyRef, Request};

/// What handlers answer.
const BODY: [u8; 5000] = [b'x'; 5000];
/// What is too long for an I/O thread.
const LONG: usize = 100_000;

/// Answers with [`BODY`], and with the fields that the request has as `x-say: name: value`, or what else the path says.
struct Fake;

fn answer(request: &dyn RequestView) -> Answer {
    let (mut status, mut body, mut headers) = (200, BODY.to_vec(), Vec::new());
    let mut content_type = Some(Cow::Borrowed(&b"application/json"[..]));
    match request.path() {
        b"/short" => body.truncate(1023),
        b"/long" => body = vec![b'x'; LONG],
        b"/none" => (status, body) = (204, Vec::new()),
        b"/part" => status = 206,
        b"/same" => (status, body) = (304, Vec::new()),
        b"/picture" => content_type = Some(Cow::Borrowed(b"image/png")),
        b"/body" => {
            let len = match request.body() {
                BodyRef::Inline(bytes) => bytes.len() as u64,
                BodyRef::Spooled { path, len } => {
                    let path = std::str::from_utf8(path).unwrap();
                    assert_eq!(std::fs::metadata(path).unwrap().len(), len);
                    len
                }
            };
            let field = |name: &[u8]| String::from_utf8_lossy(request.header(name).unwrap_or(b"-")).into_owned();
            body = format!("{len} {} {}", field(b"content-length"), field(b"content-encoding")).into_bytes();
        }
        _ => {}
    }
    request.each_header(&mut |name, value| {
        if let (b"x-say", Some(at)) = (name, value.iter().position(|&b| b == b':')) {
            headers.push((value[..at].to_vec(), value[at + 2..].to_vec()));
        }
    });
    Answer::Response(Response { head: Head { status, content_type, headers }, body: body.into() })
}

impl Handlers for Fake {
    fn run(&self, _: u32, request: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        Some(answer(request))
    }

    /// On a thread of its own.
    fn submit(&self, handler: u32, message: Vec<u8>, _: Instant, sink: Arc<dyn Sink>) {
        std::thread::spawn(move || {
            let request = Request::decode(&message).unwrap();
            assert!(sink.start());
            if handler == 1 {
                sink.answer(answer(&request));
                return;
            }
            let content_type = Some(Cow::Borrowed(&b"text/event-stream"[..]));
            assert!(sink.begin(Head { status: 200, content_type, headers: Vec::new() }));
            for i in 0..300 {
                sink.send(format!("data: {i}\n\n{}", "y".repeat(2000)).into(), true);
            }
            sink.end(request.path() == b"/stream");
        });
    }

    fn flush(&self) {}
}

fn serve_with(settings: impl FnOnce(&mut Settings), policies: Vec<RuleConfig>) -> Service {
    let limits = Limits { max_body: 3 << 20, spool_above: 100_000, ..Limits::default() };
    let service = Service::with(|folder| {
        let mut all = settings::local(folder, 1, limits);
        settings(&mut all);
        all
    });
    let route = |path: &str, handler, runs| settings::route("GET POST", path, handler, runs);
    let mut routes: Vec<RouteConfig> = vec![route("/pool", 1, Runs::Pool), route("/pool/<x>", 1, Runs::Pool)];
    routes.extend(["/stream", "/broken"].map(|path| route(path, 2, Runs::Pool)));
    routes.push(route("/*", 1, Runs::Inline));
    let policies = policies.into_iter().map(|rule| PolicyConfig { routes: Vec::new(), rule }).collect();
    service.runs(AppConfig { routes, policies, ..AppConfig::default() }, Arc::new(Fake));
    service
}

fn serve(policies: Vec<RuleConfig>) -> Service {
    serve_with(|_| {}, policies)
}

fn compressing() -> Service {
    serve(vec![RuleConfig::Compress(CompressConfig::default())])
}

/// Head and body of the answer, as they came.
fn exchange(service: &Service, line: &str, fields: &str, body: &[u8]) -> (String, Vec<u8>) {
    let mut client = service.connect();
    let head = format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
    client.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut all = Vec::new();
    // the connection may be reset behind a refusal
    let _ = client.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("no head") + 4;
    (String::from_utf8(all[..end].to_vec()).unwrap(), all[end..].to_vec())
}

fn field<'h>(head: &'h str, name: &str) -> &'h str {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or("-")
}

/// What a body was before it was packed, and whether it is whole.
fn unpacked(coding: Coding, bytes: &[u8]) -> (Vec<u8>, bool) {
    let (mut decoder, mut out, mut rest) = (Decoder::new(coding, u32::MAX).unwrap(), Vec::new(), bytes);
    let mut room = vec![0; 1 << 20];
    loop {
        let (read, written) = decoder.step(rest, &mut room).unwrap();
        rest = &rest[read..];
        out.extend_from_slice(&room[..written]);
        if read == 0 && written == 0 {
            return (out, decoder.finish().is_ok());
        }
    }
}

/// Chunks put together.
fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let len = usize::from_str_radix(std::str::from_utf8(&bytes[..at]).unwrap(), 16).unwrap();
        out.extend_from_slice(&bytes[at + 2..at + 2 + len]);
        bytes = &bytes[at + 2 + len + 2..];
    }
    out
}

/// The coding of the answer, `Vary`, and `ETag`; what its body says has been checked.
fn told(service: &Service, line: &str, fields: &str) -> String {
    let (head, body) = exchange(service, line, fields, b"");
    let coding = field(&head, "content-encoding");
    if !body.is_empty() {
        assert_eq!(field(&head, "content-length"), body.len().to_string());
    }
    if let Some(coding) = Coding::named(coding).filter(|_| !body.is_empty() && !line.contains("/own")) {
        let (plain, whole) = unpacked(coding, &body);
        assert!(whole && plain.iter().all(|&b| b == b'x') && plain.len() > body.len());
    }
    format!("{coding} {} {}", field(&head, "vary"), field(&head, "etag"))
}

#[test]
fn what_a_client_accepts_is_what_it_gets() {
    let service = compressing();
    for path in ["/a", "/pool"] {
        for (accept, coding) in [
            ("", "-"),
            ("Accept-Encoding: gzip\r\n", "gzip"),
            ("Accept-Encoding: zstd\r\n", "zstd"),
            ("Accept-Encoding: gzip, deflate, br, zstd\r\n", "zstd"),
            ("Accept-Encoding: gzip;q=1.0, zstd;q=0.5\r\n", "gzip"),
            ("Accept-Encoding: zstd;q=0, *\r\n", "gzip"),
            ("Accept-Encoding: *;q=0.1\r\n", "zstd"),
            ("Accept-Encoding: *;q=0\r\n", "-"),
            ("Accept-Encoding: br, deflate\r\n", "-"),
            ("Accept-Encoding: identity;q=0\r\n", "-"),
            ("Accept-Encoding: identity;q=0, gzip;q=0.1\r\n", "gzip"),
            ("Accept-Encoding: identity, gzip;q=0.9\r\n", "-"),
            ("Accept-Encoding: gzip;q=high\r\n", "-"),
            ("Accept-Encoding: gzip;;\r\nAccept-Encoding: zstd\r\n", "zstd"),
            ("Accept-Encoding: X-GZIP\r\n", "gzip"),
        ] {
            let expected = format!("{coding} accept-encoding -");
            assert_eq!(told(&service, &format!("GET {path}"), accept), expected, "{path} {accept:?}");
        }
    }
}

#[test]
fn what_is_packed_depends_on_the_response() {
    let service = compressing();
    let gzip = "Accept-Encoding: gzip\r\n";
    for (line, fields, expected) in [
        ("GET /a", "x-say: ETag: \"1\"\r\n", "gzip accept-encoding W/\"1\""),
        ("GET /a", "x-say: ETag: W/\"1\"\r\n", "gzip accept-encoding W/\"1\""),
        ("GET /a", "x-say: Vary: Accept\r\n", "gzip Accept, accept-encoding -"),
        ("GET /a", "x-say: Vary: *\r\n", "gzip * -"),
        ("HEAD /a", "", "gzip accept-encoding -"),
        ("GET /short", "", "- - -"),
        ("GET /none", "", "- - -"),
        ("GET /part", "x-say: Content-Range: bytes 0-4999/9999\r\n", "- - -"),
        ("GET /part", "", "- - -"),
        ("GET /same", "x-say: ETag: \"1\"\r\n", "- accept-encoding \"1\""),
        ("GET /picture", "", "- - -"),
        ("GET /own", "x-say: Content-Encoding: gzip\r\n", "gzip accept-encoding -"),
        ("GET /own", "x-say: Content-Encoding: br\r\nx-say: ETag: \"1\"\r\n", "br accept-encoding \"1\""),
        ("GET /a", "x-say: Cache-Control: max-age=1, no-transform\r\n", "- - -"),
        ("GET /a", "x-say: Set-Cookie: a=1\r\n", "- - -"),
        // whoever sends them: they are answered as if nothing could be packed
        ("GET /a", "Cookie: session=1\r\n", "- accept-encoding -"),
        ("GET /a", "Authorization: Bearer x\r\n", "- accept-encoding -"),
        ("GET /pool", "Cookie: session=1\r\n", "- accept-encoding -"),
        // an inline handler's body that is long would hold up its thread
        ("GET /long", "", "- accept-encoding -"),
    ] {
        assert_eq!(told(&service, line, &format!("{gzip}{fields}")), expected, "{line} {fields:?}");
    }
    // what HEAD says of the length is what GET says
    let length = |method: &str| {
        let (head, body) = exchange(&service, &format!("{method} /a"), gzip, b"");
        assert_eq!(body.is_empty(), method == "HEAD");
        field(&head, "content-length").to_owned()
    };
    assert_eq!(length("HEAD"), length("GET"));
}

#[test]
fn a_route_may_say_otherwise() {
    let allowing = CompressConfig { credentials: true, types: vec!["image/*".into()], ..CompressConfig::default() };
    let service = serve(vec![RuleConfig::Compress(allowing)]);
    let gzip = "Accept-Encoding: gzip, zstd\r\n";
    for (line, fields, expected) in [
        ("GET /picture", "Cookie: a=1\r\nx-say: Set-Cookie: a=1\r\n", "zstd accept-encoding -"),
        ("GET /a", "", "- - -"),
    ] {
        assert_eq!(told(&service, line, &format!("{gzip}{fields}")), expected, "{line}");
    }
    // by a setting of the server, unless the app says otherwise; and not at all
    let setting = |compress| move |settings: &mut Settings| settings.compress = compress;
    assert_eq!(told(&serve_with(setting(true), vec![]), "GET /a", gzip), "zstd accept-encoding -");
    assert_eq!(told(&serve_with(setting(false), vec![]), "GET /a", gzip), "- - -");
    // a page that is worked on gets a script
    let working = |settings: &mut Settings| {
        settings.development = Some(Arc::new(Development::new()));
        settings.allowed_hosts = vec!["*".into()];
    };
    let usual = RuleConfig::Compress(CompressConfig::default());
    assert_eq!(told(&serve_with(working, vec![usual]), "GET /a", gzip), "- accept-encoding -");
    let only_gzip = CompressConfig { encodings: vec!["gzip".into()], ..CompressConfig::default() };
    let service = serve_with(setting(true), vec![RuleConfig::Compress(only_gzip)]);
    assert_eq!(told(&service, "GET /a", gzip), "gzip accept-encoding -");
}

#[test]
fn what_an_app_cannot_have_is_named() {
    let usual = CompressConfig::default;
    let of = |rule| {
        let policies = vec![PolicyConfig { routes: Vec::new(), rule }];
        let service = Service::new(1, Limits::default());
        let app = AppConfig { policies, ..AppConfig::default() };
        service.server.pool().add_generation(2, &app, None).unwrap_err()
    };
    let compress = |config| of(RuleConfig::Compress(config));
    let deflate = compress(CompressConfig { encodings: vec!["deflate".into()], ..usual() });
    assert_eq!(deflate, "compress: \"deflate\" is none of \"br\", \"zstd\" and \"gzip\"");
    assert_eq!(compress(CompressConfig { encodings: vec![], ..usual() }), "compress: no encodings");
    let types = compress(CompressConfig { types: vec!["text".into()], ..usual() });
    assert_eq!(types, "compress: \"text\" is no pattern of media types");
    for wrong in [CompressConfig { gzip: 10, ..usual() }, CompressConfig { brotli: 12, ..usual() }] {
        assert_eq!(compress(wrong), "compress: levels of br are 1 to 11, of zstd 1 to 19, of gzip 1 to 9");
    }
    let br = DecompressConfig { encodings: vec!["br".into()], max_ratio: 1 };
    let br = of(RuleConfig::Decompress(br));
    assert_eq!(br, "decompress: \"br\" is not out of \"gzip\", \"zstd\" and \"deflate\"");
}

#[test]
fn streams_come_piece_by_piece_as_gzip() {
    let service = compressing();
    let plain: String = (0..300).map(|i| format!("data: {i}\n\n{}", "y".repeat(2000))).collect();
    for (accept, coding) in [("gzip", "gzip"), ("zstd, gzip", "gzip"), ("zstd", "-"), ("", "-")] {
        let (head, body) = exchange(&service, "GET /stream", &format!("Accept-Encoding: {accept}\r\n"), b"");
        assert_eq!((field(&head, "content-encoding"), field(&head, "vary")), (coding, "accept-encoding"), "{accept}");
        let body = unchunked(&body);
        let (body, whole) = if coding == "gzip" { unpacked(Coding::Gzip, &body) } else { (body, true) };
        assert!(whole && body == plain.as_bytes(), "{accept}");
    }
    let (_, body) = exchange(&service, "GET /broken", "Accept-Encoding: gzip\r\n", b"");
    assert!(!body.ends_with(b"0\r\n\r\n"), "what is not whole has an end");
}

#[test]
fn streams_have_their_events_at_once() {
    struct Slow;
    impl Handlers for Slow {
        fn run(&self, _: u32, _: &dyn RequestView, _: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
            None
        }
        fn submit(&self, _: u32, _: Vec<u8>, _: Instant, sink: Arc<dyn Sink>) {
            assert!(sink.start());
            let content_type = Some(Cow::Borrowed(&b"text/event-stream"[..]));
            assert!(sink.begin(Head { status: 200, content_type, headers: Vec::new() }));
            sink.send("data: first\n\n".into(), false);
            // the end does not come before the client has seen the first: it goes when the client does
            sink.on_cancel(Box::new({
                let kept = sink.clone();
                move || drop(kept)
            }));
        }
        fn flush(&self) {}
    }
    let service = Service::new(1, Limits::default());
    let policies = vec![PolicyConfig { routes: vec![], rule: RuleConfig::Compress(CompressConfig::default()) }];
    let routes = vec![settings::route("GET", "/*", 1, Runs::Pool)];
    service.runs(AppConfig { routes, policies, ..AppConfig::default() }, Arc::new(Slow));
    let mut client = service.connect();
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n").unwrap();
    let mut all = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let n = client.read(&mut piece).expect("the first event does not come");
        all.extend_from_slice(&piece[..n]);
        let Some(at) = all.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let body = &all[at + 4..];
        let body = body.windows(2).position(|two| two == b"\r\n").map_or(&[][..], |end| &body[end + 2..]);
        if unpacked(Coding::Gzip, body).0 == b"data: first\n\n" {
            break;
        }
    }
}

fn packed(body: &[u8], coding: Coding) -> Vec<u8> {
    pack(body, coding, 3, <[u8]>::to_vec).unwrap()
}

/// Bytes that get a little shorter.
fn noise(len: usize) -> Vec<u8> {
    let mut seed = 1u64;
    let next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 59) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn decompressing() -> Service {
    let decompress = DecompressConfig { encodings: vec!["gzip".into(), "zstd".into()], max_ratio: 100 };
    serve(vec![RuleConfig::Decompress(decompress)])
}

/// Sends a body and gives status and text of the answer.
fn post(service: &Service, encoding: &str, body: &[u8], chunked: bool) -> (String, String, String) {
    let encoding = if encoding.is_empty() { String::new() } else { format!("Content-Encoding: {encoding}\r\n") };
    let (length, body) = if chunked {
        let chunks = body.chunks(1000).flat_map(|c| [format!("{:x}\r\n", c.len()).as_bytes(), c, b"\r\n"].concat());
        ("Transfer-Encoding: chunked\r\n".to_owned(), chunks.chain(*b"0\r\n\r\n").collect())
    } else {
        (format!("Content-Length: {}\r\n", body.len()), body.to_vec())
    };
    let (head, answer) = exchange(service, "POST /body", &format!("{encoding}{length}"), &body);
    let status = head.split(' ').nth(1).unwrap().to_owned();
    (status, String::from_utf8(answer).unwrap(), field(&head, "accept-encoding").to_owned())
}

#[test]
fn handlers_see_bodies_as_they_were_before_they_were_packed() {
    let service = decompressing();
    // in memory with its head, in memory, and in a file
    for len in [300, 90_000, 2 << 20] {
        let body = noise(len);
        for coding in [Coding::Gzip, Coding::Zstd] {
            let packed = packed(&body, coding);
            let (status, text, _) = post(&service, coding.name(), &packed, false);
            assert_eq!((&status[..], text), ("200", format!("{len} {len} -")), "{coding:?}");
            let (status, text, _) = post(&service, &format!("identity, {}", coding.name()), &packed, true);
            assert_eq!((&status[..], text), ("200", format!("{len} - -")), "{coding:?} in chunks");
        }
        let (status, text, _) = post(&service, "identity", &body, false);
        assert_eq!((&status[..], text), ("200", format!("{len} {len} identity")));
    }
    assert_eq!(post(&service, "gzip", b"", false).1, "0 0 -", "a body without a byte is none");
}

#[test]
fn bodies_that_are_meant_to_do_harm_are_refused() {
    let service = decompressing();
    for coding in [Coding::Gzip, Coding::Zstd] {
        let name = coding.name();
        let refused = |body: &[u8], encoding: &str| {
            [false, true].map(|chunked| post(&service, encoding, body, chunked).0).join(" ")
        };
        let bomb = packed(&vec![0; 20 << 20], coding);
        assert_eq!(refused(&bomb, name), "413 413", "{name}: a bomb");
        // longer than `max_body` and no bomb
        assert_eq!(refused(&packed(&noise(4 << 20), coding), name), "413 413", "{name}: too long");
        let good = packed(&BODY, coding);
        assert_eq!(refused(&good[..good.len() - 1], name), "400 400", "{name}: not whole");
        assert_eq!(refused(b"something else", name), "400 400", "{name}: something else");
        assert_eq!(refused(&[&good[..], b"more"].concat(), name), "400 400", "{name}: with more behind it");
        // packed twice, and says so; or does not: then it is unpacked once
        let twice = packed(&bomb, coding);
        assert_eq!(refused(&twice, &format!("{name}, {name}")), "415 415", "{name}: twice");
        let (status, text, _) = post(&service, name, &twice, false);
        assert!(status == "413" || text == format!("{0} {0} -", bomb.len()), "{name}: {status} {text}");
        assert_eq!(post(&service, name, &good, false).1, "5000 5000 -", "{name}: the server still works");
    }
    for encoding in ["br", "deflate", "compress", "gzip;q=1", "x"] {
        let (status, _, accepted) = post(&service, encoding, b"12345", false);
        assert_eq!((&status[..], &accepted[..]), ("415", "gzip, zstd"), "{encoding}");
    }
    // without the policy a handler gets what was sent
    assert_eq!(post(&serve(vec![]), "gzip", b"12345", false).1, "5 5 gzip");
    let all = serve_with(|settings| settings.decompress = true, vec![]);
    assert_eq!(post(&all, "gzip", &packed(&BODY, Coding::Gzip), false).1, "5000 5000 -");
}

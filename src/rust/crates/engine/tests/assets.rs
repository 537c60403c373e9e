//! Static files from outside: a tree on disk, requests, responses. No sockets.

use engine::assets::{file_response, AssetBody, Mounts};
use engine::Fields;
use http::header::{self, HeaderName};
use http::{HeaderMap, Method, Response, StatusCode};
use proptest::prelude::*;
use std::fs::{create_dir_all, write, File};
use std::io;
use std::os::unix::fs::{symlink, FileExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// In the past, so that dates are strong validators.
const MODIFIED: &str = "Fri, 02 Jan 2026 03:04:05 GMT";

fn put(path: &Path, content: impl AsRef<[u8]>) {
    create_dir_all(path.parent().unwrap()).unwrap();
    write(path, content).unwrap();
    set_modified(path, httpdate::parse_http_date(MODIFIED).unwrap());
}

fn set_modified(path: &Path, time: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// A site with a secret beside it, served under `/site`.
struct Site {
    top: tempfile::TempDir,
    mounts: Mounts,
}

impl Site {
    fn new() -> Site {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("site");
        put(&top.path().join("secret.txt"), "SECRET");
        put(&root.join("index.html"), "<p>home");
        put(&root.join("a.txt"), "0123456789");
        put(&root.join("empty.txt"), "");
        put(&root.join("d/index.html"), "<p>d");
        put(&root.join("d/x y.csv"), "x,y\n");
        put(&root.join("bare/b.png"), "png");
        put(&root.join(".env"), "SECRET");
        put(&root.join(".git/config"), "SECRET");
        put(&root.join("large.bin"), vec![7; 200_000]);
        symlink("../secret.txt", root.join("link.txt")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let mounts = Mounts::new(vec![("/site/".into(), root.to_str().unwrap().into())]).unwrap();
        Site { top, mounts }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.top.path().join("site").join(name)
    }

    fn ask(&self, method: Method, path: &str, request: &[(HeaderName, &str)]) -> Response<AssetBody> {
        self.mounts.respond(&method, path, &fields(request)).expect("the mount covers the path").unwrap()
    }

    fn get(&self, path: &str, request: &[(HeaderName, &str)]) -> Response<AssetBody> {
        self.ask(Method::GET, path, request)
    }
}

fn fields(pairs: &[(HeaderName, &str)]) -> Fields {
    pairs.iter().map(|(name, value)| (name, value)).collect()
}

fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value.parse().unwrap());
    }
    headers
}

fn field(response: &Response<AssetBody>, name: HeaderName) -> &str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

fn content(response: Response<AssetBody>) -> Vec<u8> {
    match response.into_body() {
        AssetBody::Empty | AssetBody::Refused => Vec::new(),
        AssetBody::Bytes(bytes) => bytes.to_vec(),
        AssetBody::File { file, offset, len } => {
            let mut bytes = vec![0; len as usize];
            file.read_exact_at(&mut bytes, offset).unwrap();
            bytes
        }
    }
}

fn text(response: Response<AssetBody>) -> String {
    String::from_utf8(content(response)).unwrap()
}

#[test]
fn a_file_comes_with_its_headers() {
    let site = Site::new();
    let response = site.get("/site/a.txt", &[]);
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(field(&response, header::CONTENT_TYPE), "text/plain; charset=utf-8");
    assert_eq!(field(&response, header::LAST_MODIFIED), MODIFIED);
    assert_eq!(field(&response, header::ACCEPT_RANGES), "bytes");
    assert_eq!(field(&response, header::VARY), "accept-encoding");
    assert!(field(&response, header::ETAG).starts_with('"'));
    assert_eq!(text(response), "0123456789");
}

#[test]
fn head_says_how_long_and_sends_nothing() {
    let site = Site::new();
    for (path, length) in [("/site/a.txt", "10"), ("/site/empty.txt", "0"), ("/site/large.bin", "200000")] {
        let response = site.ask(Method::HEAD, path, &[(header::RANGE, "bytes=0-1")]);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(field(&response, header::CONTENT_LENGTH), length);
        assert!(matches!(response.body(), AssetBody::Empty));
    }
}

#[test]
fn directories_have_an_index_or_nothing() {
    let site = Site::new();
    for (path, status, answer) in [
        ("/site/", 200, "<p>home"),
        ("/site", 301, "./site/"),
        ("/site/d/", 200, "<p>d"),
        ("/site/d", 301, "./d/"),
        ("/site/%64", 301, "./%64/"),
        ("/s%69te/d/x%20y.csv", 200, "x,y\n"),
        ("/site/bare", 404, ""),
        ("/site/bare/", 404, ""),
        ("/site/a.txt/", 404, ""),
        ("/site/a.txt/b", 404, ""),
    ] {
        let response = site.get(path, &[]);
        assert_eq!(response.status(), status, "{path}");
        let answer_found = match status {
            301 => field(&response, header::LOCATION).to_owned(),
            _ => text(response),
        };
        assert_eq!(answer_found, answer, "{path}");
    }
}

#[test]
fn nothing_outside_and_nothing_hidden() {
    let site = Site::new();
    for (path, status) in [
        ("/site/../secret.txt", 404),
        ("/site/..", 404),
        ("/site/d/../../secret.txt", 404),
        ("/site/%2e%2e/secret.txt", 404),
        ("/site/%2e%2e%2fsecret.txt", 404),
        ("/site/..%2fsecret.txt", 404),
        ("/site/..%5csecret.txt", 404),
        ("/site/..\\secret.txt", 404),
        ("/site/%252e%252e/secret.txt", 404),
        ("/site//secret.txt", 404),
        ("/site//etc/passwd", 404),
        ("/site/%2fetc%2fpasswd", 404),
        ("/site/link.txt", 404),
        ("/site/up/secret.txt", 404),
        ("/site/up/site/a.txt", 404),
        ("/site/.env", 404),
        ("/site/%2eenv", 404),
        ("/site/.git/config", 404),
        ("/site/./a.txt", 404),
        ("/site/a.txt%00.png", 400),
        ("/site/a.txt%", 400),
        ("/site/%c0%ae%c0%ae/secret.txt", 400),
    ] {
        let response = site.get(path, &[]);
        assert_eq!(response.status(), status, "{path}");
        assert!(response.headers().is_empty() && matches!(response.body(), AssetBody::Refused), "{path}");
    }
}

#[test]
fn a_mount_covers_whole_segments() {
    let site = Site::new();
    for path in ["/", "/sites/a.txt", "/sit", "//site/a.txt", "/Site/a.txt", "", "*", "/%"] {
        assert!(site.mounts.respond(&Method::GET, path, &Fields::default()).is_none(), "{path}");
    }
}

#[test]
fn the_closest_mount_answers() {
    let site = Site::new();
    let pair = |mount: &str, name: &str| (mount.to_owned(), site.path(name).to_str().unwrap().to_owned());
    let mounts = Mounts::new(vec![pair("/", ""), pair("/files/deep", "d"), pair("/files", "bare")]).unwrap();
    for (path, answer) in
        [("/a.txt", "0123456789"), ("/files/b.png", "png"), ("/files/deep/x%20y.csv", "x,y\n"), ("/files/a.txt", "")]
    {
        let response = mounts.respond(&Method::GET, path, &Fields::default()).unwrap().unwrap();
        assert_eq!(text(response), answer, "{path}");
    }
    let slashes = mounts.respond(&Method::GET, "//d", &Fields::default()).unwrap().unwrap();
    assert_eq!(slashes.status(), StatusCode::NOT_FOUND, "an empty segment names nothing");
}

#[test]
fn a_mount_may_have_placeholders() {
    let site = Site::new();
    let mounts = Mounts::new(vec![("/t/<tenant>/d".into(), site.path("d").to_str().unwrap().to_owned())]).unwrap();
    let response = mounts.respond(&Method::GET, "/t/acme/d/x%20y.csv", &Fields::default()).unwrap().unwrap();
    assert_eq!(text(response), "x,y\n");
    let response = mounts.respond(&Method::GET, "/t/acme/d", &Fields::default()).unwrap().unwrap();
    assert_eq!(field(&response, header::LOCATION), "./d/");
    assert!(Mounts::new(vec![("/t/<tenant".into(), "/".into())]).is_err());
}

#[test]
fn a_missing_directory_is_named() {
    let error = Mounts::new(vec![("/m".into(), "/nowhere/at/all".into())]).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("static directory '/nowhere/at/all' of mount '/m': "), "{error}");
}

#[test]
fn other_methods() {
    let site = Site::new();
    for (method, status) in [(Method::POST, 405), (Method::DELETE, 405), (Method::OPTIONS, 204)] {
        let response = site.ask(method, "/site/a.txt", &[]);
        assert_eq!(response.status(), status);
        assert_eq!(field(&response, header::ALLOW), "GET, HEAD, OPTIONS");
        assert_eq!(matches!(response.body(), AssetBody::Refused), status == 405);
    }
}

#[test]
fn conditions() {
    let site = Site::new();
    let etag = field(&site.get("/site/a.txt", &[]), header::ETAG).to_owned();
    for (name, value, status) in [
        (header::IF_NONE_MATCH, etag.as_str(), 304),
        (header::IF_NONE_MATCH, "\"x\"", 200),
        (header::IF_MODIFIED_SINCE, MODIFIED, 304),
        (header::IF_MATCH, "\"x\"", 412),
        (header::IF_UNMODIFIED_SINCE, "Thu, 01 Jan 2026 00:00:00 GMT", 412),
        (header::IF_UNMODIFIED_SINCE, MODIFIED, 200),
    ] {
        for method in [Method::GET, Method::HEAD] {
            let response = site.ask(method.clone(), "/site/a.txt", &[(name.clone(), value)]);
            assert_eq!(response.status(), status, "{name}: {value}");
            if status == 304 {
                assert_eq!(field(&response, header::ETAG), etag);
                assert_eq!(field(&response, header::VARY), "accept-encoding");
                assert!(!response.headers().contains_key(header::CONTENT_TYPE));
            }
            assert_eq!(matches!(response.body(), AssetBody::Refused), status == 412);
            assert_eq!(
                matches!(response.body(), AssetBody::Empty),
                status == 304 || (status, &method) == (200, &Method::HEAD)
            );
        }
    }
}

#[test]
fn a_changed_file_has_another_etag() {
    let site = Site::new();
    let etag = || field(&site.get("/site/a.txt", &[]), header::ETAG).to_owned();
    let before = etag();
    assert_eq!(etag(), before);
    set_modified(&site.path("a.txt"), UNIX_EPOCH + Duration::new(1_767_323_045, 1));
    assert_ne!(etag(), before);
}

#[test]
fn a_date_in_the_future_is_not_sent() {
    let site = Site::new();
    set_modified(&site.path("a.txt"), SystemTime::now() + Duration::from_secs(86_400));
    let response = site.get("/site/a.txt", &[]);
    let sent = httpdate::parse_http_date(field(&response, header::LAST_MODIFIED)).unwrap();
    assert!(sent <= SystemTime::now());
}

#[test]
fn one_range() {
    let site = Site::new();
    let response = site.get("/site/a.txt", &[(header::RANGE, "bytes=2-4")]);
    assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(field(&response, header::CONTENT_RANGE), "bytes 2-4/10");
    assert_eq!(field(&response, header::CONTENT_TYPE), "text/plain; charset=utf-8");
    assert_eq!(text(response), "234");

    let response = site.get("/site/a.txt", &[(header::RANGE, "bytes=10-")]);
    assert_eq!(response.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(field(&response, header::CONTENT_RANGE), "bytes */10");

    for (condition, status) in [(MODIFIED, 206), ("Thu, 01 Jan 2026 00:00:00 GMT", 200), ("\"x\"", 200)] {
        let response = site.get("/site/a.txt", &[(header::RANGE, "bytes=2-4"), (header::IF_RANGE, condition)]);
        assert_eq!(response.status(), status, "{condition}");
    }
    let response = site.get("/site/empty.txt", &[(header::RANGE, "bytes=0-")]);
    assert_eq!(response.status(), StatusCode::OK);
}

#[test]
fn several_ranges() {
    let site = Site::new();
    let response = site.get("/site/a.txt", &[(header::RANGE, "bytes=0-1,-2")]);
    assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
    assert!(!response.headers().contains_key(header::CONTENT_RANGE));
    let boundary =
        field(&response, header::CONTENT_TYPE).strip_prefix("multipart/byteranges; boundary=").unwrap().to_owned();
    let part = |range: &str, bytes: &str| {
        format!("\r\n--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes {range}/10\r\n\r\n{bytes}")
    };
    assert_eq!(text(response), format!("{}{}\r\n--{boundary}--\r\n", part("0-1", "01"), part("8-9", "89")));
}

#[test]
fn a_large_file_stays_open_to_be_streamed() {
    let site = Site::new();
    let response = site.get("/site/large.bin", &[]);
    assert!(matches!(response.body(), AssetBody::File { offset: 0, len: 200_000, .. }));
    assert_eq!(content(response), vec![7; 200_000]);
    let response = site.get("/site/large.bin", &[(header::RANGE, "bytes=100-199999")]);
    assert!(matches!(response.body(), AssetBody::File { offset: 100, len: 199_900, .. }));
    let response = site.get("/site/large.bin", &[(header::RANGE, "bytes=100-101")]);
    assert_eq!(content(response), [7, 7]);
}

#[test]
fn precompressed_siblings() {
    let site = Site::new();
    put(&site.path("app.js"), "plain");
    put(&site.path("app.js.br"), "brotli");
    put(&site.path("app.js.gz"), "gzip");
    put(&site.path("pic.png"), "plain");
    put(&site.path("pic.png.br"), "brotli");
    for (path, accept, coding, body) in [
        ("/site/app.js", "", "", "plain"),
        ("/site/app.js", "gzip, br", "br", "brotli"),
        ("/site/app.js", "gzip", "gzip", "gzip"),
        ("/site/app.js", "gzip;q=1, br;q=0.1", "gzip", "gzip"),
        ("/site/app.js", "zstd", "", "plain"),
        ("/site/app.js", "zstd, gzip", "gzip", "gzip"),
        ("/site/app.js", "br;q=0", "", "plain"),
        ("/site/pic.png", "br", "", "plain"),
    ] {
        let response = site.get(path, &[(header::ACCEPT_ENCODING, accept)]);
        assert_eq!(field(&response, header::CONTENT_ENCODING), coding, "{path} {accept}");
        assert_eq!(field(&response, header::VARY).is_empty(), path.ends_with("png"));
        assert_eq!(text(response), body, "{path} {accept}");
    }
    let of = |accept| site.get("/site/app.js", &[(header::ACCEPT_ENCODING, accept)]);
    assert_eq!(field(&of("br"), header::CONTENT_TYPE), "text/javascript; charset=utf-8");
    assert_ne!(field(&of("br"), header::ETAG), field(&of(""), header::ETAG));

    set_modified(&site.path("app.js"), SystemTime::now());
    assert_eq!(text(of("br")), "plain", "a sibling older than the original is of another version");
    std::fs::remove_file(site.path("app.js")).unwrap();
    assert_eq!(of("br").status(), StatusCode::NOT_FOUND);
}

#[test]
fn files_chosen_by_a_handler() {
    let site = Site::new();
    let file = |path: &Path, status, own: &[(HeaderName, &str)], method, request: &[(HeaderName, &str)]| {
        file_response(path, status, headers(own), &method, &fields(request))
    };
    let get = |own: &[(HeaderName, &str)], request: &[(HeaderName, &str)]| {
        file(&site.path("link.txt"), StatusCode::OK, own, Method::GET, request).unwrap()
    };
    let plain = get(&[], &[]);
    assert_eq!(field(&plain, header::CONTENT_TYPE), "text/plain; charset=utf-8");
    assert_eq!(text(plain), "SECRET", "links are followed: the path is the app's");

    let own = get(&[(header::CONTENT_TYPE, "text/x-r"), (header::ETAG, "\"v1\""), (header::CONTENT_LENGTH, "3")], &[]);
    assert_eq!(field(&own, header::CONTENT_TYPE), "text/x-r");
    assert_eq!(field(&own, header::ETAG), "\"v1\"");
    assert!(!own.headers().contains_key(header::CONTENT_LENGTH));

    let not_modified =
        get(&[(header::ETAG, "\"v1\""), (header::CACHE_CONTROL, "no-cache")], &[(header::IF_NONE_MATCH, "\"v1\"")]);
    assert_eq!(not_modified.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(field(&not_modified, header::CACHE_CONTROL), "no-cache");
    let partial = get(&[(header::CONTENT_DISPOSITION, "attachment")], &[(header::RANGE, "bytes=-2")]);
    assert_eq!((field(&partial, header::CONTENT_DISPOSITION), partial.status().as_u16()), ("attachment", 206));
    let refused = get(&[(header::CONTENT_DISPOSITION, "attachment")], &[(header::RANGE, "bytes=9-")]);
    assert_eq!((field(&refused, header::CONTENT_DISPOSITION), refused.status().as_u16()), ("", 416));

    // conditions and ranges are for GET and 200
    let request = [(header::RANGE, "bytes=0-0"), (header::IF_NONE_MATCH, "*")];
    for (status, method) in [(StatusCode::OK, Method::POST), (StatusCode::ACCEPTED, Method::GET)] {
        let response = file(&site.path("a.txt"), status, &[], method, &request).unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(text(response), "0123456789");
    }
    for path in ["missing", "d"] {
        assert!(file(&site.path(path), StatusCode::OK, &[], Method::GET, &[]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// No path, in any spelling, gets a secret in the response.
    #[test]
    fn no_path_leads_to_a_secret(
        paths in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "/", "/", "..", ".", "%2e", "%2f", "%5c", "\\", "secret.txt", "site", "d", "up", "link.txt", ".env", ".git", "config",
                    "%00", "%", "%252e", "index.html",
                ]),
                0..8,
            ),
            1..64,
        ),
    ) {
        let site = Site::new();
        for pieces in &paths {
            let path = format!("/site/{}", pieces.concat());
            let response = site.get(&path, &[]);
            prop_assert!(matches!(response.status().as_u16(), 200 | 301 | 400 | 404), "{}", path);
            prop_assert!(!content(response).windows(6).any(|part| part == b"SECRET"), "{}", path);
        }
    }

    /// The parts that a range names are the parts of the file.
    #[test]
    fn a_range_is_a_part_of_the_file(first in 0u64..12, last in 0u64..12) {
        let site = Site::new();
        let value = format!("bytes={first}-{last}");
        let response = site.get("/site/a.txt", &[(header::RANGE, &value)]);
        let whole = "0123456789";
        let expected = if first > last {
            (200, whole)
        } else if first > 9 {
            (416, "")
        } else {
            (206, &whole[first as usize..=last.min(9) as usize])
        };
        let status = response.status().as_u16();
        let body = text(response);
        prop_assert_eq!((status, body.as_str()), expected);
    }
}

/// Header values of requests come from strangers: none may do harm.
#[test]
fn hostile_header_values() {
    let site = Site::new();
    let long = "\"a\",".repeat(2_000);
    for name in [
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        header::IF_RANGE,
        header::RANGE,
        header::ACCEPT_ENCODING,
        header::IF_MODIFIED_SINCE,
        header::IF_UNMODIFIED_SINCE,
    ] {
        for value in [
            &b"\xff\xfe"[..],
            b"\"",
            b"W/",
            b",,,,",
            b"*, *",
            b"bytes=9223372036854775807-18446744073709551615",
            long.as_bytes(),
        ] {
            let request = Fields::from_iter([(&name, value)]);
            let response = site.mounts.respond(&Method::GET, "/site/a.txt", &request).unwrap().unwrap();
            assert!(matches!(response.status().as_u16(), 200 | 206 | 304 | 412 | 416), "{name}: {value:?}");
        }
    }
}

//! Static files: for any requested path, only files of the mount that are not hidden are served, each with its own
//! bytes; ranges, conditions and codings work as in RFC 9110.
//!
//! Input: flags, the path as a line, then fields as lines `name: value`.

use crate::input::Input;
use engine::assets::{AssetBody, Mounts};
use engine::Fields;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{Method, Response, StatusCode};
use std::path::Path;

/// What lies in the mount, by path, and so does what is beside it: each file holds its name, and numbers.
const FILES: [&str; 7] = ["a", "b.css", "b.css.gz", "d/index.html", "d/e/é f", "d/%2e", "empty"];
const HIDDEN: [&str; 4] = [".h", "d/.e/a", "../secret", "d/..f"];

struct Site {
    mounts: Mounts,
    _folder: tempfile::TempDir,
    /// validators of `a`
    etag: Vec<u8>,
    modified: Vec<u8>,
}

thread_local! {
    static SITE: Site = site().expect("a folder for files");
}

fn content(name: &str) -> Vec<u8> {
    match name {
        "empty" => Vec::new(),
        name => (0..20).map(|n| format!("{name} {n}\n")).collect::<String>().into_bytes(),
    }
}

fn site() -> std::io::Result<Site> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    for name in FILES.iter().chain(&HIDDEN) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(path, content(name))?;
    }
    let mounts = Mounts::new(vec![("/".to_owned(), root.to_string_lossy().into_owned())])?;
    let response = mounts.respond(&Method::HEAD, "/a", &Fields::default()).expect("a mount")?;
    let field = |name| response.headers()[name].as_bytes().to_vec();
    let (etag, modified) = (field(ETAG), field(LAST_MODIFIED));
    Ok(Site { mounts, _folder: folder, etag, modified })
}

/// See the module.
pub fn run(data: &[u8]) {
    SITE.with(|site| check(site, Input(data)));
}

fn check(site: &Site, mut input: Input) {
    let flags = input.byte();
    let Ok(path) = std::str::from_utf8(input.until(b'\n')) else { return };
    let method = if flags & 1 == 0 { Method::GET } else { Method::HEAD };
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    for line in input.0.split(|&b| b == b'\n').take(8) {
        let mut line = Input(line);
        let name = String::from_utf8_lossy(line.until(b':')).to_ascii_lowercase();
        // what the client has been told before
        let value = match line.0.trim_ascii() {
            b"E" => site.etag.clone(),
            b"D" => site.modified.clone(),
            value => value.to_vec(),
        };
        fields.push((name, value));
    }
    let has_condition = fields.iter().any(|(name, _)| name.starts_with("if-"));
    let ranges: Vec<_> = fields.iter().filter(|(name, _)| name == "range").map(|(_, value)| &value[..]).collect();
    let sent = Fields::from_iter(fields.iter().map(|(name, value)| (name, value)));
    let Some(answer) = site.mounts.respond(&method, path, &sent) else {
        assert!(!path.starts_with('/'));
        return;
    };
    let answer = answer.expect("the server is not at fault");
    let status = answer.status();
    let name = named(path);
    match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
        StatusCode::MOVED_PERMANENTLY => {
            assert!(answer.headers()["location"].as_bytes().starts_with(b"./"));
            return;
        }
        StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED => return assert!(has_condition),
        StatusCode::RANGE_NOT_SATISFIABLE => return assert!(!ranges.is_empty()),
        _ => {
            assert!(matches!(status.as_u16(), 400 | 404) && matches!(answer.body(), AssetBody::Refused));
            assert!(name.is_none(), "{path:?} is not served: {status}");
            return;
        }
    }
    let name = name.unwrap_or_else(|| panic!("{path:?} is served"));
    let whole = match answer.headers().get(CONTENT_ENCODING) {
        Some(_) => content("b.css.gz"),
        None => content(name),
    };
    match method {
        Method::HEAD => {
            assert_eq!(status, StatusCode::OK);
            assert_eq!(answer.headers()[CONTENT_LENGTH], whole.len().to_string());
            assert!(matches!(answer.body(), AssetBody::Empty));
        }
        _ if status == StatusCode::OK => assert_eq!(bytes(&answer), whole),
        _ => {
            let [range] = ranges[..] else { panic!("{ranges:?} were followed") };
            partial(&answer, range, &whole);
        }
    }
}

/// The file that a path names, of those that may be served.
fn named(path: &str) -> Option<&'static str> {
    let path = percent(path.strip_prefix('/')?)?;
    let path = if path.is_empty() || path.ends_with('/') { path + "index.html" } else { path };
    FILES.iter().find(|name| **name == path).copied()
}

/// Decoded once; `None` when it cannot be, or when an escape stands for a slash.
fn percent(path: &str) -> Option<String> {
    let mut pieces = path.split('%');
    let mut decoded = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let byte = u8::from_str_radix(digits, 16).ok().filter(|&b| b != b'/')?;
        decoded.push(byte);
        decoded.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(decoded).ok()
}

fn bytes(answer: &Response<AssetBody>) -> Vec<u8> {
    match answer.body() {
        AssetBody::Empty => Vec::new(),
        AssetBody::Bytes(bytes) => bytes.to_vec(),
        other => panic!("{other:?} for a small file"),
    }
}

/// One range or several of the file, each where it says and as it was asked for.
fn partial(answer: &Response<AssetBody>, asked: &[u8], whole: &[u8]) {
    let asked = std::str::from_utf8(asked).expect("a range that was followed is text");
    let wanted: Vec<_> =
        asked.split_once('=').expect("a unit").1.split(',').filter_map(|spec| one(spec, whole.len())).collect();
    let body = bytes(answer);
    if let Some(range) = answer.headers().get(CONTENT_RANGE) {
        let [wanted] = &wanted[..] else { panic!("{wanted:?} in one") };
        assert_eq!(range, &format!("bytes {}-{}/{}", wanted.start, wanted.end - 1, whole.len()));
        assert_eq!(body, whole[wanted.clone()]);
        return;
    }
    let content_type = answer.headers()[CONTENT_TYPE].to_str().expect("text");
    let boundary = content_type.strip_prefix("multipart/byteranges; boundary=").expect("several parts");
    let text = String::from_utf8_lossy(&body);
    let parts: Vec<_> = text.split(&format!("\r\n--{boundary}")).skip(1).collect();
    assert_eq!(parts.last(), Some(&"--\r\n"));
    assert_eq!(parts.len() - 1, wanted.len());
    for (part, wanted) in parts.iter().zip(wanted) {
        let (head, content) = part.split_once("\r\n\r\n").expect("a head");
        assert!(head.ends_with(&format!("Content-Range: bytes {}-{}/{}", wanted.start, wanted.end - 1, whole.len())));
        assert_eq!(content, String::from_utf8_lossy(&whole[wanted]));
    }
}

/// The bytes that one element of a sound list asks for.
fn one(spec: &str, size: usize) -> Option<std::ops::Range<usize>> {
    let (first, last) = spec.trim().split_once('-')?;
    let number = |text: &str| text.parse::<usize>().unwrap_or(usize::MAX);
    let range = match (first, last) {
        ("", length) => size.saturating_sub(number(length))..size,
        (first, "") => number(first)..size,
        (first, last) => number(first)..number(last).saturating_add(1).min(size),
    };
    (range.start < range.end).then_some(range)
}

//! Which responses of a route may be packed, and how: the rules of a policy, and what is made of them for one request.
//!
//! The server makes [`Terms`] from the head of a request and sends them along; the side with the response applies them.
//! As bytes: coding for whole bodies, whether streams are packed, levels of brotli, zstd and gzip, whether cookies may
//! be set (a byte each) · least size (u32) · patterns of types, a line each; none for the usual types.

use crate::Coding;

/// What is packed when a policy names no types.
pub const TYPES: [&str; 11] = [
    "text/*",
    "*+json",
    "*+xml",
    "application/json",
    "application/x-ndjson",
    "application/javascript",
    "application/xml",
    "application/yaml",
    "application/wasm",
    "application/vnd.ms-fontobject",
    "image/bmp",
];

/// How hard to try, by coding: brotli from 1 to 11, zstd from 1 to 19, gzip from 1 to 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// for what is kept
    pub brotli: u8,
    /// for what is made for one client
    pub zstd: u8,
    /// the same
    pub gzip: u8,
}

impl Default for Levels {
    /// For 100 kB of JSON a sixth of a millisecond of zstd, whose next levels take half as long again and pack numbers
    /// no better; a third of gzip, whose next levels take twice as long for a tenth less. Of brotli ten times as long.
    fn default() -> Self {
        Levels { brotli: 5, zstd: 1, gzip: 2 }
    }
}

impl Levels {
    /// That of a coding.
    pub fn of(self, coding: Coding) -> u8 {
        match coding {
            Coding::Brotli => self.brotli,
            Coding::Zstd => self.zstd,
            Coding::Gzip | Coding::Deflate => self.gzip,
        }
    }
}

/// The bytes before the patterns.
const BEFORE: usize = 10;

/// A pattern of media types: `text/html`, `text/*`, `*+json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypePattern<'a>(&'a str);

impl<'a> TypePattern<'a> {
    /// One of this text; `None` when it is no pattern.
    pub fn new(text: &'a str) -> Option<Self> {
        let is_token =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !b"/*;,".contains(&b));
        let fits = match (text.strip_prefix("*+"), text.split_once('/')) {
            (Some(suffix), _) => is_token(suffix),
            (None, Some((kind, "*"))) => is_token(kind),
            (None, Some((kind, rest))) => is_token(kind) && is_token(rest),
            (None, None) => false,
        };
        fits.then_some(TypePattern(text))
    }

    /// Whether it means a type, which has no parameters.
    fn matches(self, essence: &[u8]) -> bool {
        let pattern = self.0.as_bytes();
        let starts = |with: &[u8]| essence.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
        match (pattern.strip_prefix(b"*"), pattern.strip_suffix(b"*")) {
            (Some(suffix), _) => {
                let start = essence.len().saturating_sub(suffix.len());
                essence[start..].eq_ignore_ascii_case(suffix)
            }
            (None, Some(kind)) => starts(kind),
            (None, None) => essence.eq_ignore_ascii_case(pattern),
        }
    }
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// how hard to try
    pub levels: Levels,
    /// shorter bodies are sent as they are, in bytes
    pub min_size: u32,
    /// whether what sets cookies may be packed
    pub cookies: bool,
    /// patterns; none for [`TYPES`]
    pub types: Vec<String>,
}

impl Rules {
    /// The terms of a request as bytes: `whole` is the coding for whole bodies, zstd or gzip; `streams` says whether
    /// what comes in pieces is sent as gzip.
    pub fn terms(&self, whole: Option<Coding>, streams: bool) -> Vec<u8> {
        let coding = match whole {
            Some(Coding::Zstd) => 1,
            Some(Coding::Gzip) => 2,
            _ => 0,
        };
        let Levels { brotli, zstd, gzip } = self.levels;
        let mut out = vec![coding, u8::from(streams), brotli, zstd, gzip, u8::from(self.cookies)];
        out.extend_from_slice(&self.min_size.to_le_bytes());
        out.extend_from_slice(self.types.join("\n").as_bytes());
        out
    }
}

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// the coding for whole bodies, and its level
    pub whole: Option<(Coding, u8)>,
    /// whether streams are sent as gzip, and its level
    pub streams: Option<u8>,
    /// for what is packed in another coding
    pub levels: Levels,
    cookies: bool,
    min_size: usize,
    types: &'a str,
}

impl<'a> Terms<'a> {
    /// Reads what [`Rules::terms`] has written; `None` when it is something else, such as nothing.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[coding, streams, brotli, zstd, gzip, cookies, ref size @ ..], types) =
            bytes.split_first_chunk::<BEFORE>()?;
        let whole = match coding {
            1 => Some((Coding::Zstd, zstd)),
            2 => Some((Coding::Gzip, gzip)),
            _ => None,
        };
        Some(Terms {
            whole,
            streams: (streams != 0).then_some(gzip),
            levels: Levels { brotli, zstd, gzip },
            cookies: cookies != 0,
            min_size: u32::from_le_bytes(*size) as usize,
            types: std::str::from_utf8(types).ok()?,
        })
    }

    /// Whether a response with this status and these fields may be packed, whose body has `len` bytes, or comes in
    /// pieces. A type among the fields goes before `content_type`.
    pub fn allow<'f>(
        &self,
        status: u16,
        content_type: Option<&[u8]>,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
        len: Option<u64>,
    ) -> bool {
        // these have no content, or a part of it
        if matches!(status, 0..=199 | 204..=206 | 304) || len.is_some_and(|len| len < self.min_size as u64) {
            return false;
        }
        let mut content_type = content_type;
        for (name, value) in fields {
            if is(name, "content-type") {
                content_type = Some(value);
            } else if self.forbids(name, value) {
                return false;
            }
        }
        content_type.is_some_and(|value| self.has_type(value))
    }

    /// Whether a field of a response says that it is to stay as it is.
    fn forbids(&self, name: &[u8], value: &[u8]) -> bool {
        // packed already; about bytes that others would take the place of; a digest of them
        const ANY: [&str; 7] = [
            "content-encoding",
            "content-range",
            "accept-ranges",
            "content-md5",
            "digest",
            "content-digest",
            "repr-digest",
        ];
        if ANY.iter().any(|forbidding| is(name, forbidding)) {
            return true;
        }
        // RFC 9111 section 5.2.2.6
        let no_transform = || value.split(|&b| b == b',').any(|one| is(one.trim_ascii(), "no-transform"));
        (is(name, "set-cookie") && !self.cookies) || (is(name, "cache-control") && no_transform())
    }

    fn has_type(&self, value: &[u8]) -> bool {
        let essence = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        if self.types.is_empty() {
            return TYPES.iter().any(|pattern| TypePattern(pattern).matches(essence));
        }
        self.types.split('\n').any(|pattern| TypePattern(pattern).matches(essence))
    }

    /// The fields of a response when its body has this coding: `Content-Encoding`, and an `ETag` that is weak, as the
    /// bytes are not those that it stands for (RFC 9110 section 8.8.1).
    pub fn fields<'f>(
        coding: Coding,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> impl Iterator<Item = (&'f [u8], std::borrow::Cow<'f, [u8]>)> {
        let weak = |name: &[u8], value: &[u8]| is(name, "etag") && !value.starts_with(b"W/");
        let own = (&b"content-encoding"[..], coding.name().as_bytes().into());
        let given = fields.map(move |(name, value)| match weak(name, value) {
            true => (name, [b"W/", value].concat().into()),
            false => (name, value.into()),
        });
        given.chain(std::iter::once(own))
    }
}

fn is(name: &[u8], known: &str) -> bool {
    name.eq_ignore_ascii_case(known.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules { levels: Levels { brotli: 4, zstd: 3, gzip: 5 }, min_size: 1024, cookies: false, types: Vec::new() }
    }

    /// Fields of a response.
    type Given<'f> = &'f [(&'f str, &'f str)];

    fn allows(rules: &Rules, status: u16, fields: Given, len: Option<u64>) -> bool {
        let bytes = rules.terms(Some(Coding::Zstd), true);
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        Terms::read(&bytes).unwrap().allow(status, Some(b"application/json"), fields, len)
    }

    #[test]
    fn terms_come_back_as_they_were_written() {
        let bytes = Rules { types: vec!["a/b".into(), "*+c".into()], ..rules() }.terms(Some(Coding::Gzip), false);
        let terms = Terms::read(&bytes).unwrap();
        assert_eq!((terms.whole, terms.streams, terms.min_size), (Some((Coding::Gzip, 5)), None, 1024));
        assert!(terms.has_type(b"A/B; charset=utf-8") && terms.has_type(b"x/y+C") && !terms.has_type(b"text/plain"));
        assert!(Terms::read(b"").is_none() && Terms::read(&bytes[..8]).is_none());
        let nothing = rules().terms(None, true);
        assert_eq!((Terms::read(&nothing).unwrap().whole, Terms::read(&nothing).unwrap().streams), (None, Some(5)));
    }

    #[test]
    fn which_responses_may_be_packed() {
        let table: [(u16, Given, Option<u64>, bool); 21] = [
            (200, &[], Some(1024), true),
            (200, &[], Some(1023), false),
            (200, &[], None, true),
            (404, &[], Some(5000), true),
            (101, &[], Some(5000), false),
            (204, &[], Some(5000), false),
            (206, &[], Some(5000), false),
            (304, &[], Some(5000), false),
            (200, &[("Content-Encoding", "gzip")], Some(5000), false),
            (200, &[("content-range", "bytes 0-1/2")], Some(5000), false),
            (200, &[("Accept-Ranges", "bytes")], Some(5000), false),
            (200, &[("Content-Digest", "sha-256=:x:")], Some(5000), false),
            (200, &[("Set-Cookie", "a=1")], Some(5000), false),
            (200, &[("Cache-Control", "no-cache, No-Transform")], Some(5000), false),
            (200, &[("Cache-Control", "max-age=5")], Some(5000), true),
            (200, &[("Content-Type", "image/png")], Some(5000), false),
            (200, &[("Content-Type", "IMAGE/SVG+XML")], Some(5000), true),
            (200, &[("Content-Type", "text/event-stream")], None, true),
            (200, &[("Content-Type", "")], Some(5000), false),
            (200, &[("Content-Type", "textile/x")], Some(5000), false),
            (200, &[("X-A", "b"), ("Cookie", "a=1")], Some(5000), true),
        ];
        for (status, fields, len, allowed) in table {
            assert_eq!(allows(&rules(), status, fields, len), allowed, "{status} {fields:?} {len:?}");
        }
        assert!(allows(&Rules { cookies: true, ..rules() }, 200, &[("Set-Cookie", "a=1")], None));
    }

    #[test]
    fn a_tag_becomes_weak_and_other_fields_stay() {
        let given: [(&[u8], &[u8]); 3] = [(b"ETag", b"\"a\""), (b"X-A", b"1"), (b"etag", b"W/\"b\"")];
        let fields: Vec<_> = Terms::fields(Coding::Gzip, given.into_iter()).collect();
        let text: Vec<_> = fields.iter().map(|(_, value)| std::str::from_utf8(value).unwrap()).collect();
        assert_eq!(text, ["W/\"a\"", "1", "W/\"b\"", "gzip"]);
        assert_eq!(fields[3].0, b"content-encoding");
    }

    #[test]
    fn patterns_of_types() {
        for right in TYPES.into_iter().chain(["a/b", "application/vnd.x+json"]) {
            assert!(TypePattern::new(right).is_some(), "{right}");
        }
        for wrong in ["", "*", "text", "*/*", "text/", "/x", "text/*x", "a/b;c=d", "a/b, c/d", "*+", "a b/c", "a/b\n"] {
            assert!(TypePattern::new(wrong).is_none(), "{wrong}");
        }
    }
}

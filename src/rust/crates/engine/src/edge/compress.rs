//! Which responses are packed (compressed): the head of a request decides, once, in which coding its client wants them;
//! the code that has the answer packs it (`worker`, `natives`), or the cache that is to keep it (`cache`). And `Vary`,
//! which tells caches that responses differ.
//!
//! A client that sends credentials gets nothing packed by default: an attacker that makes a browser send requests and
//! measures the lengths of the responses finds out secrets on a page that repeats parts of the request (BREACH).

use super::credentials;
use coding::{accepted, Coding, Levels, Rules, Terms, TypePattern};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::StatusCode;
use httpd::{Connection, Head, Response, ResponseFields};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is packed, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CompressConfig {
    /// `br`, `zstd` and `gzip`, the preferred one first; `br` is for what a cache keeps
    pub encodings: Vec<String>,
    /// patterns of media types; none for the usual ones
    #[serde(default)]
    pub types: Vec<String>,
    /// shorter bodies are sent as they are, in bytes
    pub min_size: u32,
    /// level of brotli, 1 to 11
    pub brotli: u8,
    /// level of zstd, 1 to 19
    pub zstd: u8,
    /// level of gzip, 1 to 9
    pub gzip: u8,
    /// whether to pack responses to clients that send credentials, too, and responses that set cookies
    #[serde(default)]
    pub credentials: bool,
}

impl Default for CompressConfig {
    fn default() -> Self {
        let encodings = OFFERED.map(|coding| coding.name().to_owned()).to_vec();
        let Levels { brotli, zstd, gzip } = Levels::default();
        CompressConfig { encodings, types: Vec::new(), min_size: 1024, brotli, zstd, gzip, credentials: false }
    }
}

/// What clients can get, the preferred one first.
const OFFERED: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

/// See the module.
#[derive(Debug)]
pub struct Compress {
    offered: Vec<Coding>,
    credentials: bool,
    terms: Arc<AllTerms>,
}

/// Terms by what a client accepts, and by where whole bodies are packed.
type AllTerms = [Arc<[u8]>; 5];

/// In [`AllTerms`], whole bodies and streams packed as: zstd and not, zstd and gzip, gzip both, neither, not and gzip.
const ZSTD: u8 = 0;
const ZSTD_GZIP: u8 = 1;
const GZIP: u8 = 2;
const NEITHER: u8 = 3;
const STREAMS: u8 = 4;

/// How the answer to a request is to be packed.
#[derive(Debug, Clone)]
pub struct Wanted {
    all: Arc<AllTerms>,
    at: u8,
    /// the codings that its client accepts, the best first
    pub accepted: SmallVec<[Coding; 4]>,
}

impl Wanted {
    /// The terms for the code that has the answer.
    pub fn terms(&self) -> &Arc<[u8]> {
        &self.all[usize::from(self.at)]
    }

    /// The same when whole bodies are packed behind it.
    pub fn terms_of_streams(&self) -> &Arc<[u8]> {
        &self.all[usize::from(if matches!(self.at, ZSTD_GZIP | GZIP) { STREAMS } else { NEITHER })]
    }

    /// The coding of a whole body that its client waits for, and its level.
    pub fn whole(&self) -> Option<(Coding, u8)> {
        Terms::read(self.terms())?.whole
    }

    /// How hard to try.
    pub fn level(&self, coding: Coding) -> u8 {
        Terms::read(self.terms()).map_or(0, |terms| terms.levels.of(coding))
    }

    /// Whether a response may be packed whose body has `len` bytes.
    pub fn allows(&self, status: StatusCode, fields: &ResponseFields, len: u64) -> bool {
        Terms::read(self.terms()).is_some_and(|terms| terms.allow(status.as_u16(), None, fields.all(), Some(len)))
    }
}

impl Compress {
    /// Of this configuration.
    ///
    /// # Errors
    /// A text that names what is wrong.
    pub fn new(config: &CompressConfig) -> Result<Self, String> {
        let coding = |name: &String| {
            let known = Coding::named(name).filter(|coding| OFFERED.contains(coding));
            known.ok_or_else(|| format!("{name:?} is none of \"br\", \"zstd\" and \"gzip\""))
        };
        let offered = config.encodings.iter().map(coding).collect::<Result<Vec<_>, _>>()?;
        if offered.is_empty() {
            return Err("no encodings".to_owned());
        }
        if let Some(wrong) = config.types.iter().find(|text| TypePattern::new(text).is_none()) {
            return Err(format!("{wrong:?} is no pattern of media types"));
        }
        if !(1..=11).contains(&config.brotli) || !(1..=19).contains(&config.zstd) || !(1..=9).contains(&config.gzip) {
            return Err("levels of br are 1 to 11, of zstd 1 to 19, of gzip 1 to 9".to_owned());
        }
        let CompressConfig { brotli, zstd, gzip, min_size, credentials, .. } = *config;
        let levels = Levels { brotli, zstd, gzip };
        let rules = Rules { levels, min_size, cookies: credentials, types: config.types.clone() };
        let (zstd, gzip) = (Some(Coding::Zstd), Some(Coding::Gzip));
        let terms = [(zstd, false), (zstd, true), (gzip, true), (None, false), (None, true)];
        let terms = Arc::new(terms.map(|(whole, streams)| rules.terms(whole, streams).into()));
        Ok(Compress { offered, credentials, terms })
    }

    /// How the answer to a request is packed; `None` when it is not to be. `asks_who`: its client may have sent
    /// credentials in a way of the app's own.
    pub fn wanted(&self, head: &Head, connection: &Connection, asks_who: bool) -> Option<Wanted> {
        if !self.credentials && (asks_who || credentials::are_shown(head, connection)) {
            return None;
        }
        let accepted = accepted(head.fields.all(&ACCEPT_ENCODING), &self.offered);
        if accepted.is_empty() {
            return None;
        }
        // brotli takes too long for what is made for one client
        let at = match accepted.iter().find(|coding| **coding != Coding::Brotli) {
            // streams are packed as gzip
            Some(Coding::Zstd) if accepted.contains(&Coding::Gzip) => ZSTD_GZIP,
            Some(Coding::Zstd) => ZSTD,
            Some(_) => GZIP,
            None => NEITHER,
        };
        Some(Wanted { all: self.terms.clone(), at, accepted })
    }

    /// Says in a response that it depends on what the client accepts, if it is packed or would be for others.
    pub fn dress(&self, response: &mut Response) {
        let Response { status, fields, body, .. } = response;
        let depends = || {
            let terms = Terms::read(&self.terms[usize::from(NEITHER)])?;
            // the body of `HEAD` may have been left out
            let len = body.len().filter(|len| *len > 0).or(fields.said_length).or(body.len());
            Some(terms.allow(status.as_u16(), None, fields.all(), len))
        };
        // what is not modified is told of it like what was sent before (RFC 9110 section 15.4.5)
        let depends = status.as_u16() == 304 || fields.get(&CONTENT_ENCODING).is_some() || depends() == Some(true);
        if depends {
            fields.set_in_list(&VARY, "accept-encoding");
        }
    }
}

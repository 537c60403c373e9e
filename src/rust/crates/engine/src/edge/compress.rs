//! Which responses are packed (compressed): the head of a request decides, once, in which coding its client wants them;
//! the code that has the answer packs it (`worker`, `natives`). And `Vary`, which tells caches that responses differ.
//!
//! A client that sends credentials gets nothing packed by default: an attacker that makes a browser send requests and
//! measures the lengths of the responses finds out secrets on a page that repeats parts of the request (BREACH).

use super::credentials;
use coding::{accepted, Coding, Rules, Terms, TypePattern, LEVELS};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use httpd::{Connection, Head, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is packed, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CompressConfig {
    /// `zstd` and `gzip`, the preferred one first
    pub encodings: Vec<String>,
    /// patterns of media types; none for the usual ones
    #[serde(default)]
    pub types: Vec<String>,
    /// shorter bodies are sent as they are, in bytes
    pub min_size: u32,
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
        let encodings = [Coding::Zstd, Coding::Gzip].map(|coding| coding.name().to_owned()).to_vec();
        CompressConfig {
            encodings,
            types: Vec::new(),
            min_size: 1024,
            zstd: LEVELS.0,
            gzip: LEVELS.1,
            credentials: false,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Compress {
    offered: Vec<Coding>,
    credentials: bool,
    /// by what a client accepts: see [`Compress::terms`]
    terms: [Arc<[u8]>; 4],
}

/// The terms of a request whose answer is to be packed.
pub type Wanted = Arc<[u8]>;

impl Compress {
    /// Of this configuration.
    ///
    /// # Errors
    /// A text that names what is wrong.
    pub fn new(config: &CompressConfig) -> Result<Self, String> {
        let coding = |name: &String| {
            let known = Coding::named(name).filter(|coding| matches!(coding, Coding::Zstd | Coding::Gzip));
            known.ok_or_else(|| format!("{name:?} is neither \"zstd\" nor \"gzip\""))
        };
        let offered = config.encodings.iter().map(coding).collect::<Result<Vec<_>, _>>()?;
        if offered.is_empty() {
            return Err("no encodings".to_owned());
        }
        if let Some(wrong) = config.types.iter().find(|text| TypePattern::new(text).is_none()) {
            return Err(format!("{wrong:?} is no pattern of media types"));
        }
        if !(1..=19).contains(&config.zstd) || !(1..=9).contains(&config.gzip) {
            return Err("levels of zstd are 1 to 19, of gzip 1 to 9".to_owned());
        }
        let CompressConfig { zstd, gzip, min_size, credentials, .. } = *config;
        let rules = Rules { zstd, gzip, min_size, cookies: credentials, types: config.types.clone() };
        let terms =
            [(Some(Coding::Zstd), false), (Some(Coding::Zstd), true), (Some(Coding::Gzip), true), (None, false)];
        let terms = terms.map(|(whole, streams)| rules.terms(whole, streams).into());
        Ok(Compress { offered, credentials, terms })
    }

    /// By what the answer to a request is packed; `None` when it is not to be. `asks_who`: its client may have sent
    /// credentials in a way of the app's own.
    pub fn terms(&self, head: &Head, connection: &Connection, asks_who: bool) -> Option<Wanted> {
        if !self.credentials && (asks_who || credentials::are_shown(head, connection)) {
            return None;
        }
        let accepted = accepted(head.fields.all(&ACCEPT_ENCODING), &self.offered);
        let at = match *accepted.first()? {
            // streams are packed as gzip
            Coding::Zstd if accepted.contains(&Coding::Gzip) => 1,
            Coding::Zstd => 0,
            _ => 2,
        };
        Some(self.terms[at].clone())
    }

    /// Says in a response that it depends on what the client accepts, if it is packed or would be for others.
    pub fn dress(&self, response: &mut Response) {
        let Response { status, fields, body, .. } = response;
        let depends = || {
            let terms = Terms::read(&self.terms[3])?;
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

//! Requests that ended in a 500, a 502 or a timeout, kept so that they can be looked at and played again
//! (`keep_failed`). In memory only, bounded in number, size and age; what is secret in them is replaced before they are
//! kept.
//!
//! `redact` is what is replaced, `store` where they are. Neighbours: `pipeline/failed`, which decides what is kept;
//! `commands`, by which workers say what the generator of random numbers was at; `snapshot`, which says that there are
//! some.

mod redact;
mod store;

pub(crate) use redact::Redact;
pub use redact::MARK;
pub(crate) use store::{Bounds, FailedRequests, Kept};

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use serde::{Deserialize, Serialize};

/// A request that failed, with what it takes to play it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedRequest {
    /// as the log and the client have it
    pub id: String,
    /// ms since 1970 when it was handed to its handler
    pub at: u64,
    /// seconds from then to its answer
    pub seconds: f64,
    /// as the client sent it
    pub method: String,
    /// path and query below the base path
    pub target: String,
    /// what stood before its path for clients
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_path: String,
    /// header fields, in the order in which they came
    pub fields: Vec<(String, String)>,
    /// bytes of the body
    pub body_size: u64,
    /// the body, when it is text
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// the body in Base64, when it is none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// why there is no body, although the request had one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_missing: Option<String>,
    /// the pattern of the route; empty where none took it
    pub route: String,
    /// of its answer
    pub status: u16,
    /// what the log says of it
    pub error: String,
    /// the calls that led to the error
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// the process that ran it, where that is known
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<i32>,
    /// the loading of the app that answered it
    pub generation: u32,
    /// the authenticated client as handlers see it, an object of JSON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// what the app kept with the client, a text of JSON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `.Random.seed` when its handler began, where that is known
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Vec<i32>>,
}

/// One line about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedLine {
    /// see [`FailedRequest`], as all of these
    pub id: String,
    /// see there
    pub at: u64,
    /// see there
    pub method: String,
    /// see there
    pub target: String,
    /// see there
    pub status: u16,
    /// see there
    pub route: String,
    /// see there
    pub error: String,
    /// whether all of it is there
    pub replayable: bool,
}

impl FailedRequest {
    /// Whether all of it is there.
    pub fn is_replayable(&self) -> bool {
        self.body_missing.is_none()
    }

    fn line(&self) -> FailedLine {
        FailedLine {
            id: self.id.clone(),
            at: self.at,
            method: self.method.clone(),
            target: self.target.clone(),
            status: self.status,
            route: self.route.clone(),
            error: self.error.clone(),
            replayable: self.is_replayable(),
        }
    }

    /// About how many bytes it takes.
    fn size(&self) -> u64 {
        let texts = [&self.id, &self.method, &self.target, &self.route, &self.error];
        let others = [&self.body, &self.body_base64, &self.body_missing, &self.auth, &self.session];
        let fields = self.fields.iter().map(|(name, value)| name.len() + value.len() + 48).sum::<usize>();
        let calls = self.calls.iter().map(|call| call.len() + 24).sum::<usize>();
        let texts = texts.iter().map(|text| text.len()).sum::<usize>();
        let others = others.iter().filter_map(|text| text.as_ref().map(String::len)).sum::<usize>();
        let seed = self.seed.as_ref().map_or(0, |seed| 4 * seed.len());
        (size_of::<Self>() + texts + others + fields + calls + seed) as u64
    }

    /// The same, with this body.
    pub(crate) fn with_body(mut self, body: Vec<u8>) -> Self {
        match String::from_utf8(body) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.body = Some(text),
            Err(bytes) => self.body_base64 = Some(STANDARD.encode(bytes.into_bytes())),
        }
        self
    }
}

//! Responses that are kept and given again: what an app wants of its cache, and what is known of a request there. What
//! may be kept and reused is decided by the crate `cache`; `key` says which requests are the same, `store` has the
//! responses, each a `variant`, also `packed` in codings; `flights` knows whose request is being answered, for all that
//! want the same, `making` what becomes of that response, and `purge` what is to be forgotten. When a request is looked
//! up is in `pipeline/cached.rs`.

mod flights;
mod key;
mod making;
pub mod packed;
pub mod purge;
mod store;
mod variant;

pub use flights::{Flight, Joined, Landed, Waiter};
pub use key::{Key, KeyConfig};
pub use making::Making;
pub use store::{Found, Store};
pub use variant::{unless_known, Variant};

use super::credentials;
use cache::{Directives, Request, Rules};
use flights::Flights;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, PRAGMA, RANGE, TRANSFER_ENCODING};
use http::{HeaderName, Method};
use httpd::{Connection, Fields, Head};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// What an app has registered. Times in whole seconds.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// how long a response is fresh that does not say so; none: it is not kept
    #[serde(default)]
    ttl: Option<f64>,
    /// what of the query tells requests apart
    #[serde(default)]
    key: KeyConfig,
    /// names of header fields that do so, too
    #[serde(default)]
    vary: Vec<String>,
    /// how long a stale response may be given while a new one is made
    #[serde(default)]
    stale_while_revalidate: f64,
    /// how long one may be given when there is an error
    #[serde(default)]
    stale_if_error: f64,
    /// whether requests with credentials are like others
    #[serde(default)]
    credentials: bool,
    /// whether clients may want what is not from the cache
    #[serde(default)]
    obey_clients: bool,
    /// whether responses without an `ETag` get one
    #[serde(default)]
    etag: bool,
    /// most bytes of memory
    max_bytes: f64,
}

/// The cache of an app, or of some of its paths.
#[derive(Debug)]
pub struct Cache {
    pub rules: Rules,
    /// whether responses without an `ETag` get one
    pub tags: bool,
    pub store: Store,
    flights: Flights,
    key: KeyConfig,
    vary: Vec<HeaderName>,
}

impl Cache {
    /// An empty one.
    ///
    /// # Errors
    /// A text that says what is wrong with the settings.
    pub fn new(config: &CacheConfig) -> Result<Self, String> {
        let vary = config.vary.iter().map(|name| {
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no name of a header field"))
        });
        Ok(Cache {
            rules: Rules {
                ttl: config.ttl.map(|seconds| seconds as u64),
                stale_while_revalidate: config.stale_while_revalidate as u64,
                stale_if_error: config.stale_if_error as u64,
                credentials: config.credentials,
                obey_clients: config.obey_clients,
            },
            tags: config.etag,
            store: Store::new(config.max_bytes as u64),
            flights: Flights::default(),
            key: config.key.clone(),
            vary: vary.collect::<Result<_, _>>()?,
        })
    }

    /// Names the response that a request wants. `https`: the client came by that.
    pub fn key(&self, head: &Head, https: bool) -> Key {
        Key::new(&self.key, head, https)
    }

    /// Has a request for what is not kept take part in its making.
    pub fn join(&self, key: &Key, fields: &Fields) -> Joined {
        // an answer for one language is nothing to wait for with another
        let asked = self.store.asked(key, fields);
        self.flights.join([key.borrow(), &b"\n"[..], &asked].concat().into())
    }

    /// Forgets what is kept of a key, and does not keep what is being made.
    pub fn forget(&self, key: &Key) {
        self.store.forget(key);
        let key: &[u8] = key.borrow();
        self.flights.outdate(|name| name.strip_prefix(key).is_some_and(|rest| rest.starts_with(b"\n")));
    }

    /// Forgets all responses that `is_old` says so of: of what their requests ask for, and what their tags are. How
    /// many that were. What is being made is not kept.
    pub fn purge(&self, is_old: impl Fn(&[u8], &[u8]) -> bool) -> usize {
        let purged = self.store.purge(|key, tags| is_old(key.target(), tags));
        self.flights.outdate(|_| true);
        purged
    }

    /// The header fields that always tell requests apart.
    pub fn vary(&self) -> &[HeaderName] {
        &self.vary
    }
}

/// What a request says that matters to a cache.
pub fn said(head: &Head, connection: &Connection) -> Request {
    let fields = &head.fields;
    let control = Directives::read(fields.all(&CACHE_CONTROL));
    // RFC 9111 section 5.4
    let pragma = || fields.all(&PRAGMA).any(|value| value.eq_ignore_ascii_case(b"no-cache"));
    let no_cache = control.no_cache || (fields.get(&CACHE_CONTROL).is_none() && pragma());
    let has_length = fields.get(&CONTENT_LENGTH).is_some_and(|length| length != b"0");
    Request {
        is_get_or_head: matches!(head.method, Method::GET | Method::HEAD),
        has_range: fields.get(&RANGE).is_some(),
        has_content: has_length || fields.get(&TRANSFER_ENCODING).is_some(),
        has_credentials: credentials::are_shown(head, connection),
        control: Directives { no_cache, ..control },
    }
}

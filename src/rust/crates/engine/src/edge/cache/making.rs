//! A request whose response may be kept: what becomes of that, and of those that wait for it.

use super::flights::{Flight, Landed};
use super::key::Key;
use super::packed::{encode, Codings, Packed};
use super::variant::{say, unless_known, Variant};
use super::Cache;
use cache::{keep, Directives, Lifetime, NotKept, Request, Standing};
use coding::Coding;
use exchange::now;
use http::header::{AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, SET_COOKIE, VARY};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use httpd::{ascii, Body, Failure, Head, Response, ResponseFields};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

/// By what a response can be purged: names with commas or spaces between them. Not for clients.
const CACHE_TAG: HeaderName = HeaderName::from_static("cache-tag");

/// Longest body, in bytes, of which a tag is made: that takes the I/O thread less than a millisecond.
const LONGEST_TAGGED: usize = 1 << 20;

/// A request whose response may be kept, or does away with what is kept.
pub struct Making {
    pub cache: Arc<Cache>,
    pub key: Key,
    pub request: Request,
    /// others wait for it
    pub flight: Option<Flight>,
    /// what there is if there is an error
    pub stale: Option<Arc<Variant>>,
    /// its response's body, as its client accepts it
    pub packed: Option<(Coding, Packed)>,
}

impl Making {
    /// What becomes of the answer that a handler has given to a request with this head, or an error in its place.
    pub fn settle(self, head: &Head, answer: Result<Response, Failure>) -> Result<Response, Failure> {
        if !self.request.is_get_or_head {
            forget_changed(&self, &answer);
            return answer;
        }
        let has_failed = match &answer {
            // one that says for how long is an answer
            Ok(response) => response.status.is_server_error() && lifetime(&self, response).is_err(),
            Err(failure) => failure.status.is_server_error(),
        };
        if has_failed {
            self.failed(head, answer)
        } else {
            self.made(head, answer)
        }
    }

    /// Whether the body of its response is packed where that is kept, and not before.
    pub fn packs(&self) -> bool {
        self.flight.is_some()
    }

    fn failed(self, head: &Head, answer: Result<Response, Failure>) -> Result<Response, Failure> {
        land(self.flight, Landed::Failed);
        let Some(stale) = self.stale else { return answer };
        let now = now();
        let Standing::IfError(ago) = stale.stands(&self.cache.rules, &self.request, now) else { return answer };
        Ok(stale.give(head, &[], now, &format!("hit; ttl=-{ago}; detail=error")))
    }

    fn made(self, head: &Head, answer: Result<Response, Failure>) -> Result<Response, Failure> {
        let Ok(mut response) = answer else {
            land(self.flight, Landed::Open);
            return answer;
        };
        let now = now();
        let kept = store(&self, head, &mut response, now);
        response.fields.remove(&CACHE_TAG);
        let status = match kept {
            Ok(variant) => {
                land(self.flight, Landed::Kept(variant));
                "fwd=miss; stored"
            }
            Err(why) => {
                if self.flight.is_some() && !matches!(why, NotKept::Status | NotKept::Outdated) {
                    self.cache.store.open(&self.key, now);
                }
                land(self.flight, Landed::Open);
                if why == NotKept::Credentials {
                    "fwd=bypass"
                } else {
                    "fwd=miss"
                }
            }
        };
        say(&mut response, status);
        if let Some((coding, Packed::Is(body))) = self.packed {
            encode(&mut response, coding, body);
        }
        Ok(unless_known(response, head))
    }
}

fn land(flight: Option<Flight>, landed: Landed) {
    if let Some(flight) = flight {
        flight.land(landed);
    }
}

/// A request that has changed something does away with what is kept for its target (RFC 9111 section 4.4).
fn forget_changed(making: &Making, answer: &Result<Response, Failure>) {
    if answer.as_ref().is_ok_and(|response| response.status.is_success() || response.status.is_redirection()) {
        let path = making.key.of_path();
        making.cache.forget(&path);
        if path != making.key {
            making.cache.forget(&making.key);
        }
    }
}

/// Keeps a response, if that may be. Gives it a tag of its own first where it has none.
fn store(making: &Making, head: &Head, response: &mut Response, now: u64) -> Result<Arc<Variant>, NotKept> {
    let cache = &making.cache;
    let lifetime = lifetime(making, response);
    let longest = if lifetime.is_ok() { cache.store.longest() } else { LONGEST_TAGGED };
    if let (Err(why), false) = (lifetime, cache.tags) {
        return Err(why);
    }
    // not where there is none, as in an answer to HEAD
    let is_whole = head.method == Method::GET && response.body.is_own();
    let body = if is_whole { response.body.read(longest as u64) } else { None };
    if let Some(body) = &body {
        response.body = Body::bytes(body.clone());
        let wants_tag = cache.tags && response.status == StatusCode::OK && response.fields.get(&ETAG).is_none();
        if wants_tag && body.len() <= LONGEST_TAGGED {
            response.fields.set(&ETAG, tag_of(body));
        }
    }
    let lifetime = lifetime?;
    let names = varies(&response.fields).ok_or(NotKept::Varies)?;
    let mut all = cache.vary().to_vec();
    all.extend(names.into_iter().filter(|name| !cache.vary().contains(name)));
    // a stream, or a file that was not made for this response
    let body = body.filter(|body| body.len() <= cache.store.longest()).ok_or(NotKept::Body)?;
    // its target has changed meanwhile: the response is not kept for later requests
    if making.flight.as_ref().is_some_and(Flight::is_outdated) {
        return Err(NotKept::Outdated);
    }
    let tags = response.fields.get(&CACHE_TAG).unwrap_or_default().into();
    response.fields.remove(&CACHE_TAG);
    // what the message lies in may be larger
    let body = body.to_vec().into();
    let fields = response.fields.clone();
    let (names, asked) = (Arc::default(), Box::default());
    let mut codings = Codings::default();
    if let Some((coding, packed)) = &making.packed {
        codings.set(*coding, packed.clone());
    }
    let variant = Variant { names, asked, status: response.status, fields, body, codings, lifetime, came: now, tags };
    Ok(cache.store.keep(&making.key, &all, &head.fields, variant))
}

fn lifetime(making: &Making, response: &Response) -> Result<Lifetime, NotKept> {
    let fields = &response.fields;
    let date = |name: &HeaderName| fields.get(name).map(|value| httpdate::parse_http_date(ascii(value)?).ok());
    let expires_in = date(&EXPIRES).map(|expires| {
        let sent = date(&DATE).flatten().unwrap_or_else(SystemTime::now);
        let left = expires.and_then(|expires| expires.duration_since(sent).ok());
        left.map_or(-1, |left| i64::try_from(left.as_secs()).unwrap_or(i64::MAX))
    });
    let said = cache::Response {
        status: response.status.as_u16(),
        control: Directives::read(fields.named(&CACHE_CONTROL)),
        expires_in,
        age: fields.get(&AGE).and_then(|age| ascii(age)?.parse().ok()).unwrap_or(0),
        sets_cookie: fields.get(&SET_COOKIE).is_some(),
        varies_by_all: varies(fields).is_none(),
    };
    keep(&making.cache.rules, &making.request, &said)
}

/// The names in `Vary`; `None` when it has `*`, or what is no name.
fn varies(fields: &ResponseFields) -> Option<Vec<HeaderName>> {
    let names = fields.named(&VARY).flat_map(|value| value.split(|&b| b == b',')).map(<[u8]>::trim_ascii);
    names
        .filter(|name| !name.is_empty())
        .map(|name| HeaderName::from_bytes(name).ok().filter(|_| name != b"*"))
        .collect()
}

/// A tag that no other body has: 128 bits of a hash that need not resist an attacker that chooses both bodies, as both
/// come from the same app.
fn tag_of(body: &[u8]) -> HeaderValue {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        body.hash(&mut hasher);
        hasher.finish()
    };
    let text = format!("\"{:016x}{:016x}\"", half(0), half(1));
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("\"\""))
}

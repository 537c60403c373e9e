//! A response that is kept, and how it is given.

use super::key::values;
use super::packed::{encode, Codings, Packed};
use crate::assets::{Validators, Verdict};
use bytes::Bytes;
use cache::{Lifetime, Request, Rules, Standing};
use coding::Coding;
use http::header::AGE;
use http::{HeaderName, Method, StatusCode};
use httpd::{Body, Fields, Head, Response, ResponseFields};
use std::sync::Arc;
use std::time::SystemTime;

/// RFC 9211.
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// See the module.
#[derive(Debug, Clone)]
pub struct Variant {
    /// the header fields that it differs by
    pub names: Arc<[HeaderName]>,
    /// the values of those in its request
    pub asked: Box<[u8]>,
    pub status: StatusCode,
    /// without those that policies add
    pub fields: ResponseFields,
    pub body: Bytes,
    /// the same, as clients accept it
    pub codings: Codings,
    pub lifetime: Lifetime,
    /// when it came, in ms
    pub came: u64,
    /// by which it can be found
    pub tags: Box<[u8]>,
}

impl Variant {
    /// Whether it is for a request with these header fields.
    pub fn answers(&self, fields: &Fields) -> bool {
        self.asked == values(fields, &self.names)
    }

    /// Whether both are one response, in more codings or in fewer.
    pub fn is_same(&self, other: &Variant) -> bool {
        self.body.as_ptr() == other.body.as_ptr() && self.asked == other.asked
    }

    /// How it stands to a request now.
    pub fn stands(&self, rules: &Rules, request: &Request, now: u64) -> Standing {
        self.lifetime.stands(rules, request, self.seconds_since(now))
    }

    fn seconds_since(&self, now: u64) -> u64 {
        now.saturating_sub(self.came) / 1000
    }

    /// The response, for this request, in the first of the codings that its client accepts in which it is here.
    /// `status`: how it came to that.
    pub fn give(&self, head: &Head, accepted: &[Coding], now: u64, status: &str) -> Response {
        let mut fields = self.fields.clone();
        fields.set(&AGE, (self.lifetime.age + self.seconds_since(now)).to_string());
        let mut response = Response::new(self.status, fields, Body::bytes(self.body.clone()));
        say(&mut response, status);
        let packed = accepted.iter().find_map(|coding| match self.codings.of(*coding) {
            Packed::Is(body) => Some((*coding, body)),
            Packed::NotYet | Packed::Useless => None,
        });
        if let Some((coding, body)) = packed {
            encode(&mut response, coding, body.clone());
        }
        unless_known(response, head)
    }
}

/// Says how a cache has dealt with a request. What caches on the way have said comes before it.
pub fn say(response: &mut Response, status: &str) {
    response.fields.add(&CACHE_STATUS, format!("drover; {status}"));
}

/// 304 for a client that has this response already.
pub fn unless_known(mut response: Response, head: &Head) -> Response {
    if response.status != StatusCode::OK || !matches!(head.method, Method::GET | Method::HEAD) {
        return response;
    }
    let known = Validators::of_response(&response.fields, SystemTime::now());
    if known.is_some_and(|known| known.judge(&head.fields) == Verdict::NotModified) {
        response.status = StatusCode::NOT_MODIFIED;
    }
    response
}

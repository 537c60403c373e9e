//! Limits on requests in a time: which requests count for what, and what clients are told. The counting is
//! `admission::rate`'s, the counts are in `counts`.

use super::cookie;
use super::counts::{Charge, Table};
use admission::rate::{Algorithm, Rate, Standing};
use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue, StatusCode};
use httpd::{Client, Failure, Head, ResponseFields};
use identity::Who;
use router::{Params, Pattern};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A limit, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LimitConfig {
    /// requests that may pass
    pub capacity: f64,
    /// in this many seconds
    pub window: f64,
    /// how they are counted
    #[serde(rename = "type")]
    pub algorithm: Algorithm,
    /// whether each route has a count of its own
    pub scope: Scope,
    /// whose requests are counted together
    #[serde(default)]
    pub key: Key,
    /// how many a request counts for
    pub cost: f64,
}

/// What a count is for.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// one route
    PerRoute,
    /// all routes that the limit covers
    Global,
}

/// What tells clients apart. Those that do not send it are one client.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Key {
    /// nothing: all are one
    #[default]
    None,
    /// the address of the client; of IPv6, the network that one client may have all addresses of
    Address,
    /// the value of a header field, whose name is in lower case
    Header(String),
    /// the value of a cookie
    Cookie(String),
    /// the value of a placeholder of the path
    Param(String),
    /// a claim of the authenticated client: see `auth`
    Claim(String),
}

/// See the module.
#[derive(Debug)]
pub struct Limit {
    /// its number in the store
    pub number: usize,
    rate: Rate,
    cost: u64,
    key: Key,
    table: Arc<Table>,
    /// of each route: the key of its count, when clients are not told apart, or what it adds to theirs
    routes: Vec<u64>,
    /// the same of requests that no route takes
    others: u64,
    /// of each route: where the placeholder is
    params: Vec<Option<usize>>,
    /// for `RateLimit`
    name: String,
    /// for `RateLimit-Policy`
    policy: String,
    /// for the log
    because: String,
}

/// The fields of draft-ietf-httpapi-ratelimit-headers-11. Its parameters have these names since revision 08.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STANDING: HeaderName = HeaderName::from_static("ratelimit");

/// Room for what one limit says.
const USUAL: usize = 48;

/// What a request is, as far as a limit wants to know.
pub struct Asking<'a, 'p> {
    pub head: &'a Head,
    pub client: &'a Client,
    pub route: Option<u32>,
    pub params: &'a Params<'p>,
    /// `None` before authentication, or without credentials
    pub who: Option<&'a Who>,
}

impl Limit {
    /// The limit of this number, of an app with these routes.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn new(
        config: &LimitConfig,
        number: usize,
        table: Arc<Table>,
        routes: &[(String, Pattern)],
    ) -> Result<Self, String> {
        let whole = |seconds: f64| (seconds * 1000.0).round() as u64;
        let (capacity, cost) = (config.capacity as u64, config.cost as u64);
        let rate = Rate::new(config.algorithm, capacity, whole(config.window))?;
        if !(1..=capacity).contains(&cost) {
            return Err(format!("cost must be in 1..{capacity}, not {cost}"));
        }
        // by their names, not their numbers: those are others when the app is loaded anew
        let of_route = |name: &str| match config.scope {
            Scope::PerRoute => table.key(name),
            Scope::Global => 0,
        };
        let place = |(_, pattern): &(String, Pattern)| match &config.key {
            Key::Param(name) => pattern.params().iter().position(|param| param.name == *name),
            _ => None,
        };
        Ok(Limit {
            number,
            rate,
            cost,
            key: config.key.clone(),
            routes: routes.iter().map(|(name, _)| of_route(name)).collect(),
            others: of_route(""),
            params: routes.iter().map(place).collect(),
            because: format!("over {} of dr_rate_limit(): {capacity} in {} s", name(number), config.window),
            name: format!("\"{}\"", name(number)),
            policy: format!("\"{}\";q={capacity};w={}", name(number), config.window.ceil()),
            table,
        })
    }

    /// Whether it counts by the authenticated client.
    pub fn needs_who(&self) -> bool {
        matches!(self.key, Key::Claim(_))
    }

    /// What a request costs.
    pub fn charge(&self, asking: &Asking<'_, '_>) -> Charge {
        Charge { limit: self.number, rate: self.rate, key: self.key_of(asking), cost: self.cost }
    }

    fn key_of(&self, Asking { head, client, route, params, who }: &Asking<'_, '_>) -> u64 {
        let at = route.map(|route| route as usize).filter(|at| *at < self.routes.len());
        let route = at.map_or(self.others, |at| self.routes[at]);
        match &self.key {
            Key::None => route,
            Key::Address => self.table.key((route, client.address.client())),
            Key::Header(name) => self.table.key((route, head.fields.named(name.as_bytes()).next())),
            Key::Cookie(name) => self.table.key((route, cookie::sent(head, name))),
            Key::Param(_) => {
                let param = at.and_then(|at| self.params[at]).and_then(|at| params.get(at));
                self.table.key((route, param))
            }
            Key::Claim(name) => self.table.key((route, who.and_then(|who| who.claim(name)))),
        }
    }

    /// The refusal of a request that the client may send again after `retry` ms.
    pub fn refusal(&self, retry: u64) -> Failure {
        refusal(&self.because, retry)
    }
}

/// The refusal of a request that is over a limit, whose name is for the log: the client may send it again after `retry`
/// ms.
pub fn refusal(because: &str, retry: u64) -> Failure {
    Failure { because: because.to_owned(), ..Failure::new(StatusCode::TOO_MANY_REQUESTS, "") }
        .with(&RETRY_AFTER, HeaderValue::from(seconds(retry).max(1)))
}

/// What clients and the log call a limit.
fn name(number: usize) -> String {
    format!("limit-{}", number + 1)
}

/// Whole seconds: a client that waits so long has waited long enough.
fn seconds(ms: u64) -> u64 {
    ms.div_ceil(1000)
}

/// Says in a response by which limits its request was counted, and how the client stands.
pub fn describe<'l>(standings: impl Iterator<Item = (&'l Limit, Standing)> + Clone, fields: &mut ResponseFields) {
    let mut text = String::with_capacity(USUAL);
    for (limit, _) in standings.clone() {
        text.extend([if text.is_empty() { "" } else { ", " }, &limit.policy]);
    }
    if text.is_empty() {
        return;
    }
    fields.set(&POLICY, &text);
    text.clear();
    let mut digits = itoa::Buffer::new();
    for (limit, standing) in standings {
        text.extend([if text.is_empty() { "" } else { ", " }, &limit.name, ";r=", digits.format(standing.remaining)]);
        text.extend([";t=", digits.format(seconds(standing.reset))]);
    }
    fields.set(&STANDING, &text);
}

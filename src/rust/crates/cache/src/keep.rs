//! Whether a response may be kept, and for how long it may be used (RFC 9111, sections 3 and 4.2).

use crate::{Directives, Request, Rules};

/// What a response says that matters to a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Response {
    /// a final one
    pub status: u16,
    /// its `Cache-Control`
    pub control: Directives,
    /// seconds from its `Date` to its `Expires`; one that is no date is in the past
    pub expires_in: Option<i64>,
    /// its `Age`, in seconds
    pub age: u64,
    /// it sets a cookie
    pub sets_cookie: bool,
    /// its `Vary` has `*`
    pub varies_by_all: bool,
}

/// For how long a response may be used, in seconds from when it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// it is fresh
    pub fresh: u64,
    /// after that: it is stale, and may be given while a new one is made
    pub while_revalidating: u64,
    /// after that it was fresh: it may be given when there is an error instead of a new one
    pub if_error: u64,
    /// it is for requests with credentials as well
    pub for_all: bool,
    /// how old it was when it came
    pub age: u64,
}

/// Why a response is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// it is part of another, or none
    Status,
    /// it says so
    Said,
    /// it is for one user
    Private,
    /// it has a cookie in it
    Cookie,
    /// the requests it is for cannot be known
    Varies,
    /// the request had credentials
    Credentials,
    /// it would never be fresh
    NotFresh,
    /// its body is too long or unavailable: reported by the store of bodies
    Body,
    /// its data changed while it was made: reported by the code that hears of changes
    Outdated,
}

/// Statuses whose responses get the time of the rules when they do not say one. Not 404: what is missing may be there
/// soon, and a handler that knows better says so.
const USUAL: [u16; 4] = [200, 203, 301, 308];

/// For how long the response to this request may be used.
///
/// # Errors
/// Why it may not be kept.
pub fn keep(rules: &Rules, request: &Request, response: &Response) -> Result<Lifetime, NotKept> {
    let control = &response.control;
    if response.status < 200 || matches!(response.status, 206 | 304) {
        return Err(NotKept::Status);
    }
    // without a validator of its own to ask with, nothing is gained by keeping what must be asked for again
    if control.no_store || control.no_cache || (rules.obey_clients && request.control.no_store) {
        return Err(NotKept::Said);
    }
    if control.private {
        return Err(NotKept::Private);
    }
    if response.sets_cookie {
        return Err(NotKept::Cookie);
    }
    if response.varies_by_all {
        return Err(NotKept::Varies);
    }
    let for_all = control.public || control.s_maxage.is_some();
    // section 3.5; the same goes for cookies here, which the RFC says nothing of
    if request.has_credentials && !for_all && !rules.credentials {
        return Err(NotKept::Credentials);
    }
    let explicit = control.s_maxage.or(control.max_age).or(response.expires_in.map(|n| u64::try_from(n).unwrap_or(0)));
    let usual = || rules.ttl.filter(|_| USUAL.contains(&response.status));
    let fresh = explicit.or_else(usual).ok_or(NotKept::NotFresh)?;
    // section 4.2.4: `s-maxage` is such a promise, too (section 5.2.2.10)
    let may_be_stale = !control.must_revalidate && control.s_maxage.is_none();
    let stale = |said: Option<u64>, ruled: u64| if may_be_stale { said.unwrap_or(ruled) } else { 0 };
    let lifetime = Lifetime {
        fresh,
        while_revalidating: stale(control.stale_while_revalidate, rules.stale_while_revalidate),
        if_error: stale(control.stale_if_error, rules.stale_if_error),
        for_all,
        age: response.age,
    };
    if lifetime.longest() <= lifetime.age {
        return Err(NotKept::NotFresh);
    }
    Ok(lifetime)
}

impl Lifetime {
    /// When it is of no use any more, in seconds of age.
    pub fn longest(&self) -> u64 {
        self.fresh + self.while_revalidating.max(self.if_error)
    }
}

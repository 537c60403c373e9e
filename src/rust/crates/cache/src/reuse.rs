//! Which requests a cache is asked for, and how what it has stands (RFC 9111, sections 4 and 5.2.1).

use crate::{Directives, Lifetime, Rules};

/// What a request says that matters to a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `HEAD`
    pub is_get_or_head: bool,
    /// it wants a part
    pub has_range: bool,
    /// something comes with it
    pub has_content: bool,
    /// it identifies the user: `Authorization`, a cookie, or an identity that the server has verified
    pub has_credentials: bool,
    /// its `Cache-Control`, or `no-cache` for a `Pragma` that says so where there is none
    pub control: Directives,
}

/// Why a cache has nothing to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// of another method
    Method,
    /// it wants a part; parts are not put together here
    Range,
    /// what comes with it may matter
    Content,
    /// its client wants nothing kept
    Client,
}

/// How a kept response stands to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// usable, and fresh for this many more seconds
    Fresh(u64),
    /// usable while a new response is made; stale for this many seconds
    Stale(u64),
    /// usable if making a new response fails; stale for this many seconds
    IfError(u64),
    /// not usable
    Useless,
}

/// Whether the cache is asked about a request.
///
/// # Errors
/// Why not.
pub fn look(rules: &Rules, request: &Request) -> Result<(), Bypass> {
    if !request.is_get_or_head {
        return Err(Bypass::Method);
    }
    if request.has_range {
        return Err(Bypass::Range);
    }
    if request.has_content {
        return Err(Bypass::Content);
    }
    if rules.obey_clients && request.control.no_store {
        return Err(Bypass::Client);
    }
    Ok(())
}

impl Lifetime {
    /// How a response stands to a request, `since` seconds after the response came.
    ///
    /// Clients may want it fresher than the app does only where the rules let them: any client could keep the cache
    /// from being used otherwise.
    pub fn stands(&self, rules: &Rules, request: &Request, since: u64) -> Standing {
        if request.has_credentials && !self.for_all && !rules.credentials {
            return Standing::Useless;
        }
        let age = self.age.saturating_add(since);
        let asked = if rules.obey_clients { request.control } else { Directives::default() };
        let is_young = !asked.no_cache && asked.max_age.is_none_or(|most| age <= most);
        let left = self.fresh.saturating_sub(age);
        if is_young && left > 0 && left >= asked.min_fresh.unwrap_or(0) {
            return Standing::Fresh(left);
        }
        let ago = age.saturating_sub(self.fresh);
        let may_be_stale = is_young && asked.min_fresh.is_none();
        if may_be_stale && left == 0 && ago < self.while_revalidating {
            return Standing::Stale(ago);
        }
        if ago < self.if_error {
            return Standing::IfError(ago);
        }
        Standing::Useless
    }
}

//! What a shared cache may keep, for how long, and which requests it may answer with that (RFC 9111, RFC 5861).
//!
//! Pure: no I/O, no clock, no bytes of responses. Others read header fields, measure ages and keep bodies; this crate
//! only decides. Where the RFC leaves a choice, it is made here, and said beside it.
#![forbid(unsafe_code)]

mod directives;
mod keep;
mod reuse;

pub use directives::Directives;
pub use keep::{keep, Lifetime, NotKept, Response};
pub use reuse::{look, Bypass, Request, Standing};

/// What an app wants of its cache. All times in seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// how long a response is fresh that does not say so itself; `None`: it is not kept
    pub ttl: Option<u64>,
    /// how long a stale response may be given while a new one is made
    pub stale_while_revalidate: u64,
    /// how long a stale response may be given when there is an error instead of a new one
    pub stale_if_error: u64,
    /// whether requests with credentials are treated like others
    pub credentials: bool,
    /// whether clients may ask for what is not from the cache
    pub obey_clients: bool,
}

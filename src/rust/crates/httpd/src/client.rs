//! Whom requests are from, and which proxies are believed when they say so. Neighbours: `connection`, which has the
//! peer, and `forwarded`, what a trusted proxy says.

use proxies::Networks;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::OnceLock;

/// The address of a client, whose text is made when somebody asks for it.
#[derive(Debug)]
pub struct RemoteAddress {
    ip: Option<IpAddr>,
    text: OnceLock<String>,
}

impl RemoteAddress {
    /// Of an IP address; `None` for a process of this machine.
    pub(crate) fn new(ip: Option<IpAddr>) -> Self {
        RemoteAddress { ip, text: OnceLock::new() }
    }

    /// The IP address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// Names the client, as far as its address does: a network of IPv6 of which one may have all addresses is one
    /// client, and so are all processes that come by a unix socket.
    pub fn client(&self) -> u64 {
        match self.ip.map(|ip| ip.to_canonical()) {
            Some(IpAddr::V4(ip)) => ip.to_bits().into(),
            Some(IpAddr::V6(ip)) => (ip.to_bits() >> 64) as u64,
            None => 0,
        }
    }
}

impl Deref for RemoteAddress {
    type Target = str;

    fn deref(&self) -> &str {
        self.text.get_or_init(|| self.ip.map_or_else(|| "unix:".to_owned(), |ip| ip.to_canonical().to_string()))
    }
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Client {
    /// as text; `unix:` for a process of this machine
    pub address: RemoteAddress,
    /// 0 where there is none, or it is not known
    pub port: u16,
}

/// What becomes of header fields with `_` in their names: see `underscores`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Underscores {
    /// the request gets 400
    Refuse,
    /// they are left out
    Drop,
    /// handlers get those that cannot be taken for another field
    Allow,
}

/// Which proxies are believed.
#[derive(Debug, Default)]
pub struct Proxies {
    /// those that write fields of requests
    pub trusted: Networks,
    /// those that begin each connection with a header of PROXY protocol
    pub announcing: Networks,
    /// what they write
    pub fields: proxies::Fields,
    /// what becomes of names that they may not know; `None`: it depends on whether one has passed the request on
    pub underscores: Option<Underscores>,
}

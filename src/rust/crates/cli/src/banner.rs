//! The lines at the start of a server: what it loads, and where it listens.

use engine::Address;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use supervisor::{Parts, PoolOptions};

/// What the lines at the start say of a server.
pub(crate) struct Banner {
    /// the app's file, as it was named
    pub(crate) file: String,
    threads: usize,
    /// `4`, or `1-3`
    workers: String,
    /// whether there may be more than one
    several: bool,
}

impl Banner {
    pub(crate) fn new(file: String, threads: usize, pool: &PoolOptions) -> Self {
        let several = pool.n_max > 1;
        let workers =
            if pool.n_min == pool.n_max { pool.n_min.to_string() } else { format!("{}-{}", pool.n_min, pool.n_max) };
        Self { file, threads, workers, several }
    }

    pub(crate) fn loading(&self) -> String {
        let Self { file, workers, several, .. } = self;
        let unshared = if *several { ", each with variables of its own" } else { "" };
        format!("drover {}: loading {file} (workers={workers}{unshared})", env!("CARGO_PKG_VERSION"))
    }

    pub(crate) fn listening(&self, address: &Address, app: Parts) -> String {
        let Self { threads, workers, .. } = self;
        let Parts { routes, cpp_routes, mounts, ws_routes } = app;
        let sockets = if ws_routes > 0 { format!(", ws_routes={ws_routes}") } else { String::new() };
        let how = if io::stderr().is_terminal() { "; Ctrl-C stops" } else { "" };
        format!(
            "drover listening on {} ({}threads={threads}, workers={workers}, \
             routes={routes}, cpp_routes={cpp_routes}, static={mounts}{sockets}){how}",
            url(address),
            bound(address),
        )
    }
}

/// Where the server is reached from this machine, whatever it is bound to.
pub(crate) fn url(address: &Address) -> String {
    let Address::Inet(mut address) = *address else { return address.to_string() };
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

/// What was bound, when that is more than the URL says.
fn bound(address: &Address) -> String {
    match address.inet() {
        Some(address) if address.ip().is_unspecified() => format!("bound={address}, "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_line_has_a_url_to_click_and_what_was_bound() {
        let said = |address: &str| {
            let address = Address::Inet(address.parse().unwrap());
            format!("{} ({}", url(&address), bound(&address))
        };
        assert_eq!(said("0.0.0.0:80"), "http://127.0.0.1:80 (bound=0.0.0.0:80, ");
        assert_eq!(said("[::]:80"), "http://[::1]:80 (bound=[::]:80, ");
        assert_eq!(said("127.0.0.1:80"), "http://127.0.0.1:80 (");
        assert_eq!(url(&Address::Unix("/run/a".into())), "unix:/run/a");
    }
}

//! The lines at the start of a server: what it loads, and where it listens.

use engine::{Address, Settings};
use std::io::{self, IsTerminal};
use supervisor::{Parts, PoolOptions};

/// What the lines at the start say of a server.
pub(crate) struct Banner {
    /// the app's file, as it was named
    pub(crate) file: String,
    threads: usize,
    has_tls: bool,
    /// below which the app is
    base_path: String,
    /// `4`, `1-3` or `auto`
    workers: String,
    /// whether there may be more than one
    several: bool,
    /// whether the app is loaded when it is asked for
    loads_later: bool,
}

impl Banner {
    pub(crate) fn new(file: String, settings: &Settings, pool: &PoolOptions) -> Self {
        let several = pool.n_max != 1;
        let workers = pool.workers();
        // a wrong one is told when the server is opened
        let base_path = settings.base_path().unwrap_or_default().to_owned();
        let (has_tls, loads_later) = (settings.tls.is_some(), pool.n_min == 0);
        Self { file, threads: settings.threads, has_tls, base_path, workers, several, loads_later }
    }

    pub(crate) fn loading(&self) -> String {
        let Self { file, workers, several, .. } = self;
        if self.loads_later {
            return format!("drover {}: {file} (workers={workers})", env!("CARGO_PKG_VERSION"));
        }
        let unshared = if *several { ", each with variables of its own" } else { "" };
        format!("drover {}: loading {file} (workers={workers}{unshared})", env!("CARGO_PKG_VERSION"))
    }

    pub(crate) fn listening(&self, addresses: &[Address], apart: &[(&str, String)], app: Option<&Parts>) -> String {
        let app = app.map_or_else(|| ", loaded when it is asked for".to_owned(), parts);
        self.at(addresses, apart, &format!(", workers={}{app}", self.workers))
    }

    /// Where several apps are.
    pub(crate) fn open(&self, addresses: &[Address], apart: &[(&str, String)]) -> String {
        self.at(addresses, apart, "")
    }

    fn at(&self, addresses: &[Address], apart: &[(&str, String)], further: &str) -> String {
        let apart: String = apart.iter().map(|(name, place)| format!("{name}={place}, ")).collect();
        let how = if io::stderr().is_terminal() { "; Ctrl-C stops" } else { "" };
        let urls: Vec<String> = addresses.iter().map(|address| self.url(address)).collect();
        let (urls, bound, threads) = (all(&urls), bound(addresses), self.threads);
        format!("drover listening on {urls} ({bound}{apart}threads={threads}{further}){how}")
    }

    /// The same address, by the name of a host.
    pub(crate) fn url_of(&self, host: &str, url: &str) -> String {
        let port = url.split('/').nth(2).and_then(|place| place.rsplit_once(':')).map(|(_, port)| port);
        let scheme = if self.has_tls { "https" } else { "http" };
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        format!("{scheme}://{host}{port}{}", self.base_path)
    }

    /// Of one of several apps: `  shop  http://127.0.0.1:8080/shop  (apps/shop, workers=0-4)`
    pub(crate) fn row(&self, name: &str, url: &str, width: usize) -> String {
        let later = if self.loads_later { ", loaded when it is asked for" } else { "" };
        format!("  {name:width$}  {url}  ({}, workers={}{later})", self.file, self.workers)
    }

    /// For a client that has started it.
    pub(crate) fn answering(&self) -> String {
        let Self { file, workers, .. } = self;
        let how = if io::stdin().is_terminal() { "; Ctrl-D ends" } else { "" };
        format!("drover answers for {file} at standard input and output (workers={workers}){how}")
    }

    /// Where the server is reached from this machine.
    pub(crate) fn url(&self, address: &Address) -> String {
        address.url(self.has_tls, &self.base_path)
    }
}

/// What the app has, once that is known.
fn parts(app: &Parts) -> String {
    let Parts { routes, cpp_routes, mounts, ws_routes, mcp: _ } = app;
    let sockets = if *ws_routes > 0 { format!(", ws_routes={ws_routes}") } else { String::new() };
    format!(", routes={routes}, cpp_routes={cpp_routes}, static={mounts}{sockets}")
}

/// `a, b and c`.
fn all(texts: &[String]) -> String {
    match texts {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => texts.concat(),
    }
}

/// What was bound, when that is more than the URLs say.
fn bound(addresses: &[Address]) -> String {
    let inet = addresses.iter().filter_map(Address::inet).filter(|address| address.ip().is_unspecified());
    let shown: Vec<_> = inet.map(|address| address.to_string()).collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!("bound={}, ", shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_line_names_all_and_what_was_bound() {
        let address = |text: &str| Address::Inet(text.parse().unwrap());
        assert_eq!(bound(&[address("0.0.0.0:80"), address("127.0.0.1:80")]), "bound=0.0.0.0:80, ");
        assert_eq!(bound(&[address("127.0.0.1:80")]), "");
        let texts = ["a", "b", "c"].map(String::from);
        assert_eq!((&*all(&texts[..1]), &*all(&texts[..2]), &*all(&texts)), ("a", "a and b", "a, b and c"));
    }
}

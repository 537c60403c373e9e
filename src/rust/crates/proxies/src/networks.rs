//! Networks as settings name them: `10.0.0.0/8`, `127.0.0.1`, `::1`, and `unix` for processes that come by a unix
//! socket.

use ipnet::IpNet;
use std::net::IpAddr;

const UNIX: &str = "unix";

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks {
    ip: Vec<IpNet>,
    unix: bool,
}

impl Networks {
    /// Reads them.
    ///
    /// # Errors
    /// From "must be" on: what would be right, and which one is not.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, String> {
        let mut all = Networks::default();
        for text in texts.iter().map(AsRef::as_ref) {
            if text == UNIX {
                all.unix = true;
                continue;
            }
            let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
            all.ip.push(network.ok_or_else(|| {
                format!("must be networks such as 10.0.0.0/8, addresses such as 127.0.0.1, or unix, not '{text}'")
            })?);
        }
        Ok(all)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ip.is_empty() && !self.unix
    }

    /// Whether an address is in one of them; `None` is that of a unix socket.
    pub fn has(&self, address: Option<IpAddr>) -> bool {
        match address.map(|address| address.to_canonical()) {
            Some(address) => self.ip.iter().any(|network| network.contains(&address)),
            None => self.unix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_networks() {
        let networks = Networks::parse(&["10.0.0.0/8", "127.0.0.1", "2001:db8::/32"]).unwrap();
        let has = |text: &str| networks.has(Some(text.parse().unwrap()));
        assert!(has("10.255.0.1") && has("127.0.0.1") && has("2001:db8:1::1") && has("::ffff:10.0.0.1"));
        assert!(!has("11.0.0.1") && !has("127.0.0.2") && !has("2001:db9::1") && !networks.has(None));
        assert!(Networks::parse(&["unix"]).unwrap().has(None));
        assert!(Networks::default().is_empty() && !networks.is_empty());
    }

    #[test]
    fn what_is_no_network_is_named() {
        for wrong in ["10.0.0.0/33", "localhost", "", "10.0.0", "unix:/run/s", "10.0.0.0/"] {
            let error = Networks::parse(&["10.0.0.0/8", wrong]).unwrap_err();
            assert!(error.starts_with("must be networks") && error.ends_with(&format!("not '{wrong}'")), "{error}");
        }
    }
}

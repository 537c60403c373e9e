//! Which hosts requests may be for. The owner of a name can point it to any address: to the browser of a user with
//! access to this server, the owner's page is then a page of this server, and may read its responses (DNS rebinding).
//! `Host` has the name that the browser was told to reach. Neighbours: `pipeline/head` and the dashboard, which ask
//! here.

use rustix::system::uname;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What stands for all hosts.
const ALL: &str = "*";

/// See the module. All by default.
#[derive(Debug, Default)]
pub struct Hosts {
    /// in lower case; one that begins with a dot is what others end with. `None`: all
    names: Option<Vec<String>>,
    /// how many of them the setting has
    named: usize,
}

impl Hosts {
    /// Those of the setting. Without any: all, or in development those of this machine.
    ///
    /// # Errors
    /// A text that says what would be right.
    pub fn new(allowed: &[String], in_development: bool) -> Result<Self, String> {
        if let Some(wrong) = allowed.iter().find(|name| !is_name_or_pattern(name)) {
            return Err(format!("must be names such as example.com or *.example.com, or * for all, not '{wrong}'"));
        }
        if allowed.iter().any(|name| name == ALL) || (allowed.is_empty() && !in_development) {
            return Ok(Hosts::default());
        }
        let machine = uname().nodename().to_string_lossy().into_owned();
        let short = machine.split('.').next().unwrap_or_default().to_owned();
        let allowed = allowed.iter().map(|name| name.strip_prefix('*').unwrap_or(name).to_owned());
        let named = allowed.len();
        let names = allowed.chain([machine, short]).map(|name| name.to_ascii_lowercase());
        Ok(Hosts { names: Some(names.filter(|name| !name.is_empty()).collect()), named })
    }

    /// Whether the setting names this `Host`: then an app that is for some hosts only is meant.
    pub fn name(&self, host: &[u8]) -> bool {
        self.names.as_ref().is_some_and(|names| is_among(&names[..self.named], host))
    }

    /// Whether a request for this `Host` is answered.
    pub fn allows(&self, host: &[u8]) -> bool {
        let Some(names) = &self.names else { return true };
        is_of_this_machine(host) || is_among(names, host)
    }
}

fn is_among(names: &[String], host: &[u8]) -> bool {
    name_of(host).is_some_and(|name| {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        names.iter().any(|known| if known.starts_with('.') { name.ends_with(known) } else { name == *known })
    })
}

fn is_name_or_pattern(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_name = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) && !name.starts_with('.')
    };
    text == ALL || (!name.is_empty() && is_name(name))
}

/// Of a `Host`, without its port.
fn name_of(host: &[u8]) -> Option<&str> {
    let host = std::str::from_utf8(host).ok()?;
    Some(match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    })
}

/// Whether a `Host` names this machine without DNS: no DNS name has led a browser here.
pub fn is_of_this_machine(host: &[u8]) -> bool {
    let Some(name) = name_of(host) else { return false };
    let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = |known: &str| name.eq_ignore_ascii_case(known);
    name.is_empty()
        || is_name("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok()
        || number.is_some_and(|number| number.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [&str; 8] =
        ["127.0.0.1:9000", "localhost", "LocalHost:1", "[::1]:80", "[::1]", "a.localhost:2", "10.0.0.1", ""];
    const OTHERS: [&str; 6] =
        ["evil.example", "evil.example:9000", "localhost.evil.example", "127.0.0.1.nip.io", "[evil]", "a:b"];

    fn hosts(allowed: &[&str], in_development: bool) -> Hosts {
        Hosts::new(&allowed.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), in_development).unwrap()
    }

    #[test]
    fn names_that_others_may_have_pointed_here_are_refused() {
        let development = hosts(&[], true);
        for host in OWN {
            assert!(is_of_this_machine(host.as_bytes()) && development.allows(host.as_bytes()), "{host}");
        }
        for host in OTHERS {
            assert!(!is_of_this_machine(host.as_bytes()) && !development.allows(host.as_bytes()), "{host}");
        }
        let system = uname();
        let machine = system.nodename().to_bytes();
        assert!(
            development.allows(machine) && development.allows(&[&machine.to_ascii_uppercase()[..], b":80"].concat())
        );
    }

    #[test]
    fn those_that_are_named_are_allowed_and_without_the_setting_all() {
        for all in [hosts(&[], false), hosts(&["*"], true), hosts(&["a.example", "*"], false)] {
            assert!(OWN.iter().chain(&OTHERS).all(|host| all.allows(host.as_bytes())));
        }
        let some = hosts(&["Hub.example", "*.example.org"], false);
        for host in ["hub.example", "HUB.example:80", "hub.example.", "a.example.org:1", "a.b.example.org"] {
            assert!(some.allows(host.as_bytes()), "{host}");
        }
        for host in ["a.hub.example", "example.org", "aexample.org", "hub.example.evil.example", "evil.example"] {
            assert!(!some.allows(host.as_bytes()), "{host}");
        }
        for wrong in ["", "*.", ".example", "a b", "https://a", "a:80", "a/b", "**", "*a"] {
            assert!(!some.name(b"localhost") && !some.name(b"10.0.0.1") && some.name(b"a.example.org:1"));
            let error = Hosts::new(&[wrong.to_owned()], false).unwrap_err();
            assert!(error.ends_with(&format!("not '{wrong}'")), "{error}");
        }
    }
}

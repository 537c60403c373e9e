//! A hop as proxies write it: an address, and perhaps a port (RFC 7239 section 6, and what `X-Forwarded-For` has).

use std::net::{IpAddr, Ipv6Addr};

/// Address and port. `None` for what is no address: `unknown`, a name that hides one, garbage.
pub fn node(text: &str) -> Option<(IpAddr, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        return Some((IpAddr::V6(address).to_canonical(), port_behind(rest)?));
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address.to_canonical(), None));
    }
    let colon = text.find(':')?;
    let address = IpAddr::V4(text[..colon].parse().ok()?);
    Some((address, port_behind(&text[colon..])?))
}

/// The port of `:4711`. No port where there is none, or a name in its place; `None` for anything else.
fn port_behind(text: &str) -> Option<Option<u16>> {
    if text.is_empty() {
        return Some(None);
    }
    let port = text.strip_prefix(':')?;
    match port.strip_prefix('_') {
        Some(name) => (!name.is_empty()).then_some(None),
        None => port.parse().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_have_an_address_and_perhaps_a_port() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for (text, address, port) in [
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:80", "192.0.2.1", Some(80)),
            ("192.0.2.1:_port", "192.0.2.1", None),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:443", "2001:db8::1", Some(443)),
            ("::ffff:192.0.2.1", "192.0.2.1", None),
        ] {
            assert_eq!(node(text), Some((ip(address), port)), "{text}");
        }
        for wrong in ["", "unknown", "_gw", "192.0.2", "192.0.2.1:", "192.0.2.1:x", "[::1", "[::1]x", "::1%eth0", "a:1"]
        {
            assert_eq!(node(wrong), None, "{wrong}");
        }
    }
}

//! What proxies say of a request: `X-Forwarded-For`, `-Proto`, `-Host` and `-Port`, or `Forwarded` (RFC 7239).
//!
//! Each proxy adds what it knows at the right, so the right is what trusted ones have written, and anything may stand
//! at the left. The hops are followed from the right for as long as they are trusted; the first other one is the
//! client. What is malformed ends the walk where it is: the last good hop is the client then.

use crate::networks::Networks;
use crate::node::node;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::IpAddr;

/// Which of them are read: one kind only, as the other one is what the proxy does not write, and clients may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fields {
    /// `X-Forwarded-*`, which all proxies write
    #[default]
    XForwarded,
    /// `Forwarded`
    Forwarded,
}

/// What is believed of a request. What nothing was said of is as the connection has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claim<'a> {
    /// address and port of the client
    pub client: Option<(IpAddr, Option<u16>)>,
    /// whether it came by TLS
    pub https: Option<bool>,
    /// the host that it asked for, as it was written: check it
    pub host: Option<Cow<'a, str>>,
    /// the port that it asked for
    pub port: Option<u16>,
}

/// Reads the fields of a request whose peer is trusted. `named` gives the values of all fields of a name, in the order
/// in which they came.
pub fn read<'a>(fields: Fields, named: impl Fn(&str) -> Vec<&'a [u8]>, trusted: &Networks) -> Claim<'a> {
    match fields {
        Fields::XForwarded => x_forwarded(named, trusted),
        Fields::Forwarded => forwarded(&named("forwarded"), trusted),
    }
}

fn x_forwarded<'a>(named: impl Fn(&str) -> Vec<&'a [u8]>, trusted: &Networks) -> Claim<'a> {
    let mut claim = Claim::default();
    let mut depth = 0;
    for (at, hop) in from_the_right(&named("x-forwarded-for")).enumerate() {
        let Some(client) = text(hop).and_then(node) else { break };
        claim.client = Some(client);
        depth = at;
        if !trusted.has(Some(client.0)) {
            break;
        }
    }
    // of the proxy that the client reached; or the last word on it, where not every proxy has added one
    let said = |name: &str| text(from_the_right(&named(name)).take(depth + 1).last()?);
    claim.https = said("x-forwarded-proto").and_then(is_https);
    claim.host = said("x-forwarded-host").map(Cow::Borrowed);
    claim.port = said("x-forwarded-port").and_then(|port| port.parse().ok());
    claim
}

/// The elements of a list that is spread over these fields, the last one first, without empty ones (RFC 9110 section
/// 5.6.1).
fn from_the_right<'l, 'a: 'l>(lines: &'l [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> + 'l {
    let elements = lines.iter().rev().flat_map(|line| line.rsplit(|&b| b == b','));
    elements.map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii())
}

/// `https`, or what some proxies write for WebSockets.
fn is_https(scheme: &str) -> Option<bool> {
    let is = |names: [&str; 2]| names.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    match (is(["https", "wss"]), is(["http", "ws"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn forwarded<'a>(lines: &[&'a [u8]], trusted: &Networks) -> Claim<'a> {
    let mut claim = Claim::default();
    for line in lines.iter().rev() {
        let mut rest = text(line);
        while let Some(all) = rest {
            let comma = last_comma(all);
            rest = comma.map(|comma| &all[..comma]);
            let element = comma.map_or(all, |comma| &all[comma + 1..]).trim_ascii();
            if element.is_empty() {
                continue;
            }
            let Some(hop) = Hop::read(element) else { return claim };
            claim.https = hop.proto.as_deref().and_then(is_https).or(claim.https);
            claim.host = hop.host.or(claim.host);
            let Some(client) = hop.client.as_deref().and_then(node) else { return claim };
            claim.client = Some(client);
            if !trusted.has(Some(client.0)) {
                return claim;
            }
        }
        if text(line).is_none() {
            return claim;
        }
    }
    claim
}

/// The last comma outside quotes, found from the right: a quote that a client has left open is at the left, and cannot
/// swallow what a proxy has added.
fn last_comma(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut quoted = false;
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            b'"' => {
                let escapes = bytes[..at].iter().rev().take_while(|&&b| b == b'\\').count();
                // one that is escaped is inside a quoted string
                quoted ^= escapes % 2 == 0;
            }
            b',' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// What one proxy says: a `forwarded-element`.
#[derive(Default)]
struct Hop<'a> {
    client: Option<Cow<'a, str>>,
    proto: Option<Cow<'a, str>>,
    host: Option<Cow<'a, str>>,
}

impl<'a> Hop<'a> {
    /// `None` when it is malformed.
    fn read(element: &'a str) -> Option<Self> {
        let mut hop = Hop::default();
        let mut rest = element;
        loop {
            let (name, behind) = rest.split_once('=')?;
            let (value, behind) = value(behind)?;
            let place = match name.trim_ascii() {
                name if name.eq_ignore_ascii_case("for") => Some(&mut hop.client),
                name if name.eq_ignore_ascii_case("proto") => Some(&mut hop.proto),
                name if name.eq_ignore_ascii_case("host") => Some(&mut hop.host),
                name if is_token(name) => None,
                _ => return None,
            };
            // RFC 7239 section 4: each once
            if place.is_some_and(|place| place.replace(value).is_some()) {
                return None;
            }
            match behind.trim_ascii_start().strip_prefix(';') {
                Some(next) => rest = next,
                None => return behind.trim_ascii().is_empty().then_some(hop),
            }
        }
    }
}

/// A token or a quoted string, and what is behind it.
fn value(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(inside) = text.strip_prefix('"') else {
        let end = text.find(|c: char| !is_lax(c)).unwrap_or(text.len());
        return (end > 0).then(|| (Cow::Borrowed(&text[..end]), &text[end..]));
    };
    let mut escaped = false;
    let end = inside.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    let (value, behind) = (&inside[..end], &inside[end + 1..]);
    if !value.contains('\\') {
        return Some((Cow::Borrowed(value), behind));
    }
    let mut chars = value.chars();
    let plain = std::iter::from_fn(|| match chars.next() {
        Some('\\') => chars.next(),
        other => other,
    });
    Some((Cow::Owned(plain.collect()), behind))
}

/// What a value without quotes may have: a token, and what proxies write though it should be quoted.
fn is_lax(c: char) -> bool {
    is_token_char(c) || matches!(c, ':' | '[' | ']')
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_token_char)
}

/// RFC 9110 section 5.6.2.
fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// No value from a client overrides what a trusted proxy appends to it.
        #[test]
        fn nothing_at_the_left_changes_what_is_at_the_right(
            before in "[ -~]{0,40}", quoted in "[ -~]{0,8}", own_line in any::<bool>()
        ) {
            let trusted = Networks::parse(&["10.0.0.0/8"]).unwrap();
            let host = format!("\"{}\"", quoted.replace('\\', "\\\\").replace('"', "\\\""));
            for (fields, name, added) in [
                (Fields::XForwarded, "x-forwarded-for", "192.0.2.7, 10.0.0.1".to_owned()),
                (
                    Fields::Forwarded,
                    "forwarded",
                    format!("for=\"192.0.2.7:80\";host={host};proto=https, for=10.0.0.1"),
                ),
            ] {
                let joined = if own_line { added.clone() } else { format!("{before}, {added}") };
                let lines = if own_line { vec![before.as_str(), &joined] } else { vec![joined.as_str()] };
                let named = |asked: &str| match asked == name {
                    true => lines.iter().map(|line| line.as_bytes()).collect(),
                    false => Vec::new(),
                };
                let claim = read(fields, named, &trusted);
                prop_assert_eq!(claim.client.unwrap().0.to_string(), "192.0.2.7");
                if fields == Fields::Forwarded {
                    prop_assert_eq!(claim.https, Some(true));
                    prop_assert_eq!(claim.host.as_deref(), Some(&*quoted));
                }
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let trusted = Networks::parse(&["0.0.0.0/0"]).unwrap();
            for fields in [Fields::XForwarded, Fields::Forwarded] {
                read(fields, |_| vec![&bytes[..]], &trusted);
            }
        }
    }
}

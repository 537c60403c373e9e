//! The target of a request (RFC 9112 section 3.2), and the host that it or `Host` names. Neighbour: `head`, which finds
//! both.

use crate::head::Content;
use grammar::bytes::alphanumeric_or;
use http::{Method, Uri};
use kept::Latest;
use memchr::{memchr, memmem};
use std::cell::RefCell;

/// `reg-name` (RFC 3986 section 3.2.2).
const HOST_NAME: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%");
/// What a path is made of, and a query with its `?` (RFC 3986 sections 3.3 and 3.4).
const PATH: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%:@/");
const QUERY: [bool; 256] = alphanumeric_or(b"-._~!$&'()*+,;=%:@/?");

/// Sets the target of a request whose method is known. Gives the authority of a target in absolute form; `None` when
/// the target is malformed.
pub fn set_target(target: &[u8], head: &mut Content) -> Option<Option<Box<str>>> {
    // nearly all are a path of plain bytes, with or without a query
    if target.first() == Some(&b'/') {
        let path = target.iter().position(|&b| !PATH[b as usize]).unwrap_or(target.len());
        if target[path..].first().is_none_or(|&b| b == b'?') && target[path..].iter().all(|&b| QUERY[b as usize]) {
            let target = std::str::from_utf8(target).ok()?;
            head.set_target(&target[..path], target.get(path + 1..));
            return Some(None);
        }
    }
    if target.is_empty() || !target.iter().all(|&b| is_target(b)) || !is_authority_sound(target) {
        return None;
    }
    let uri = Uri::try_from(target).ok()?;
    // what other schemes name is not here
    if uri.scheme_str().is_some_and(|scheme| !matches!(scheme, "http" | "https")) {
        return None;
    }
    let authority_alone = uri.scheme().is_none() && uri.authority().is_some();
    if authority_alone && head.method != Method::CONNECT {
        return None;
    }
    head.set_target(if authority_alone { "" } else { uri.path() }, uri.query());
    Some(uri.authority().map(|authority| authority.as_str().into()))
}

/// Bytes that a target may have. Browsers send some that RFC 3986 does not have, as `|` and `{`. Not those that others
/// read as something else: a fragment is never sent (RFC 9112 section 3.2), and a backslash is a slash to some.
pub fn is_target(b: u8) -> bool {
    b.is_ascii_graphic() && b != b'#' && b != b'\\'
}

/// Whether a target in absolute form names a host and no user (RFC 9110 section 4.2.4); true for other forms.
fn is_authority_sound(target: &[u8]) -> bool {
    if target[0] == b'/' {
        return true;
    }
    match memmem::find(target, b"://") {
        None => true,
        Some(at) => is_host(target[at + 3..].split(|b| matches!(b, b'/' | b'?')).next().unwrap_or_default()),
    }
}

thread_local! {
    /// what the request before has named
    static HOST_BEFORE: RefCell<Latest<bool>> = const { RefCell::new(Latest::new()) };
}

/// The same as [`is_host`] of what requests name, each of them.
pub fn is_host_of_request(value: &[u8]) -> bool {
    HOST_BEFORE.with_borrow_mut(|before| before.of(value, is_host))
}

/// `uri-host [ ":" port ]` (RFC 9110 section 7.2): a name, an IPv4 address, or an IPv6 address in brackets.
pub fn is_host(value: &[u8]) -> bool {
    let (name, port) = match value.strip_prefix(b"[") {
        Some(rest) => match memchr(b']', rest) {
            Some(end) => {
                let address = std::str::from_utf8(&rest[..end]).ok().and_then(|a| a.parse::<std::net::Ipv6Addr>().ok());
                if address.is_none() {
                    return false;
                }
                (&b"v6"[..], &rest[end + 1..])
            }
            None => return false,
        },
        None => {
            let end = memchr(b':', value).unwrap_or(value.len());
            (&value[..end], &value[end..])
        }
    };
    let name_ok = !name.is_empty() && name.len() <= 255 && name.iter().all(|&b| HOST_NAME[b as usize]);
    let port_ok = match port {
        [] => true,
        [b':', digits @ ..] => {
            digits.iter().all(u8::is_ascii_digit)
                && (digits.is_empty() || std::str::from_utf8(digits).is_ok_and(|d| d.parse::<u16>().is_ok()))
        }
        _ => false,
    };
    name_ok && port_ok
}

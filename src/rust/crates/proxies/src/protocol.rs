//! PROXY protocol, versions 1 and 2: what a balancer sends before all else of a connection, to say whom it is from.
//! By the text of HAProxy's authors, "The PROXY protocol, Versions 1 & 2", of which sections are named here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest header that is read. Of version 1 none is longer than 107 bytes (2.1); of version 2 this leaves room for
/// what balancers add behind the addresses, a few hundred bytes.
pub const LONGEST: usize = 4096;
const LONGEST_LINE: usize = 107;
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const LINE: &[u8; 6] = b"PROXY ";

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub enum Header {
    /// the beginning of a header: more must come
    Part,
    /// a complete header
    Whole {
        /// its length in bytes; what follows is the client's
        len: usize,
        /// whom the connection is from; `None` when it is the balancer's own, or it does not know
        client: Option<SocketAddr>,
    },
    /// no header, for this reason
    Wrong(&'static str),
}

/// Reads the first bytes of a connection.
pub fn header(bytes: &[u8]) -> Header {
    let is_begun = |start: &[u8]| bytes.iter().zip(start).all(|(a, b)| a == b);
    if is_begun(SIGNATURE) {
        return if bytes.len() < SIGNATURE.len() { Header::Part } else { binary(bytes) };
    }
    if is_begun(LINE) {
        return if bytes.len() < LINE.len() { Header::Part } else { line(bytes) };
    }
    Header::Wrong("it does not begin with one")
}

/// Version 1 (2.1).
fn line(bytes: &[u8]) -> Header {
    let within = &bytes[..bytes.len().min(LONGEST_LINE)];
    let Some(end) = within.windows(2).position(|pair| pair == b"\r\n") else {
        return if within.len() < LONGEST_LINE { Header::Part } else { Header::Wrong("the line is too long") };
    };
    let is_plain = |text: &&str| text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    match std::str::from_utf8(&within[LINE.len()..end]).ok().filter(is_plain).and_then(addresses) {
        Some(client) => Header::Whole { len: end + 2, client },
        None => Header::Wrong("the line is malformed"),
    }
}

fn addresses(text: &str) -> Option<Option<SocketAddr>> {
    let mut words = text.split(' ');
    let family = words.next()?;
    if family == "UNKNOWN" {
        // what else the line has is to be ignored
        return Some(None);
    }
    let mut address = || {
        let word = words.next()?;
        match family {
            "TCP4" => word.parse().ok().map(IpAddr::V4),
            "TCP6" => word.parse().ok().map(IpAddr::V6),
            _ => None,
        }
    };
    let (from, _to) = (address()?, address()?);
    let mut port = || {
        let word = words.next()?;
        // no sign, no zero in front
        let is_plain = word == "0" || word.starts_with(|c: char| ('1'..='9').contains(&c));
        word.parse::<u16>().ok().filter(|_| is_plain)
    };
    let (port, _to) = (port()?, port()?);
    words.next().is_none().then_some(Some(SocketAddr::new(from, port)))
}

/// Version 2 (2.2).
fn binary(bytes: &[u8]) -> Header {
    let Some([version_and_command, family, high, low]) = bytes.get(12..16).and_then(|b| b.first_chunk::<4>()).copied()
    else {
        return Header::Part;
    };
    let len = 16 + usize::from(u16::from_be_bytes([high, low]));
    let is_proxied = match version_and_command {
        0x21 => true,
        // the balancer's own connection, to see whether the server is there
        0x20 => false,
        _ => return Header::Wrong("its version or command is unknown"),
    };
    if len > LONGEST {
        return Header::Wrong("it is too long");
    }
    // what the addresses take; the rest is for whoever knows what it means
    let needed = match family {
        // TCP or UDP by IPv4 and by IPv6, and sockets in the file system
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 216,
        0x00 => 0,
        _ => return Header::Wrong("its kind of address is unknown"),
    };
    if is_proxied && len < 16 + needed {
        return Header::Wrong("it is too short for its addresses");
    }
    let Some(rest) = bytes.get(16..len) else { return Header::Part };
    let client = match family {
        0x11 if is_proxied => ipv4(rest),
        0x21 if is_proxied => ipv6(rest),
        _ => None,
    };
    Header::Whole { len, client }
}

fn ipv4(rest: &[u8]) -> Option<SocketAddr> {
    let (address, port) = (rest.first_chunk::<4>()?, rest.get(8..)?.first_chunk()?);
    Some(SocketAddr::new(Ipv4Addr::from(*address).into(), u16::from_be_bytes(*port)))
}

fn ipv6(rest: &[u8]) -> Option<SocketAddr> {
    let (address, port) = (rest.first_chunk::<16>()?, rest.get(32..)?.first_chunk()?);
    Some(SocketAddr::new(Ipv6Addr::from(*address).into(), u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let len = (rest.len() as u16).to_be_bytes();
        [&SIGNATURE[..], &[command, family], &len, rest].concat()
    }

    fn whole(bytes: &[u8]) -> Option<SocketAddr> {
        // behind it is the client's, and before it is whole nothing is decided
        let all = [bytes, b"GET / HTTP/1.1\r\n"].concat();
        for end in 0..bytes.len() {
            assert_eq!(header(&bytes[..end]), Header::Part, "{end} bytes");
        }
        match header(&all) {
            Header::Whole { len, client } => {
                assert_eq!(len, bytes.len());
                client
            }
            other => panic!("{other:?}"),
        }
    }

    fn address(text: &str) -> Option<SocketAddr> {
        text.parse().ok()
    }

    #[test]
    fn lines() {
        assert_eq!(whole(b"PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n"), address("192.0.2.7:4711"));
        assert_eq!(whole(b"PROXY TCP6 2001:db8::7 ::1 0 65535\r\n"), address("[2001:db8::7]:0"));
        assert_eq!(whole(b"PROXY UNKNOWN\r\n"), None);
        assert_eq!(whole(b"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n"), None);
        let longest = format!("PROXY UNKNOWN {}\r\n", "x".repeat(LONGEST_LINE - 16));
        assert_eq!((longest.len(), whole(longest.as_bytes())), (LONGEST_LINE, None));
    }

    #[test]
    fn lines_that_are_wrong() {
        for text in [
            "GET / HTTP/1.1\r\n",
            "PROXY\tTCP4 192.0.2.7 10.0.0.1 1 2\r\n",
            "proxy TCP4 192.0.2.7 10.0.0.1 1 2\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 1\r\n",
            "PROXY TCP4 192.0.2.7  10.0.0.1 1 2\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 +1 2\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 01 2\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 65536 2\r\n",
            "PROXY TCP4 2001:db8::7 ::1 1 2\r\n",
            "PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n",
            "PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n",
            "PROXY \r\n",
            "PROXY UNKNOWN \r x\r\n",
            "PROXY UNKNOWN \0\r\n",
            "PROXY TCP4 192.0.2.7 10.0.0.1 1 \u{ff11}\r\n",
        ] {
            assert!(matches!(header(text.as_bytes()), Header::Wrong(_)), "{text:?}");
        }
        let endless = format!("PROXY UNKNOWN {}", "x".repeat(1 << 20));
        assert_eq!(header(endless.as_bytes()), Header::Wrong("the line is too long"));
    }

    #[test]
    fn headers_in_bytes() {
        let v4 = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x67, 1, 187];
        assert_eq!(whole(&v2(0x21, 0x11, &v4)), address("192.0.2.7:4711"));
        // and what stands behind the addresses
        assert_eq!(whole(&v2(0x21, 0x11, &[&v4[..], &[4, 0, 3, 1, 2, 3]].concat())), address("192.0.2.7:4711"));
        let mut v6 = [0; 36];
        v6[..16].copy_from_slice(&"2001:db8::7".parse::<Ipv6Addr>().unwrap().octets());
        v6[32..34].copy_from_slice(&[0x12, 0x67]);
        assert_eq!(whole(&v2(0x21, 0x21, &v6)), address("[2001:db8::7]:4711"));
        assert_eq!(whole(&v2(0x20, 0x00, &[])), None);
        assert_eq!(whole(&v2(0x20, 0x11, &v4)), None, "the balancer's own");
        assert_eq!(whole(&v2(0x21, 0x00, &[])), None);
        assert_eq!(whole(&v2(0x21, 0x31, &[b'/'; 216])), None);
        assert_eq!(whole(&v2(0x21, 0x11, &[0; LONGEST - 16])), address("0.0.0.0:0"));
    }

    #[test]
    fn headers_in_bytes_that_are_wrong() {
        for (command, family, rest) in [
            (0x21, 0x11, vec![0; 11]),
            (0x21, 0x21, vec![0; 35]),
            (0x21, 0x31, vec![0; 215]),
            (0x21, 0x11, vec![0; LONGEST - 15]),
            (0x21, 0x41, vec![0; 40]),
            (0x22, 0x11, vec![0; 12]),
            (0x11, 0x11, vec![0; 12]),
        ] {
            let bytes = v2(command, family, &rest);
            assert!(matches!(header(&bytes), Header::Wrong(_)), "{command:x} {family:x} {}", rest.len());
            // nothing of what it says is waited for
            assert!(matches!(header(&bytes[..16]), Header::Wrong(_)), "{command:x} {family:x}");
        }
    }
}

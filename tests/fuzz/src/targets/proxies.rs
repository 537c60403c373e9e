//! What proxies report. A PROXY protocol header counts as partial until it is complete, bytes behind it change nothing,
//! and the address is the one at its place. In fields, what a trusted proxy adds counts, for anything a client sends.
//!
//! Input: a byte that says which, then bytes of a connection, or fields, a line each.

use crate::input::Input;
use proxies::{header, read, Fields, Header, Networks};
use std::net::{IpAddr, SocketAddr};

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 3 {
        0 => announced(input.0),
        1 => added(Fields::XForwarded, "x-forwarded-for", input.0, b"192.0.2.7, 10.0.0.1"),
        _ => added(Fields::Forwarded, "forwarded", input.0, b"for=192.0.2.7;proto=https, for=\"10.0.0.1:80\""),
    }
}

fn announced(bytes: &[u8]) {
    match header(bytes) {
        Header::Whole { len, client } => {
            for end in 0..len {
                assert_eq!(header(&bytes[..end]), Header::Part, "{end} of {len} bytes");
            }
            assert_eq!(header(&[&bytes[..len], b"GET"].concat()), Header::Whole { len, client });
            assert_eq!(second_opinion(&bytes[..len]), client);
        }
        wrong @ Header::Wrong(_) => {
            let more = [bytes, &[0; 64]].concat();
            assert!(matches!(header(&more), Header::Wrong(_)), "{wrong:?}, and then not");
        }
        Header::Part => assert!(bytes.len() < proxies::LONGEST),
    }
}

/// The address by the places where it stands, in a header that is whole.
fn second_opinion(bytes: &[u8]) -> Option<SocketAddr> {
    if bytes.starts_with(b"PROXY ") {
        let text = std::str::from_utf8(bytes).expect("ASCII");
        let words: Vec<&str> = text.split_whitespace().collect();
        let from = |words: &[&str]| Some(SocketAddr::new(words[2].parse().ok()?, words[4].parse().ok()?));
        return (words[1] != "UNKNOWN").then(|| from(&words).expect("an address and a port"));
    }
    let address = |at: usize, n: usize| -> IpAddr {
        let bytes = &bytes[at..at + n];
        <[u8; 4]>::try_from(bytes).map(IpAddr::from).unwrap_or_else(|_| <[u8; 16]>::try_from(bytes).unwrap().into())
    };
    let port = |at: usize| u16::from(bytes[at]) << 8 | u16::from(bytes[at + 1]);
    match bytes[12..14] {
        [0x21, 0x11] => Some(SocketAddr::new(address(16, 4), port(24))),
        [0x21, 0x21] => Some(SocketAddr::new(address(16, 16), port(48))),
        _ => None,
    }
}

fn added(fields: Fields, name: &str, sent: &[u8], by_proxy: &[u8]) {
    let trusted = Networks::parse(&["10.0.0.0/8"]).expect("a network");
    let mut lines: Vec<Vec<u8>> = sent.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let client_of = |lines: &[Vec<u8>]| {
        let named = |asked: &str| lines.iter().filter(|_| asked == name).map(|line| &line[..]).collect();
        read(fields, named, &trusted).client.map(|(address, _)| address.to_string())
    };
    client_of(&lines);
    // a line of its own
    lines.push(by_proxy.to_vec());
    assert_eq!(client_of(&lines).as_deref(), Some("192.0.2.7"));
    // or behind what the client has sent, which is a field that HTTP lets pass
    lines.pop();
    if lines.iter().all(|line| line.is_ascii()) {
        let last = lines.last_mut().expect("split gives one at least");
        last.extend_from_slice(b", ");
        last.extend_from_slice(by_proxy);
        assert_eq!(client_of(&lines).as_deref(), Some("192.0.2.7"));
    }
}

//! Where `drover bench` sends requests, and what these are.

use super::BenchArgs;
use crate::exit::{Code, Error};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Where requests go, and what they are.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    pub(super) request: Vec<u8>,
    /// whether its answers have no body
    pub(super) is_head: bool,
    pub(super) timeout: Duration,
}

/// Host, with port, and the rest of `http://HOST:PORT/PATH?QUERY`.
pub(super) fn parts(url: &str) -> Result<(String, String), String> {
    let wrong = || format!("the URL must be http://HOST:PORT/PATH, not '{url}'");
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    if host.is_empty() || host.contains('@') || !is_plain(host) || !is_plain(target) {
        return Err(wrong());
    }
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    Ok((host.to_owned(), target))
}

/// The bytes of a request.
pub(super) fn request(args: &BenchArgs, host: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let mut head = format!("{} {target} HTTP/1.1\r\n", args.method);
    let has = |name: &str| {
        args.headers.iter().any(|field| field.split(':').next().is_some_and(|known| known.eq_ignore_ascii_case(name)))
    };
    for (name, value) in
        [("Host", host), ("User-Agent", concat!("drover-bench/", env!("CARGO_PKG_VERSION"))), ("Accept", "*/*")]
    {
        if !has(name) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    for field in &args.headers {
        let _ = write!(head, "{field}\r\n");
    }
    if args.body.is_some() {
        let _ = write!(head, "Content-Length: {}\r\n", body.len());
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Where a host is that somebody listens on.
pub(super) async fn reach(host: &str) -> Result<SocketAddr, Error> {
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(before, port)| port.parse::<u16>().is_ok() && (!before.contains(':') || before.ends_with(']')));
    let place = if has_port { host.to_owned() } else { format!("{host}:80") };
    let mut problem = format!("{host} is no host");
    for address in tokio::net::lookup_host(&place).await.map_err(|e| Error::new(Code::Usage, format!("{host}: {e}")))? {
        match timeout(Duration::from_secs(5), TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(address),
            Ok(Err(e)) => problem = e.to_string(),
            Err(_) => problem = "no answer".to_owned(),
        }
    }
    Err(Error::new(Code::Address, format!("cannot connect to {host}: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_plain_http() {
        let parts = |url: &str| parts(url).ok();
        let pair = |host: &str, target: &str| Some((host.to_owned(), target.to_owned()));
        assert_eq!(parts("http://a:80/b?c#d"), pair("a:80", "/b?c"));
        assert_eq!(parts("http://[::1]:8080"), pair("[::1]:8080", "/"));
        assert_eq!(parts("http://a?x=1"), pair("a", "/?x=1"));
        for wrong in ["https://a/", "a", "http://", "http:///x", "http://u@a/", "http://a/b c", "http://a/\r\nX: 1"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}

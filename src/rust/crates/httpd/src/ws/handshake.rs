//! What a client asks for when it wants a WebSocket: RFC 6455 section 4.2.1, RFC 8441 section 5, RFC 7692 section 7.1.

use crate::head::{ascii, is_own_origin, Head, Version};
use crate::response::Failure;
use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, ORIGIN, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use std::collections::HashSet;
use websocket::{derive_accept_key, Deflate, LEAST_BITS, MOST_BITS};

/// The one version that there is.
const VERSION: &str = "13";

/// What was asked for, and what the answer has to say.
#[derive(Debug)]
pub struct Handshake {
    /// the sub-protocol
    pub protocol: Option<String>,
    /// the compression
    pub deflate: Option<Deflate>,
    /// what proves that the server has understood; HTTP/2 needs no proof
    accept: Option<String>,
}

/// Whether a request asks for a WebSocket.
pub fn is_wanted(head: &Head) -> bool {
    match head.version {
        Version::Http2 => head.protocol.as_deref() == Some("websocket"),
        _ => head.method == Method::GET && tokens(head, &UPGRADE).any(|token| token.eq_ignore_ascii_case("websocket")),
    }
}

impl Handshake {
    /// Reads a request that [`is_wanted`], which the client has sent by `https` or not. `protocols` are those that the
    /// server speaks, `origins` the pages that may connect; `None` for those of the server itself, and all that come
    /// without what a browser knows of this site.
    ///
    /// # Errors
    /// Why there is no WebSocket.
    pub fn read(
        head: &Head,
        https: bool,
        protocols: &[String],
        origins: Option<&[String]>,
        deflate: bool,
    ) -> Result<Handshake, Failure> {
        let accept = match head.version {
            Version::Http2 => None,
            _ => Some(accept(head)?),
        };
        if !head.fields.all(&SEC_WEBSOCKET_VERSION).eq([VERSION.as_bytes()]) {
            return Err(wanting("the version of the WebSocket must be 13"));
        }
        check_origin(head, https, origins)?;
        let offered: Vec<&str> = tokens(head, &SEC_WEBSOCKET_PROTOCOL).collect();
        let protocol = protocols.iter().find(|one| offered.contains(&one.as_str())).cloned();
        let deflate = if deflate { offers(head).find_map(read_offer) } else { None };
        Ok(Handshake { protocol, deflate, accept })
    }

    /// The header fields of the answer, but for those of the connection.
    pub fn fields(&self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            // names of protocols were checked when the route was registered
            if let Ok(value) = HeaderValue::from_str(value) {
                fields.insert(name, value);
            }
        };
        if let Some(accept) = &self.accept {
            put(http::header::SEC_WEBSOCKET_ACCEPT, accept);
        }
        if let Some(protocol) = &self.protocol {
            put(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        if let Some(Deflate { bits }) = self.deflate {
            let window = if bits < MOST_BITS { format!("; server_max_window_bits={bits}") } else { String::new() };
            let value = format!("permessage-deflate; server_no_context_takeover; client_no_context_takeover{window}");
            put(SEC_WEBSOCKET_EXTENSIONS, &value);
        }
        fields
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        if self.accept.is_some() {
            StatusCode::SWITCHING_PROTOCOLS
        } else {
            StatusCode::OK
        }
    }
}

/// 426: only a WebSocket is to be had here (RFC 9110 section 15.5.22).
pub fn wanting(why: &str) -> Failure {
    Failure::new(StatusCode::UPGRADE_REQUIRED, why).with(&UPGRADE, "websocket").with(&SEC_WEBSOCKET_VERSION, VERSION)
}

fn bad(why: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, why)
}

/// The proof for the key of an HTTP/1.1 request.
fn accept(head: &Head) -> Result<String, Failure> {
    if head.version != Version::Http11 {
        return Err(bad("a WebSocket needs HTTP/1.1"));
    }
    if !tokens(head, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade")) {
        return Err(bad("the field Connection must have `Upgrade` in it"));
    }
    let mut keys = head.fields.all(&SEC_WEBSOCKET_KEY);
    let (key, second) = (keys.next().and_then(ascii), keys.next());
    // 16 bytes in base64
    let is_key = |key: &&str| {
        let body = key.strip_suffix("==");
        body.is_some_and(|body| {
            body.len() == 22 && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
        })
    };
    match key.filter(is_key) {
        Some(key) if second.is_none() => Ok(derive_accept_key(key.as_bytes())),
        _ => Err(bad("the field Sec-WebSocket-Key must be 16 bytes in base64")),
    }
}

/// Pages of other sites are not to use the cookies and passwords that a browser has for this one: their scripts may
/// open a WebSocket to anywhere, and the browser sends them along.
fn check_origin(head: &Head, https: bool, origins: Option<&[String]>) -> Result<(), Failure> {
    let mut fields = head.fields.all(&ORIGIN);
    // programs that are no browsers have none
    let Some(origin) = fields.next() else { return Ok(()) };
    if fields.next().is_some() {
        return Err(bad("there are two fields Origin"));
    }
    let is_allowed = match origins {
        // a page that came in cleartext may be anybody's; whether TLS ends in front of the server is not known
        None => {
            let has_none = |name| head.fields.get(name).is_none();
            let is_own = is_own_origin(head, origin) && !(https && origin.starts_with(b"http:"));
            is_own || (has_none(&COOKIE) && has_none(&AUTHORIZATION))
        }
        // not by the field Host, which may be any name that has led the browser here
        Some(origins) => origins.iter().any(|one| one == "*" || one.as_bytes().eq_ignore_ascii_case(origin)),
    };
    if is_allowed {
        return Ok(());
    }
    let origin = String::from_utf8_lossy(origin).into_owned();
    let why = if origins.is_some() { "is not among `origins`" } else { "is another site, and sends credentials" };
    Err(Failure::new(StatusCode::FORBIDDEN, "this page may not connect").because(format_args!("origin {origin} {why}")))
}

/// The elements of all fields of a name that have commas in between.
fn tokens<'a>(head: &'a Head, name: &'a HeaderName) -> impl Iterator<Item = &'a str> {
    head.fields.all(name).filter_map(ascii).flat_map(|value| value.split(',')).map(str::trim).filter(|t| !t.is_empty())
}

/// What is offered of compression, in the client's order.
fn offers(head: &Head) -> impl Iterator<Item = &str> {
    let params = |offer: &&str| offer.split(';').next().is_some_and(|name| name.trim() == "permessage-deflate");
    tokens(head, &SEC_WEBSOCKET_EXTENSIONS).filter(params)
}

/// What was offered, if the server can do it as it was offered.
fn read_offer(offer: &str) -> Option<Deflate> {
    let mut bits = MOST_BITS;
    let mut seen = HashSet::new();
    for param in offer.split(';').skip(1).map(str::trim) {
        let (name, value) = match param.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
            None => (param, None),
        };
        let window = || value.filter(|v| !v.starts_with('0')).and_then(|v| v.parse::<u8>().ok());
        match (name, value) {
            ("server_no_context_takeover" | "client_no_context_takeover", None) => {}
            // it is to be used at most, and may be used to the full
            ("client_max_window_bits", None) => {}
            ("client_max_window_bits", Some(_)) => {
                window().filter(|bits| (8..=MOST_BITS).contains(bits))?;
            }
            ("server_max_window_bits", Some(_)) => {
                bits = window().filter(|bits| (LEAST_BITS..=MOST_BITS).contains(bits))?;
            }
            _ => return None,
        }
        if !seen.insert(name) {
            return None;
        }
    }
    Some(Deflate { bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn head(more: &[(&str, &str)]) -> Head {
        let mut head = Head::new();
        head.set_target("/ws", None);
        for (name, value) in [("host", "here:80"), ("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket")] {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        for (name, value) in [("sec-websocket-version", "13"), ("sec-websocket-key", KEY)] {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        more.iter().for_each(|(name, value)| head.fields.set(name.as_bytes(), value.as_bytes()));
        head
    }

    fn status(more: &[(&str, &str)], origins: Option<&[String]>) -> u16 {
        Handshake::read(&head(more), false, &[], origins, false)
            .map_or_else(|f| f.status.as_u16(), |h| h.status().as_u16())
    }

    #[test]
    fn the_example_of_the_rfc_is_accepted() {
        assert!(is_wanted(&head(&[])) && !is_wanted(&head(&[("upgrade", "h2c")])));
        let fields = Handshake::read(&head(&[]), false, &[], None, true).unwrap().fields();
        assert_eq!(fields["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(fields.len(), 1);
    }

    #[test]
    fn what_is_no_handshake_is_refused() {
        assert_eq!(status(&[("sec-websocket-version", "8")], None), 426);
        let mut twice = head(&[]);
        twice.fields.push(b"sec-websocket-version", b"13");
        assert!(Handshake::read(&twice, false, &[], None, false).is_err());
        assert_eq!(status(&[("connection", "close")], None), 400);
        for key in ["", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=!", "AAAA"] {
            assert_eq!(status(&[("sec-websocket-key", key)], None), 400, "{key}");
        }
    }

    #[test]
    fn pages_of_other_sites_do_not_get_to_use_credentials() {
        let other = ("origin", "https://evil.example");
        assert_eq!(status(&[other, ("authorization", "Basic YTpi")], None), 403);
        assert_eq!(status(&[other], None), 101);
        assert_eq!(status(&[other, ("cookie", "a=1")], None), 403);
        assert_eq!(status(&[("origin", "http://HERE:80"), ("cookie", "a=1")], None), 101);
        assert_eq!(status(&[("cookie", "a=1")], None), 101);
        let known = ["https://app.example".to_owned()];
        assert_eq!(status(&[other], Some(&known)), 403);
        assert_eq!(status(&[("origin", "https://app.example"), ("cookie", "a=1")], Some(&known)), 101);
        assert_eq!(status(&[other, ("cookie", "a=1")], Some(&["*".to_owned()])), 101);
        assert_eq!(status(&[("origin", "http://here:80")], Some(&known)), 403, "any name may lead here");
        let mut twice = head(&[("cookie", "a=1")]);
        twice.fields.push(b"origin", b"http://here:80");
        twice.fields.push(b"origin", b"https://evil.example");
        assert!(Handshake::read(&twice, false, &[], None, false).is_err());
        for (origin, https, is_taken) in
            [("http", false, true), ("https", false, true), ("https", true, true), ("http", true, false)]
        {
            let head = head(&[("origin", &format!("{origin}://here:80")), ("cookie", "a=1")]);
            assert_eq!(Handshake::read(&head, https, &[], None, false).is_ok(), is_taken, "{origin} {https}");
        }
    }

    #[test]
    fn the_first_protocol_of_the_server_that_is_offered_is_chosen() {
        let own = ["v2".to_owned(), "v1".to_owned()];
        let chosen = |offer: &str| {
            Handshake::read(&head(&[("sec-websocket-protocol", offer)]), false, &own, None, false).unwrap().protocol
        };
        assert_eq!(chosen("v1, v2").as_deref(), Some("v2"));
        assert_eq!(chosen("v1").as_deref(), Some("v1"));
        assert_eq!(chosen("v3"), None);
    }

    #[test]
    fn compression_is_taken_as_it_is_offered_or_not_at_all() {
        let taken = |offer: &str, deflate| {
            let offer = [("sec-websocket-extensions", offer)];
            let fields = Handshake::read(&head(&offer), false, &[], None, deflate).unwrap().fields();
            fields.get("sec-websocket-extensions").map(|value| value.to_str().unwrap().to_owned())
        };
        let plain = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        assert_eq!(taken("permessage-deflate", false), None);
        for offer in ["permessage-deflate", "x-other, permessage-deflate; client_max_window_bits"] {
            assert_eq!(taken(offer, true).as_deref(), Some(plain));
        }
        let nine = format!("{plain}; server_max_window_bits=9");
        assert_eq!(taken("permessage-deflate; server_max_window_bits=9", true), Some(nine.clone()));
        let second = "permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=\"9\"";
        assert_eq!(taken(second, true), Some(nine));
        for wrong in ["; a", "; server_max_window_bits", "; server_max_window_bits=16", "; server_max_window_bits=09"] {
            assert_eq!(taken(&format!("permessage-deflate{wrong}"), true), None, "{wrong}");
        }
        let twice = "permessage-deflate; client_no_context_takeover; client_no_context_takeover";
        assert_eq!(taken(twice, true), None);
    }
}

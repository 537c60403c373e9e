//! A connection, to the answer of the server that it is a WebSocket: RFC 6455 section 4.1.

use crate::target::{Options, Target};
use crate::tls;
use bytes::BytesMut;
use http::header::{
    HeaderMap, CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use http::{HeaderName, HeaderValue};
use std::fmt::Write as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use websocket::{derive_accept_key, generate_key, Deflate, MOST_BITS};

/// Longest head of an answer in bytes, and most fields in it.
const LONGEST_HEAD: usize = 64 << 10;
const MOST_FIELDS: usize = 100;

/// A connection to the server: plain TCP or TLS.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A WebSocket that is open.
pub struct Opened {
    pub wire: Box<dyn Wire>,
    /// what has come behind the answer
    pub read: BytesMut,
    pub protocol: Option<String>,
    pub deflate: Option<Deflate>,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// that of the answer, or 0 when there was none
    pub status: u16,
    pub why: String,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Refused { status: 0, why }
    }
}

/// Connects.
pub async fn open(options: &Options) -> Result<Opened, Refused> {
    let Target { is_secure, host, port, .. } = &options.target;
    let failed = |e: std::io::Error| Refused::from(format!("{host}:{port}: {e}"));
    let socket = TcpStream::connect((host.as_str(), *port)).await.map_err(failed)?;
    // a message is not to wait for the one before
    let _ = socket.set_nodelay(true);
    let mut wire: Box<dyn Wire> =
        if *is_secure { Box::new(tls::begin(socket, host, options.ca.as_deref()).await?) } else { Box::new(socket) };
    let key = generate_key();
    wire.write_all(request(options, &key).as_slice()).await.map_err(failed)?;
    wire.flush().await.map_err(failed)?;
    let mut read = BytesMut::new();
    let (status, fields) = loop {
        if wire.read_buf(&mut read).await.map_err(failed)? == 0 {
            return Err(format!("{host}:{port}: the server has hung up").into());
        }
        if let Some((len, status, fields)) = head(&read)? {
            let _ = read.split_to(len);
            break (status, fields);
        }
    };
    let (protocol, deflate) = check(status, &fields, &key, options)?;
    Ok(Opened { wire, read, protocol, deflate })
}

fn request(options: &Options, key: &str) -> Vec<u8> {
    let Options { target, headers, protocols, deflate, .. } = options;
    let mut text = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n",
        target.path, target.authority
    );
    if !protocols.is_empty() {
        let _ = write!(text, "Sec-WebSocket-Protocol: {}\r\n", protocols.join(", "));
    }
    if *deflate {
        // each message for itself, so that nothing of it is kept
        text.push_str(
            "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n",
        );
    }
    let mut bytes = text.into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// The head of an answer, if all of it is here: its length, its status and its fields.
fn head(bytes: &[u8]) -> Result<Option<(usize, u16, HeaderMap)>, Refused> {
    let not_http = || Refused::from("the server does not speak HTTP/1.1".to_owned());
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let len = match response.parse(bytes).map_err(|_| not_http())? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial if bytes.len() > LONGEST_HEAD => return Err(not_http()),
        httparse::Status::Partial => return Ok(None),
    };
    let mut map = HeaderMap::new();
    for field in response.headers.iter() {
        let name = HeaderName::try_from(field.name).map_err(|_| not_http())?;
        map.append(name, HeaderValue::from_bytes(field.value).map_err(|_| not_http())?);
    }
    Ok(Some((len, response.code.ok_or_else(not_http)?, map)))
}

/// Whether the answer is one to what was asked: the sub-protocol and the compression.
fn check(
    status: u16,
    fields: &HeaderMap,
    key: &str,
    options: &Options,
) -> Result<(Option<String>, Option<Deflate>), Refused> {
    let refuse = |why: String| Refused { status, why };
    if status != 101 {
        let phrase = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        return Err(refuse(
            format!("the server answers {status} {}", phrase.unwrap_or_default()).trim_end().to_owned(),
        ));
    }
    let has = |name: HeaderName, word: &str| tokens(fields, &name).any(|token| token.eq_ignore_ascii_case(word));
    if !has(UPGRADE, "websocket") || !has(CONNECTION, "upgrade") {
        return Err(refuse("the server changes to another protocol".to_owned()));
    }
    let accept = fields.get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    if accept != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(refuse("the server has not understood that a WebSocket is wanted".to_owned()));
    }
    let mut chosen = tokens(fields, &SEC_WEBSOCKET_PROTOCOL);
    let protocol = chosen.next().map(str::to_owned);
    if chosen.next().is_some() || protocol.as_ref().is_some_and(|one| !options.protocols.contains(one)) {
        return Err(refuse("the server chooses a sub-protocol that was not offered".to_owned()));
    }
    let mut deflate = None;
    for extension in tokens(fields, &SEC_WEBSOCKET_EXTENSIONS) {
        if !options.deflate || deflate.is_some() || !is_ours(extension) {
            return Err(refuse(format!("the server chooses an extension that was not offered: {extension}")));
        }
        deflate = Some(Deflate { bits: MOST_BITS });
    }
    Ok((protocol, deflate))
}

/// Whether this is the compression that was offered: nothing is kept from one message to the next.
fn is_ours(extension: &str) -> bool {
    let mut parts = extension.split(';').map(str::trim);
    let is_deflate = parts.next() == Some("permessage-deflate");
    let params: Vec<&str> = parts.collect();
    is_deflate
        && params.contains(&"server_no_context_takeover")
        && params.iter().all(|param| {
            let (name, value) = param.split_once('=').map_or((*param, None), |(name, value)| (name, Some(value)));
            match name.trim() {
                "server_no_context_takeover" | "client_no_context_takeover" => value.is_none(),
                // that of the other end: any is read
                "server_max_window_bits" => value.is_some(),
                _ => false,
            }
        })
}

/// The elements of a field that is a list.
fn tokens<'a>(fields: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = fields.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

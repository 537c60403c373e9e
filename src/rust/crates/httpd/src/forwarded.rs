//! What a trusted proxy says of a request: whom it is from, and by what scheme and for which host the client came.
//! Neighbours: `client`, and the crate `proxies`, which reads the fields.

use crate::client::{Client, Proxies, RemoteAddress};
use crate::connection::Connection;
use crate::h1::is_host;
use crate::head::{Fields, Head};
use http::header::{FORWARDED, HOST, VIA};
use http::HeaderName;
use std::sync::Arc;

/// See the module.
#[derive(Debug)]
pub struct Forwarded {
    /// whom it is from; `None` when that was not said
    pub client: Option<Client>,
    /// whether the client came by TLS; `None` when that was not said
    pub https: Option<bool>,
    /// what it calls the request, see [`REQUEST_ID`]
    pub request_id: Option<Box<str>>,
}

/// The field by which proxies and servers name a request to each other, and to whoever asks what has become of it.
pub const REQUEST_ID: HeaderName = HeaderName::from_static(NAME);
const NAME: &str = "x-request-id";
/// Names are up to so long; a UUID has 36 characters.
const LONGEST_ID: usize = 128;

impl Forwarded {
    /// Whom a request of this connection is from.
    pub fn client_of<'a>(forwarded: Option<&'a Arc<Self>>, connection: &'a Connection) -> &'a Client {
        forwarded.and_then(|forwarded| forwarded.client.as_ref()).unwrap_or_else(|| connection.client())
    }

    /// Of a request of this connection. The host that the client asked for takes the place of that of the head. `None`
    /// when the peer is not trusted.
    pub fn read(head: &mut Head, connection: &Connection) -> Option<Arc<Self>> {
        if !connection.is_of_proxy() {
            return None;
        }
        let Proxies { trusted, fields, .. } = &connection.server().proxies;
        let named = |name: &str| head.fields.named(name.as_bytes()).collect();
        let claim = proxies::read(*fields, named, trusted);
        let https = claim.https.unwrap_or(connection.tls().is_some());
        let host = claim.host.filter(|host| is_host(host.as_bytes())).map(|host| match claim.port {
            Some(port) if !has_port(&host) && port != usual_port(https) => format!("{host}:{port}"),
            _ => host.into_owned(),
        });
        let client = claim
            .client
            .map(|(ip, port)| Client { address: RemoteAddress::new(Some(ip)), port: port.unwrap_or_default() });
        let request_id = request_id(&head.fields).map(Box::from);
        let forwarded = Arc::new(Forwarded { client, https: claim.https, request_id });
        if let Some(host) = host {
            head.fields.set(HOST.as_str().as_bytes(), host.as_bytes());
        }
        Some(forwarded)
    }
}

/// Whether a request says that a proxy has passed it on.
pub fn is_forwarded(fields: &Fields) -> bool {
    let others = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];
    let others = others.map(HeaderName::from_static);
    [FORWARDED, VIA].iter().chain(&others).any(|name| fields.get(name).is_some())
}

/// What its sender calls a request; `None` for what could be mistaken for something else in a log, or was said twice.
fn request_id(fields: &Fields) -> Option<&str> {
    let mut all = fields.named(NAME.as_bytes());
    let id = all.next().filter(|id| (1..=LONGEST_ID).contains(&id.len()))?;
    let is_sound = id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/+=@".contains(byte));
    std::str::from_utf8(id).ok().filter(|_| is_sound && all.next().is_none())
}

/// Of a sound host.
fn has_port(host: &str) -> bool {
    host.rfind(':') > host.rfind(']')
}

fn usual_port(https: bool) -> u16 {
    if https {
        443
    } else {
        80
    }
}

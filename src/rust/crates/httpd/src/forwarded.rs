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
}

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
        let forwarded = Arc::new(Forwarded { client, https: claim.https });
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

//! A request as handlers see it, while it is here: head, params and body where they were received. It is what C
//! handlers in this process read, and what the message to a worker is made of.

use exchange::RequestView;
use http::HeaderName;
use httpd::{Client, Received};
use httpd::{Head, Version};
use router::Params;
use std::os::unix::ffi::OsStrExt;
use wire::{BodyRef, RequestHead, FLAG_HTTP2, FLAG_HTTPS, FLAG_NAMED};

/// See the module.
pub struct View<'a, 'p> {
    pub id: u64,
    pub route: u32,
    pub head: &'a Head,
    /// the client that sent it
    pub client: &'a Client,
    /// whether the client came by TLS
    pub https: bool,
    /// whether a trusted proxy has said what it is called
    pub is_named: bool,
    /// what was agreed on in TLS with the peer, as `wire` has it; empty in cleartext
    pub tls: &'a [u8],
    /// decoded
    pub path: &'a str,
    /// what stands before it for clients
    pub base_path: &'a str,
    pub params: &'a Params<'p>,
    /// by which the answer is packed, if it is to be
    pub terms: &'a [u8],
    pub body: &'a Received,
    /// the authenticated client, as `wire` has it
    pub auth: &'a [u8],
    /// what the app keeps with the client, as `wire` has it
    pub session: &'a [u8],
}

impl RequestView for View<'_, '_> {
    fn id(&self) -> u64 {
        self.id
    }

    fn method(&self) -> &[u8] {
        self.head.method.as_str().as_bytes()
    }

    fn target(&self) -> &[u8] {
        self.head.target().as_bytes()
    }

    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn base_path(&self) -> &[u8] {
        self.base_path.as_bytes()
    }

    fn remote_addr(&self) -> &[u8] {
        self.client.address.as_bytes()
    }

    fn remote_port(&self) -> u16 {
        self.client.port
    }

    fn is_http2(&self) -> bool {
        self.head.version == Version::Http2
    }

    fn is_https(&self) -> bool {
        self.https
    }

    fn tls(&self) -> &[u8] {
        self.tls
    }

    fn auth(&self) -> &[u8] {
        self.auth
    }

    fn session(&self) -> &[u8] {
        self.session
    }

    fn param(&self, at: usize) -> Option<&[u8]> {
        self.params.get(at).map(|value| value.as_bytes())
    }

    fn param_count(&self) -> usize {
        self.params.len()
    }

    fn header_at(&self, at: usize) -> Option<(&[u8], &[u8])> {
        self.head.fields.nth(at)
    }

    fn header_count(&self) -> usize {
        self.head.fields.len()
    }

    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.head.fields.named(name).next()
    }

    fn each_header(&self, f: &mut dyn FnMut(&[u8], &[u8])) {
        self.head.fields.iter().for_each(|(name, value)| f(name, value));
    }

    fn body(&self) -> BodyRef<'_> {
        match self.body {
            Received::Empty => BodyRef::Inline(&[]),
            Received::Memory(bytes) => BodyRef::Inline(bytes),
            Received::Spooled(file, len) => BodyRef::Spooled { path: file.as_os_str().as_bytes(), len: *len },
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.encode_with(0, self.body(), out);
    }
}

impl View<'_, '_> {
    /// The message of the request, with this body, and with further flags of `wire`.
    pub fn encode_with(&self, flags: u32, body: BodyRef<'_>, out: &mut Vec<u8>) {
        let params: smallvec::SmallVec<[&[u8]; 4]> = self.params.iter().map(|p| p.as_bytes()).collect();
        self.message(flags, self.terms, body).encode(&params, || self.head.fields.iter(), out);
    }

    /// The message of the request as it is kept, with this body: without these fields, and for no client that would
    /// take the answer packed.
    pub fn encode_without(&self, left_out: &[HeaderName], body: BodyRef<'_>, out: &mut Vec<u8>) {
        let params: smallvec::SmallVec<[&[u8]; 4]> = self.params.iter().map(|p| p.as_bytes()).collect();
        let is_kept = |(name, _): &(&[u8], &[u8])| left_out.iter().all(|out| out.as_str().as_bytes() != *name);
        self.message(0, &[], body).encode(&params, || self.head.fields.iter().filter(is_kept), out);
    }

    fn message<'m>(&'m self, flags: u32, terms: &'m [u8], body: BodyRef<'m>) -> RequestHead<'m> {
        RequestHead {
            id: self.id,
            route: self.route,
            flags: flags
                | flag(self.is_http2(), FLAG_HTTP2)
                | flag(self.is_https(), FLAG_HTTPS)
                | flag(self.is_named, FLAG_NAMED),
            remote_port: self.remote_port(),
            method: self.method(),
            target: self.target(),
            path: self.path(),
            base_path: RequestView::base_path(self),
            job: b"",
            remote_addr: self.remote_addr(),
            tls: self.tls(),
            auth: self.auth(),
            session: self.session,
            terms,
            body,
        }
    }
}

fn flag(is_set: bool, flag: u32) -> u32 {
    if is_set {
        flag
    } else {
        0
    }
}

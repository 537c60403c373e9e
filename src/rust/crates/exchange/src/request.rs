//! What a handler may ask of a request. Nothing is copied: the bytes are where the request was received.

use wire::{tls_facts, BodyRef, Request, FLAG_HTTP2, FLAG_HTTPS};

/// A request, complete with its body.
pub trait RequestView {
    /// names it in logs and error bodies
    fn id(&self) -> u64;
    /// as sent
    fn method(&self) -> &[u8];
    /// as sent: path and query
    fn target(&self) -> &[u8];
    /// percent-decoded once, UTF-8
    fn path(&self) -> &[u8];
    /// what stands before target and path for clients; empty when that is nothing
    fn base_path(&self) -> &[u8];
    /// the client's address, text
    fn remote_addr(&self) -> &[u8];
    /// the client's port
    fn remote_port(&self) -> u16;
    /// whether it came by HTTP/2
    fn is_http2(&self) -> bool;
    /// whether the client came by TLS, to the server or to a proxy that is trusted
    fn is_https(&self) -> bool;
    /// what was agreed on in TLS, as `wire` has it; empty in cleartext
    fn tls(&self) -> &[u8];
    /// the authenticated identity, as a JSON object; empty when there is none
    fn auth(&self) -> &[u8];
    /// what the app keeps with the client, as a JSON object; empty when that is nothing
    fn session(&self) -> &[u8];
    /// values of the path's params, in the order of the pattern
    fn param(&self, at: usize) -> Option<&[u8]>;
    /// how many there are
    fn param_count(&self) -> usize;
    /// name (lower case) and value of a header field, in the order in which they came
    fn header_at(&self, at: usize) -> Option<(&[u8], &[u8])>;
    /// how many there are
    fn header_count(&self) -> usize;
    /// the first field of this name, which is lower case
    fn header(&self, name: &[u8]) -> Option<&[u8]>;
    /// all of them, one after the other
    fn each_header(&self, f: &mut dyn FnMut(&[u8], &[u8]));
    /// the body
    fn body(&self) -> BodyRef<'_>;
    /// appends the request as a message of `wire` to `out`, for when it has to outlive this view
    fn encode(&self, out: &mut Vec<u8>);

    /// what was agreed on in TLS under this name, such as `client_subject`
    fn tls_fact(&self, name: &[u8]) -> Option<&[u8]> {
        tls_facts(self.tls()).find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// the query without its `?`; `None` when there is no `?`
    fn query(&self) -> Option<&[u8]> {
        let target = self.target();
        target.iter().position(|&b| b == b'?').map(|at| &target[at + 1..])
    }
}

impl RequestView for Request<'_> {
    fn id(&self) -> u64 {
        self.head.id
    }

    fn method(&self) -> &[u8] {
        self.head.method
    }

    fn target(&self) -> &[u8] {
        self.head.target
    }

    fn path(&self) -> &[u8] {
        self.head.path
    }

    fn base_path(&self) -> &[u8] {
        self.head.base_path
    }

    fn remote_addr(&self) -> &[u8] {
        self.head.remote_addr
    }

    fn remote_port(&self) -> u16 {
        self.head.remote_port
    }

    fn is_http2(&self) -> bool {
        self.head.flags & FLAG_HTTP2 != 0
    }

    fn is_https(&self) -> bool {
        self.head.flags & FLAG_HTTPS != 0
    }

    fn tls(&self) -> &[u8] {
        self.head.tls
    }

    fn auth(&self) -> &[u8] {
        self.head.auth
    }

    fn session(&self) -> &[u8] {
        self.head.session
    }

    fn param(&self, at: usize) -> Option<&[u8]> {
        self.params().nth(at)
    }

    fn param_count(&self) -> usize {
        self.params().count()
    }

    fn header_at(&self, at: usize) -> Option<(&[u8], &[u8])> {
        self.headers().nth(at)
    }

    fn header_count(&self) -> usize {
        Request::header_count(self)
    }

    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.headers().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    fn each_header(&self, f: &mut dyn FnMut(&[u8], &[u8])) {
        self.headers().for_each(|(name, value)| f(name, value));
    }

    fn body(&self) -> BodyRef<'_> {
        self.head.body
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let params: Vec<&[u8]> = self.params().collect();
        self.head.encode(&params, || self.headers(), out);
    }
}

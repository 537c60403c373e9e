//! Server to worker: one HTTP request.
//!
//! Layout: id (u64), route, flags, remote port, body kind · lengths of method, target, path, remote address,
//! spooled file, TLS, auth, session, terms, base path, job · counts of params and headers · body length (u64) ·
//! lengths of params · lengths of header names and values, in turn · the bytes of all of these in the same order ·
//! the body, when it is inline.

use crate::reader::{len_word, put_pair_lengths, put_pairs, put_u32, put_words, Lengths, Reader};
use crate::WireError;

/// Set in `flags` when the request came over HTTP/2.
pub const FLAG_HTTP2: u32 = 1;
/// Set in `flags` when the body is a [`crate::websocket::Event`].
pub const FLAG_WEBSOCKET: u32 = 2;

/// Set in `flags` when the client came by TLS, here or to a proxy that is trusted.
pub const FLAG_HTTPS: u32 = 4;

/// Set in `flags` when the field `x-request-id` is what a trusted proxy calls the request.
pub const FLAG_NAMED: u32 = 8;

const INLINE: u32 = 0;
const SPOOLED: u32 = 1;

/// Where a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRef<'a> {
    /// in the message
    Inline(&'a [u8]),
    /// in a temporary file of this path and size in bytes, which the server removes after the reply
    Spooled {
        /// absolute path
        path: &'a [u8],
        /// bytes
        len: u64,
    },
}

impl Default for BodyRef<'_> {
    fn default() -> Self {
        BodyRef::Inline(&[])
    }
}

/// What the server knows of a request before its headers and params.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestHead<'a> {
    /// names the request in logs, error bodies and `req$id`
    pub id: u64,
    /// index into the routes of the app; `u32::MAX` for the not-found handler
    pub route: u32,
    /// `FLAG_*`
    pub flags: u32,
    /// the client's port
    pub remote_port: u16,
    /// as sent
    pub method: &'a [u8],
    /// as sent: path and query
    pub target: &'a [u8],
    /// percent-decoded once, UTF-8
    pub path: &'a [u8],
    /// what stands before target and path for clients; empty when that is nothing
    pub base_path: &'a [u8],
    /// the client's address, text
    pub remote_addr: &'a [u8],
    /// what was agreed on in TLS, names and values in turn, each ended by NUL; empty in cleartext
    pub tls: &'a [u8],
    /// the identity that the client authenticated as, a JSON object; empty without one
    pub auth: &'a [u8],
    /// what the app keeps with the client: a value of JSON; empty when there is none
    pub session: &'a [u8],
    /// by which the answer may be packed, as `coding` has them; empty when it is not to be
    pub terms: &'a [u8],
    /// the job that this is an attempt at, a JSON object; empty for none
    pub job: &'a [u8],
    /// the body, complete
    pub body: BodyRef<'a>,
}

impl RequestHead<'_> {
    /// Appends the message to `out`. `headers` is asked twice: for the lengths, and for the bytes.
    pub fn encode<'h, H>(&self, params: &[impl AsRef<[u8]>], headers: impl Fn() -> H, out: &mut Vec<u8>)
    where
        H: Iterator<Item = (&'h [u8], &'h [u8])>,
    {
        let (kind, path, len, inline): (u32, &[u8], u64, &[u8]) = match self.body {
            BodyRef::Inline(b) => (INLINE, &[], b.len() as u64, b),
            BodyRef::Spooled { path, len } => (SPOOLED, path, len, &[]),
        };
        let count_at = out.len() + 18 * 4;
        put_words(
            out,
            [
                self.id as u32,
                (self.id >> 32) as u32,
                self.route,
                self.flags,
                u32::from(self.remote_port),
                kind,
                len_word(self.method.len()),
                len_word(self.target.len()),
                len_word(self.path.len()),
                len_word(self.remote_addr.len()),
                len_word(path.len()),
                len_word(self.tls.len()),
                len_word(self.auth.len()),
                len_word(self.session.len()),
                len_word(self.terms.len()),
                len_word(self.base_path.len()),
                len_word(self.job.len()),
                len_word(params.len()),
                0,
                len as u32,
                (len >> 32) as u32,
            ],
        );
        for p in params {
            put_u32(out, len_word(p.as_ref().len()));
        }
        put_pair_lengths(out, count_at, headers());
        let texts = [self.method, self.target, self.path, self.remote_addr, path, self.tls];
        for part in texts.into_iter().chain([self.auth, self.session, self.terms, self.base_path, self.job]) {
            out.extend_from_slice(part);
        }
        for p in params {
            out.extend_from_slice(p.as_ref());
        }
        put_pairs(out, headers());
        out.extend_from_slice(inline);
    }
}

/// Names and values of what was agreed on in TLS, as [`RequestHead::tls`] has them.
pub fn tls_facts(tls: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut parts = tls.split(|&byte| byte == 0);
    // behind the last NUL there is nothing
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

/// A request as the worker reads it: borrows from the message, decodes nothing until asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// everything but params and headers
    pub head: RequestHead<'a>,
    params: Run<'a>,
    headers: Run<'a>,
}

#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    lengths: Lengths<'a>,
    bytes: &'a [u8],
}

impl<'a> Run<'a> {
    fn iter(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let mut rest = self.bytes;
        (0..self.lengths.len()).map(move |i| {
            // the run was cut to the sum of its lengths when the message was decoded
            let (item, after) = rest.split_at(self.lengths.get(i));
            rest = after;
            item
        })
    }
}

impl<'a> Request<'a> {
    /// The route of an encoded request; that of the not-found handler when it is too short to be one.
    pub fn peek(bytes: &[u8]) -> u32 {
        let mut r = Reader::new(bytes);
        r.u64().and_then(|_| r.u32()).unwrap_or(u32::MAX)
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When its lengths do not fit its bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let id = r.u64()?;
        let (route, flags, port, kind) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
        let sizes = r.lengths(11)?;
        let (n_params, n_headers) = (r.u32()?, r.u32()?);
        let body_len = r.u64()?;
        let param_lengths = r.lengths(n_params)?;
        let header_lengths = r.lengths(n_headers.checked_mul(2).ok_or(WireError("too many headers"))?)?;
        let method = r.bytes(sizes.get(0))?;
        let target = r.bytes(sizes.get(1))?;
        let path = r.bytes(sizes.get(2))?;
        let remote_addr = r.bytes(sizes.get(3))?;
        let spool = r.bytes(sizes.get(4))?;
        let tls = r.bytes(sizes.get(5))?;
        let auth = r.bytes(sizes.get(6))?;
        let session = r.bytes(sizes.get(7))?;
        let terms = r.bytes(sizes.get(8))?;
        let base_path = r.bytes(sizes.get(9))?;
        let job = r.bytes(sizes.get(10))?;
        let params = Run { lengths: param_lengths, bytes: r.bytes(param_lengths.total())? };
        let headers = Run { lengths: header_lengths, bytes: r.bytes(header_lengths.total())? };
        let body = match kind {
            INLINE if r.rest().len() as u64 == body_len => BodyRef::Inline(r.rest()),
            INLINE => return Err(WireError("the body is not as long as it says")),
            SPOOLED => BodyRef::Spooled { path: spool, len: body_len },
            _ => return Err(WireError("unknown kind of body")),
        };
        let remote_port = u16::try_from(port).map_err(|_| WireError("not a port"))?;
        let head = RequestHead {
            id,
            route,
            flags,
            remote_port,
            method,
            target,
            path,
            base_path,
            job,
            remote_addr,
            tls,
            auth,
            session,
            terms,
            body,
        };
        Ok(Request { head, params, headers })
    }

    /// Values of the path's params, in the order of the pattern.
    pub fn params(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.params.iter()
    }

    /// Number of header fields.
    pub fn header_count(&self) -> usize {
        self.headers.lengths.len() / 2
    }

    /// Header names (lower case) and values, as they came.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
        let mut run = self.headers.iter();
        std::iter::from_fn(move || Some((run.next()?, run.next()?)))
    }

    /// Names and values of what was agreed on in TLS; none in cleartext.
    pub fn tls(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        tls_facts(self.head.tls)
    }

    /// The query without its `?`, if there is one.
    pub fn query(&self) -> &'a [u8] {
        match self.head.target.iter().position(|&b| b == b'?') {
            Some(at) => &self.head.target[at + 1..],
            None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(body: BodyRef<'_>) -> Vec<u8> {
        let head = RequestHead {
            id: 1 << 63 | 5,
            route: 3,
            flags: FLAG_HTTP2,
            remote_port: 4711,
            method: b"POST",
            target: b"/a%20b?x=1",
            path: b"/a b",
            base_path: b"/app",
            job: b"{\"attempt\":1}",
            remote_addr: b"127.0.0.1",
            tls: b"protocol\0TLSv1.3\0",
            auth: b"{\"user\":\"a\"}",
            session: b"[1]",
            terms: b"packed",
            body,
        };
        let headers: [(&[u8], &[u8]); 2] = [(b"host", b"here"), (b"empty", b"")];
        let mut out = Vec::new();
        head.encode(&[&b"p1"[..], b""], || headers.iter().copied(), &mut out);
        out
    }

    #[test]
    fn round_trip() {
        let bytes = sample(BodyRef::Inline(b"a\0b"));
        let r = Request::decode(&bytes).unwrap();
        assert_eq!((Request::peek(&bytes), Request::peek(&bytes[..11])), (3, u32::MAX));
        assert_eq!(r.head.id, 1 << 63 | 5);
        assert_eq!((r.head.route, r.head.flags, r.head.remote_port), (3, FLAG_HTTP2, 4711));
        assert_eq!((r.head.path, r.head.base_path), (&b"/a b"[..], &b"/app"[..]));
        assert_eq!(r.tls().collect::<Vec<_>>(), [(&b"protocol"[..], &b"TLSv1.3"[..])]);
        assert_eq!((r.head.auth, r.head.session), (&b"{\"user\":\"a\"}"[..], &b"[1]"[..]));
        assert_eq!((r.query(), r.head.terms), (&b"x=1"[..], &b"packed"[..]));
        assert_eq!(r.head.job, b"{\"attempt\":1}");
        assert_eq!(r.params().collect::<Vec<_>>(), [&b"p1"[..], b""]);
        assert_eq!(r.headers().collect::<Vec<_>>(), [(&b"host"[..], &b"here"[..]), (b"empty", b"")]);
        assert_eq!(r.head.body, BodyRef::Inline(b"a\0b"));
        let spooled = BodyRef::Spooled { path: b"/x/y", len: 1 << 40 };
        assert_eq!(Request::decode(&sample(spooled)).unwrap().head.body, spooled);
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_survived() {
        let bytes = sample(BodyRef::Inline(b"body"));
        for end in 0..bytes.len() {
            assert!(Request::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut hostile = bytes.clone();
                hostile[at] = value;
                if let Ok(r) = Request::decode(&hostile) {
                    let _ = (r.params().count(), r.headers().count(), r.query());
                }
            }
        }
    }
}
